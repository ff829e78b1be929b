//! Whether Argo CD looks at the Applications and ApplicationSets of a namespace besides its own.
//!
//! Takes live state; hands on [`Watch`]. What the snapshot does not prove is unknown.

use serde_json::Value;

use crate::argocd::names::{GROUP, IN_CLUSTER_SERVER};
use crate::argocd::pattern::Pattern;
use crate::manifest::ResourceKey;
use crate::snapshot::LiveState;

/// Whether a controller looks at a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// It does.
    Yes,
    /// It certainly does not.
    No,
    /// The snapshot does not tell.
    Unknown,
}

/// A controller that is told which namespaces to look at.
pub struct Watcher {
    /// What it looks at.
    kind: &'static str,
    /// Entry of `argocd-cmd-params-cm`, and its short form in a `settings.yaml`.
    pub parameter: &'static str,
    short: &'static str,
    workload: &'static str,
    argument: &'static str,
    variable: &'static str,
    /// What only the controller writes into an object.
    trace: &'static str,
}

/// The controller of Applications.
///
/// Source: Argo CD `cmd/argocd-application-controller`, `controller/appcontroller.go:isAppNamespaceAllowed`.
pub const APPLICATIONS: Watcher = Watcher {
    kind: "Application",
    parameter: "application.namespaces",
    short: "applicationNamespaces",
    workload: "argocd-application-controller",
    argument: "--application-namespaces",
    variable: "ARGOCD_APPLICATION_NAMESPACES",
    trace: "/status/sync",
};

/// The controller of ApplicationSets.
///
/// Source: Argo CD `cmd/argocd-applicationset-controller`, `applicationset/controllers/applicationset_controller.go:shouldProcess`.
pub const SETS: Watcher = Watcher {
    kind: "ApplicationSet",
    parameter: "applicationsetcontroller.namespaces",
    short: "applicationSetNamespaces",
    workload: "argocd-applicationset-controller",
    argument: "--applicationset-namespaces",
    variable: "ARGOCD_APPLICATIONSET_CONTROLLER_NAMESPACES",
    trace: "/status/conditions",
};

impl Watcher {
    /// Whether the controller looks at a namespace.
    pub fn watches(&self, live: &LiveState, namespace: &str) -> Watch {
        let own = &live.settings().namespace;
        if namespace == own || live.is_assumed() {
            return Watch::Yes;
        }
        let told = self.told(live);
        let matches = |list: &String| list.split(',').map(str::trim).any(|one| Pattern::new(one).matches_namespace(namespace));
        if told.as_ref().is_some_and(matches) || self.has_left_a_trace(live, namespace) {
            return Watch::Yes;
        }
        // Where nothing is known of Argo CD, its own namespace is a guess.
        if told.is_some() && live.knows_argocd() { Watch::No } else { Watch::Unknown }
    }

    /// The namespaces that the controller was told, where the snapshot shows that.
    fn told(&self, live: &LiveState) -> Option<String> {
        let workload = ["Deployment", "StatefulSet"].iter().find_map(|kind| {
            let key = ResourceKey::new("apps", kind, &live.settings().namespace, self.workload);
            live.get(IN_CLUSTER_SERVER, &key)
        });
        let started_with = workload.and_then(|workload| self.started_with(workload.object()));
        let parameter = || live.parameter(self.parameter, self.short).map(str::to_owned);
        // An entry that is not there says something only where the program is seen to be told nothing else.
        let nothing = || (workload.is_some() && live.has_parameters()).then(String::new);
        started_with.or_else(parameter).or_else(nothing)
    }

