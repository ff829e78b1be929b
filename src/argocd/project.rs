//! An AppProject: which sources, destinations and kinds its Applications may use.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::application::Destination;
use super::go::path;
use super::pattern::Pattern;
use super::selector::LabelSelector;
use super::settings::Settings;
use super::version::Version;
use super::window::SyncWindow;
use crate::manifest::metadata_str;

/// The parts of an AppProject that permit or deny.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/app_project_types.go`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Project {
    /// Name.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    labels: BTreeMap<String, String>,
    source_repos: Option<Vec<String>>,
    destinations: Option<Vec<Entry>>,
    cluster_resource_whitelist: Option<Vec<Kind>>,
    cluster_resource_blacklist: Option<Vec<Kind>>,
    namespace_resource_whitelist: Option<Vec<Kind>>,
    namespace_resource_blacklist: Option<Vec<Kind>>,
    source_namespaces: Option<Vec<Pattern>>,
    destination_service_accounts: Option<Vec<ServiceAccount>>,
    sync_windows: Option<Vec<SyncWindow>>,
    permit_only_project_scoped_clusters: bool,
}

/// An entry of `globalProjects` in `argocd-cm`: a project whose rules count for the projects that the selector names, too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GlobalProject {
    project_name: String,
    label_selector: LabelSelector,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Entry {
    server: Permission,
    name: Permission,
    namespace: Permission,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServiceAccount {
    server: Pattern,
    namespace: Pattern,
    default_service_account: String,
}

/// A pattern that permits, or with a leading `!` denies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "String")]
struct Permission {
    denies: bool,
    pattern: Pattern,
}

impl From<String> for Permission {
    fn from(text: String) -> Self {
        match text.strip_prefix('!') {
            Some(denied) => Self { denies: true, pattern: Pattern::new(denied) },
            None => Self { denies: false, pattern: Pattern::new(&text) },
        }
    }
}

impl Permission {
    fn matches(&self, text: &str) -> bool {
        self.pattern.matches(text) != self.denies
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Kind {
    group: String,
    kind: String,
    name: Option<String>,
}

impl Kind {
    fn covers(&self, group: &str, kind: &str, name: Option<&str>) -> bool {
        let restriction = self.name.as_deref().filter(|pattern| !pattern.is_empty());
        let matches = |pattern: &str, text: &str| path::matches(pattern, text) == Some(true);
        matches(&self.group, group)
            && matches(&self.kind, kind)
            && name.zip(restriction).is_none_or(|(name, restriction)| matches(restriction, name))
    }
}

impl Project {
    /// Reads an AppProject; `None` where its spec has another shape.
    pub fn read(object: &Value) -> Option<Self> {
        let mut project = match object.get("spec") {
            None | Some(Value::Null) => Self::default(),
            Some(spec) => Self::deserialize(spec).ok()?,
        };
        metadata_str(object, "name")?.clone_into(&mut project.name);
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        project.labels = labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        Some(project)
    }

    /// The projects as this Argo CD reads them, with what their global projects add to them.
    ///
    /// Source: Argo CD `util/argo/argo.go:GetAppVirtualProject`.
    pub fn in_effect(projects: &BTreeMap<String, Self>, settings: &Settings) -> BTreeMap<String, Self> {
        let global: Vec<GlobalProject> =
            settings.entry("globalProjects").and_then(|text| serde_yaml::from_str(text).ok()).unwrap_or_default();
        let merged = projects.iter().map(|(name, project)| {
            let mut project = project.clone();
            for entry in global.iter().filter(|entry| entry.project_name != *name) {
                // What follows an invalid selector, or the name of no project, is not looked at any more.
                match (entry.label_selector.selects(&project.labels), projects.get(&entry.project_name)) {
                    (Ok(false), _) => {}
                    (Ok(true), Some(global)) => project.take_over(global),
                    _ => break,
                }
            }
            if !settings.version().restricts_cluster_kinds_by_name() {
                let lists = [&mut project.cluster_resource_whitelist, &mut project.cluster_resource_blacklist];
                lists.into_iter().flatten().flatten().for_each(|kind| kind.name = None);
            }
            (name.clone(), project)
        });
        merged.collect()
    }

    fn take_over(&mut self, global: &Self) {
        fn append<T: Clone>(own: &mut Option<Vec<T>>, added: &Option<Vec<T>>) {
            if let Some(added) = added.as_ref().filter(|added| !added.is_empty()) {
                own.get_or_insert_default().extend_from_slice(added);
            }
        }
        append(&mut self.source_repos, &global.source_repos);
        append(&mut self.destinations, &global.destinations);
        append(&mut self.cluster_resource_whitelist, &global.cluster_resource_whitelist);
        append(&mut self.cluster_resource_blacklist, &global.cluster_resource_blacklist);
        append(&mut self.namespace_resource_whitelist, &global.namespace_resource_whitelist);
        append(&mut self.namespace_resource_blacklist, &global.namespace_resource_blacklist);
        append(&mut self.sync_windows, &global.sync_windows);
    }

    /// The sync windows that concern an Application.
    pub fn windows_for(&self, application: &str, destination: &Destination, version: Version) -> Vec<&SyncWindow> {
        self.sync_windows.iter().flatten().filter(|window| window.concerns(application, destination, version)).collect()
    }

    /// Whether only clusters that are registered for this project may be destinations.
    pub fn permits_only_its_own_clusters(&self) -> bool {
        self.permit_only_project_scoped_clusters
    }

    /// Whether objects of this group, kind and name may be managed.
    pub fn permits_kind(&self, group: &str, kind: &str, name: &str, namespaced: bool) -> bool {
        let listed = |list: &Option<Vec<Kind>>, name: Option<&str>| {
            list.as_ref().is_some_and(|list| list.iter().any(|one| one.covers(group, kind, name)))
        };
        if namespaced {
            (self.namespace_resource_whitelist.is_none() || listed(&self.namespace_resource_whitelist, None))
                && !listed(&self.namespace_resource_blacklist, None)
        } else {
            listed(&self.cluster_resource_whitelist, Some(name)) && !listed(&self.cluster_resource_blacklist, Some(name))
        }
    }

    /// Whether objects may go to this namespace of this cluster.
    ///
    /// Source: `isDestinationMatched`.
    pub fn permits_destination(&self, server: &str, name: &str, namespace: &str) -> bool {
        let mut any = false;
        for entry in self.destinations.iter().flatten() {
            let by_name = !name.is_empty() && entry.name.matches(name);
            let by_server = !server.is_empty() && entry.server.matches(server);
            let by_namespace = entry.namespace.matches(namespace);
            if (by_server || by_name) && by_namespace {
                any = true;
            } else if (!by_name && entry.name.denies)
                || (!by_server && entry.server.denies && by_namespace)
                || (!by_namespace && entry.namespace.denies && by_server)
            {
                return false;
            }
        }
        any
    }

    /// Whether Applications outside of Argo CD's own namespace may lie in this one.
    ///
    /// Source: `IsAppNamespacePermitted`; a pattern in slashes is a regular expression.
    pub fn permits_application_namespace(&self, namespace: &str) -> bool {
        self.source_namespaces.iter().flatten().any(|pattern| pattern.matches_namespace(namespace))
    }

    /// The service account that syncs to a destination act as: the first entry that matches.
    ///
    /// Source: `util/settings/impersonation.go:DeriveServiceAccountToImpersonate`.
    pub fn service_account(&self, server: &str, namespace: &str) -> Option<&str> {
        let mut entries = self.destination_service_accounts.iter().flatten();
        let entry = entries.find(|entry| entry.server.matches(server) && entry.namespace.matches(namespace))?;
        Some(&entry.default_service_account)
    }

    /// Whether sources may come from this repository.
    ///
    /// Source: `IsSourcePermitted`; a glob's `*` stops at `/` here.
    pub fn permits_source(&self, repo_url: &str) -> bool {
        let url = normalised_url(repo_url);
        let mut any = false;
        for pattern in self.source_repos.iter().flatten() {
            let matched = match pattern.strip_prefix('!') {
                Some(denied) => !Pattern::stopping_at('/', &normalised_url(denied)).matches(&url),
                None => Pattern::stopping_at('/', &normalised_url(pattern)).matches(&url),
            };
            if matched {
                any = true;
            } else if is_deny(pattern) {
                return false;
            }
        }
        any
    }
}

fn is_deny(pattern: &str) -> bool {
    pattern.starts_with('!')
}

/// Source: Argo CD `util/git/git.go:NormalizeGitURL`.
fn normalised_url(url: &str) -> String {
    let lower = url.trim().to_lowercase();
    let text = match lower.split_once(':') {
        Some((host, path)) if host.contains('@') && !host.contains('/') && !path.starts_with("//") => {
            format!("{host}/{}", path.trim_start_matches('/'))
        }
        _ => lower,
    };
    let text = text.strip_prefix("ssh://").unwrap_or(&text);
    text.strip_suffix(".git").unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn project(spec: Value) -> Project {
        Project::read(&json!({"kind": "AppProject", "metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    #[test]
    fn s9_76_a_denied_source_alone_permits_the_others() {
        let only_denied = project(json!({"sourceRepos": ["!https://git.example.com/bad"]}));
        assert!(only_denied.permits_source("https://git.example.com/good"));
        assert!(!only_denied.permits_source("https://git.example.com/bad.git"));
        assert!(!project(json!({})).permits_source("https://git.example.com/good"));
    }

    #[test]
    fn a_star_in_a_source_stops_at_a_slash_and_two_do_not() {
        let one = project(json!({"sourceRepos": ["https://git.example.com/*"]}));
        assert!(one.permits_source("https://git.example.com/a") && !one.permits_source("https://git.example.com/a/b"));
        assert!(project(json!({"sourceRepos": ["https://git.example.com/**"]})).permits_source("https://git.example.com/a/b"));
        assert!(project(json!({"sourceRepos": ["*"]})).permits_source("https://git.example.com/a/b"));
    }

    #[test]
    fn s9_77_an_explicit_empty_list_denies_every_kind_and_an_absent_one_only_cluster_kinds() {
        let empty = project(json!({"namespaceResourceWhitelist": []}));
        assert!(!empty.permits_kind("", "ConfigMap", "c", true));
        let absent = project(json!({}));
        assert!(absent.permits_kind("", "ConfigMap", "c", true));
        assert!(!absent.permits_kind("", "Namespace", "n", false));
    }

    #[test]
    fn kinds_are_file_patterns_and_names_restrict_cluster_kinds_from_3_3_on() {
        let spec = json!({"clusterResourceWhitelist": [{"group": "*.io", "kind": "[^C]*", "name": "shop-*"}, {"group": "", "kind": "{Node,Namespace}"}]});
        let projects: BTreeMap<String, Project> = [("p".to_owned(), project(spec))].into();
        let under = |version: Version| Project::in_effect(&projects, &Settings::new(Some(version), "argocd", BTreeMap::new()))["p"].clone();
        let now = under(Version::ASSUMED);
        assert!(now.permits_kind("a.io", "Gateway", "shop-a", false) && !now.permits_kind("a.io", "Gateway", "bank", false));
        assert!(!now.permits_kind("a.io", "Cluster", "shop-a", false) && !now.permits_kind("", "Namespace", "shop-a", false));
        assert!(under(Version { major: 3, minor: 2 }).permits_kind("a.io", "Gateway", "bank", false));
    }

    #[test]
    fn a_global_project_adds_its_lists_to_the_projects_that_its_selector_names() {
        let read = |name: &str, labels: Value, spec: Value| {
            let object = json!({"kind": "AppProject", "metadata": {"name": name, "labels": labels}, "spec": spec});
            (name.to_owned(), Project::read(&object).unwrap())
        };
        let projects: BTreeMap<String, Project> = [
            read("global", json!({}), json!({"clusterResourceWhitelist": [{"group": "", "kind": "Namespace"}], "sourceRepos": ["*"]})),
            read("shop", json!({"tier": "one"}), json!({"sourceRepos": ["https://git.example.com/shop"]})),
            read("bank", json!({}), json!({})),
        ]
        .into();
        let entry = "[{projectName: global, labelSelector: {matchExpressions: [{key: tier, operator: Exists}]}}]".to_owned();
        let settings = Settings::new(None, "argocd", [("globalProjects".to_owned(), entry)].into());
        let merged = Project::in_effect(&projects, &settings);
        assert!(merged["shop"].permits_kind("", "Namespace", "n", false) && merged["shop"].permits_source("https://git.example.com/other"));
        assert!(merged["shop"].permits_kind("", "ConfigMap", "c", true), "a list that neither sets stays open");
        assert!(!merged["bank"].permits_kind("", "Namespace", "n", false));
        assert_eq!(merged["global"], projects["global"]);
    }

    #[test]
    fn destinations_match_by_server_or_name_and_denials_veto() {
        let plain = project(json!({"destinations": [{"server": "https://kubernetes.default.svc", "namespace": "shop-*"}]}));
        assert!(plain.permits_destination("https://kubernetes.default.svc", "in-cluster", "shop-a"));
        assert!(!plain.permits_destination("https://kubernetes.default.svc", "in-cluster", "kube-system"));
        let veto = project(json!({"destinations": [{"server": "*", "namespace": "*"}, {"server": "*", "namespace": "!kube-system"}]}));
        assert!(veto.permits_destination("s", "", "shop") && !veto.permits_destination("s", "", "kube-system"));
    }
}
