//! Which kinds a cluster has: what the snapshot lists, what its CustomResourceDefinitions define, and what every cluster has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builtin;

/// Whether a kind lives in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// Cluster-wide.
    Cluster,
}

impl Scope {
    fn of(namespaced: bool) -> Self {
        if namespaced { Self::Namespaced } else { Self::Cluster }
    }
}

/// Whether a cluster serves a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serves {
    /// In this version.
    Yes,
    /// Only in another version.
    OtherVersion(String),
    /// Not at all.
    No,
    /// The snapshot does not say.
    Unknown,
}

/// A kind that a cluster serves, as API discovery lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApiResource {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Whether it lives in namespaces; `None` where the list does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaced: Option<bool>,
}

/// A kind whatever its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindName {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Kind.
    pub kind: String,
}

/// What is known of one kind in one cluster.
#[derive(Clone, Debug, Default)]
struct Known {
    scope: Option<Scope>,
    versions: BTreeSet<Arc<str>>,
}

type Table = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Known>>;

/// The kinds of one cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    /// The list of API resources, where there is one.
    listed: Option<Table>,
    /// Whether the kinds that are built in, defined or seen are all there are.
    complete: bool,
    /// From CustomResourceDefinitions: their versions that are served.
    defined: Table,
    /// From objects: the versions they were read in.
    seen: Table,
    /// Whether Argo CD itself runs in this cluster, so that its kinds are there.
    has_argocd: bool,
}

impl Kinds {
    /// Kinds of a cluster whose list of API resources may be known.
    pub(super) fn new(listed: Option<&[ApiResource]>, complete: bool, has_argocd: bool) -> Self {
        let listed = listed.map(|resources| {
            let mut table = Table::new();
            for resource in resources {
                let known = entry(&mut table, &resource.group, &resource.kind);
                known.versions.insert(resource.version.as_str().into());
                known.scope = known.scope.or(resource.namespaced.map(Scope::of));
            }
            table
        });
        Self { listed, complete, has_argocd, ..Self::default() }
    }

    /// Notes that objects of a kind exist in a version.
    pub(super) fn see(&mut self, group: &str, version: &Arc<str>, kind: &str) {
        entry(&mut self.seen, group, kind).versions.insert(version.clone());
    }

    /// Notes where an object of a kind is, as the API server has it.
    pub(super) fn place(&mut self, group: &str, kind: &str, namespaced: bool) {
        entry(&mut self.seen, group, kind).scope = Some(Scope::of(namespaced));
    }

    /// Whether a kind lives in namespaces, by where its objects are; `None` where there are none.
    pub(super) fn seen_scope(&self, group: &str, kind: &str) -> Option<Scope> {
        find(&self.seen, group, kind).and_then(|known| known.scope)
    }

    /// Notes what a CustomResourceDefinition defines.
    pub(super) fn define(&mut self, definition: &Value) {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else { return };
        let known = entry(&mut self.defined, group, kind);
        known.scope = text("/spec/scope").map(|scope| Scope::of(scope == "Namespaced"));
        for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
            if let (Some(name), Some(true)) = (version["name"].as_str(), version["served"].as_bool()) {
                known.versions.insert(name.into());
            }
        }
    }

    /// Group, version and kind of everything that is known to be served: what is listed, else what is built in, is defined or has been seen.
    pub(super) fn served(&self) -> BTreeSet<(&str, &str, &str)> {
        let built_in = builtin::all().iter().filter(|kind| self.listed.is_none() && (self.has_argocd || !kind.is_argocd()));
        let built_in = built_in.flat_map(|kind| kind.versions.iter().map(|version| (kind.group, *version, kind.kind)));
        let tables = match &self.listed {
            Some(listed) => vec![listed],
            None => vec![&self.defined, &self.seen],
        };
        let kinds = tables.into_iter().flatten().flat_map(|(group, kinds)| kinds.iter().map(move |(kind, known)| (group, kind, known)));
        let known = kinds.flat_map(|(group, kind, known)| known.versions.iter().map(move |version| (&**group, &**version, &**kind)));
        built_in.chain(known).collect()
    }

    /// Whether a kind lives in namespaces; `None` where nothing says.
    pub(super) fn scope(&self, group: &str, kind: &str) -> Option<Scope> {
        let of = |table: &Table| find(table, group, kind).and_then(|known| known.scope);
        self.listed
            .as_ref()
            .and_then(of)
            .or_else(|| of(&self.defined))
            .or_else(|| builtin::find(group, kind).map(|builtin| Scope::of(builtin.namespaced)))
    }

    /// Whether the cluster serves a kind in a version. A list of API resources is taken as complete; without one, a built-in kind in
    /// another version than today's, or a kind that nobody has seen, is unknown.
    pub(super) fn serves(&self, group: &str, version: &str, kind: &str) -> Serves {
        if let Some(listed) = &self.listed {
            return find(listed, group, kind).map_or(Serves::No, |known| known.serves(version));
        }
        if let Some(known) = find(&self.defined, group, kind) {
            return known.serves(version);
        }
        let seen = find(&self.seen, group, kind).is_some_and(|known| known.versions.contains(version));
        let built_in = builtin::find(group, kind);
        if seen || built_in.is_some_and(|builtin| builtin.versions.contains(&version) && (self.has_argocd || !builtin.is_argocd())) {
            return Serves::Yes;
        }
        // Argo CD has one version of each of its kinds.
        if let Some(builtin) = built_in.filter(|builtin| builtin.is_argocd() && self.has_argocd) {
            return builtin.versions.first().map_or(Serves::No, |&version| Serves::OtherVersion(version.to_owned()));
        }
        let unheard_of = built_in.is_none() && find(&self.seen, group, kind).is_none();
        if self.complete && unheard_of { Serves::No } else { Serves::Unknown }
    }
}