    /// The namespaces in the arguments and variables of a workload.
    fn started_with(&self, workload: &Value) -> Option<String> {
        let containers = workload.pointer("/spec/template/spec/containers").and_then(Value::as_array)?;
        let texts = |field: &'static str| containers.iter().filter_map(move |one| one.get(field)?.as_array()).flatten();
        let words: Vec<&str> = texts("command").chain(texts("args")).filter_map(Value::as_str).collect();
        let argument = words.iter().enumerate().find_map(|(index, word)| match word.strip_prefix(self.argument)? {
            "" => words.get(index + 1).map(|next| (*next).to_owned()),
            rest => rest.strip_prefix('=').map(str::to_owned),
        });
        let variable = || {
            let own = texts("env").find(|one| one.get("name").and_then(Value::as_str) == Some(self.variable))?;
            own.get("value")?.as_str().map(str::to_owned)
        };
        argument.or_else(variable)
    }

    fn has_left_a_trace(&self, live: &LiveState, namespace: &str) -> bool {
        let all = live.of_kind(IN_CLUSTER_SERVER, GROUP, self.kind);
        let first = all.partition_point(|object| *object.key.namespace < *namespace);
        let mut there = all.get(first..).unwrap_or_default().iter().take_while(|object| *object.key.namespace == *namespace);
        there.any(|object| object.object().pointer(self.trace).is_some_and(|trace| !trace.is_null()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot::{Input, load_inputs};

    fn live(objects: &[Value]) -> LiveState {
        let argocd_cm = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "argocd-cm", "namespace": "argocd", "labels": {"app.kubernetes.io/part-of": "argocd"}}});
        let items: Vec<&Value> = objects.iter().chain([&argocd_cm]).collect();
        let bytes = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string().into_bytes();
        load_inputs(vec![Input::Bytes { name: "live.json".to_owned(), bytes }]).unwrap()
    }

    fn parameters(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cmd-params-cm", "namespace": "argocd"}, "data": data})
    }

    fn workload(container: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "argocd-application-controller", "namespace": "argocd"},
            "spec": {"template": {"spec": {"containers": [container]}}}})
    }

    #[test]
    fn the_own_namespace_and_those_of_the_setting_are_looked_at_and_no_others() {
        let live = live(&[parameters(json!({"application.namespaces": "team-*, /^ops-[0-9]$/"}))]);
        let of = |namespace: &str| APPLICATIONS.watches(&live, namespace);
        assert_eq!(
            [of("argocd"), of("team-a"), of("ops-1"), of("ops-12"), of("shop")],
            [Watch::Yes, Watch::Yes, Watch::Yes, Watch::No, Watch::No]
        );
        assert_eq!(SETS.watches(&live, "team-a"), Watch::Unknown);
    }

    #[test]
    fn a_missing_setting_says_something_only_where_the_program_is_seen_to_be_told_nothing_else() {
        let no_setting = || parameters(json!({"server.insecure": "true"}));
        assert_eq!(APPLICATIONS.watches(&live(&[]), "shop"), Watch::Unknown);
        assert_eq!(APPLICATIONS.watches(&live(&[no_setting()]), "shop"), Watch::Unknown);
        assert_eq!(APPLICATIONS.watches(&live(&[no_setting(), workload(json!({"args": ["--redis", "x"]}))]), "shop"), Watch::No);
        for told in [
            json!({"args": ["--application-namespaces", "shop"]}),
            json!({"command": ["argocd-application-controller", "--application-namespaces=team,shop"]}),
            json!({"env": [{"name": "ARGOCD_APPLICATION_NAMESPACES", "value": "shop"}]}),
        ] {
            assert_eq!(APPLICATIONS.watches(&live(&[no_setting(), workload(told)]), "shop"), Watch::Yes);
        }
    }

    #[test]
    fn a_status_that_only_the_controller_writes_proves_that_it_looks() {
        let application = |status: Value| json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a", "namespace": "shop"}, "spec": {}, "status": status});
        let told = || parameters(json!({"application.namespaces": "team"}));
        assert_eq!(APPLICATIONS.watches(&live(&[told(), application(json!({"sync": {"status": "Synced"}}))]), "shop"), Watch::Yes);
        assert_eq!(APPLICATIONS.watches(&live(&[told(), application(json!({}))]), "shop"), Watch::No);
    }
}