impl Known {
    fn serves(&self, version: &str) -> Serves {
        if self.versions.contains(version) {
            return Serves::Yes;
        }
        let is_stable = |version: &str| version.trim_start_matches('v').bytes().all(|byte| byte.is_ascii_digit());
        let other = self.versions.iter().max_by_key(|other| (is_stable(other), other.to_string()));
        other.map_or(Serves::No, |other| Serves::OtherVersion(other.to_string()))
    }
}

/// Whether a kind comes with Kubernetes or with Argo CD, so that nobody installs a definition to get another version of it.
pub fn is_built_in(group: &str, kind: &str) -> bool {
    builtin::find(group, kind).is_some()
}

fn entry<'a>(table: &'a mut Table, group: &str, kind: &str) -> &'a mut Known {
    if find(table, group, kind).is_none() {
        table.entry(group.into()).or_default().insert(kind.into(), Known::default());
    }
    table.entry(group.into()).or_default().entry(kind.into()).or_default()
}

fn find<'a>(table: &'a Table, group: &str, kind: &str) -> Option<&'a Known> {
    table.get(group)?.get(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resource(group: &str, version: &str, kind: &str, namespaced: Option<bool>) -> ApiResource {
        ApiResource { group: group.into(), version: version.into(), kind: kind.into(), namespaced }
    }

    fn definition() -> Value {
        json!({"spec": {"group": "shop.test", "scope": "Cluster", "names": {"kind": "Shelf"}, "versions": [
            {"name": "v1", "served": true}, {"name": "v1alpha1", "served": false}, {"name": "v2", "served": true}]}})
    }

    #[test]
    fn where_the_seen_kinds_are_all_there_are_an_unheard_of_kind_is_not_served() {
        let kinds = Kinds::new(None, true, true);
        assert_eq!(kinds.serves("shop.test", "v1", "Shelf"), Serves::No);
        assert_eq!(kinds.serves("apps", "v1", "Deployment"), Serves::Yes);
    }

    #[test]
    fn a_list_of_api_resources_is_complete() {
        let list = [resource("", "v1", "ConfigMap", None), resource("apps", "v1", "Deployment", Some(true))];
        let kinds = Kinds::new(Some(&list), false, true);
        assert_eq!(kinds.serves("", "v1", "ConfigMap"), Serves::Yes);
        assert_eq!(kinds.serves("apps", "v1beta1", "Deployment"), Serves::OtherVersion("v1".into()));
        assert_eq!(kinds.serves("shop.test", "v1", "Shelf"), Serves::No);
        assert_eq!(kinds.serves("", "v1", "Secret"), Serves::No);
    }

    #[test]
    fn without_a_list_unseen_kinds_are_unknown() {
        let mut kinds = Kinds::new(None, false, false);
        assert_eq!(kinds.serves("shop.test", "v1", "Shelf"), Serves::Unknown);
        assert_eq!(kinds.serves("apps", "v1", "Deployment"), Serves::Yes);
        assert_eq!(kinds.serves("policy", "v1beta1", "PodDisruptionBudget"), Serves::Unknown);
        kinds.see("shop.test", &"v1".into(), "Shelf");
        assert_eq!(kinds.serves("shop.test", "v1", "Shelf"), Serves::Yes);
        assert_eq!(kinds.serves("shop.test", "v2", "Shelf"), Serves::Unknown);
    }

    #[test]
    fn a_live_definition_says_which_versions_are_served() {
        let mut kinds = Kinds::new(None, false, false);
        kinds.define(&definition());
        assert_eq!(kinds.serves("shop.test", "v2", "Shelf"), Serves::Yes);
        assert_eq!(kinds.serves("shop.test", "v1alpha1", "Shelf"), Serves::OtherVersion("v2".into()));
        assert_eq!(kinds.scope("shop.test", "Shelf"), Some(Scope::Cluster));
    }

    #[test]
    fn scope_comes_from_the_list_then_definitions_then_the_table() {
        let mut kinds =
            Kinds::new(Some(&[resource("shop.test", "v1", "Shelf", Some(true)), resource("", "v1", "Node", None)]), false, false);
        kinds.define(&definition());
        assert_eq!(kinds.scope("shop.test", "Shelf"), Some(Scope::Namespaced));
        assert_eq!(kinds.scope("", "Node"), Some(Scope::Cluster));
        assert_eq!(kinds.scope("rbac.authorization.k8s.io", "ClusterRole"), Some(Scope::Cluster));
        assert_eq!(kinds.scope("", "ConfigMap"), Some(Scope::Namespaced));
        assert_eq!(kinds.scope("other.test", "Thing"), None);
    }

    #[test]
    fn argo_cds_own_kinds_are_served_where_it_runs() {
        assert_eq!(Kinds::new(None, false, true).serves("argoproj.io", "v1alpha1", "Application"), Serves::Yes);
        assert_eq!(Kinds::new(None, false, true).serves("argoproj.io", "v1beta1", "Application"), Serves::OtherVersion("v1alpha1".into()));
        assert_eq!(Kinds::new(None, false, false).serves("argoproj.io", "v1alpha1", "Application"), Serves::Unknown);
        assert_eq!(Kinds::new(None, false, false).scope("argoproj.io", "Application"), Some(Scope::Namespaced));
    }
}
