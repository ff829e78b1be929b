//! What an Application's project permits.

use super::world::World;
use crate::argocd::{Application, Project};
use crate::manifest::ResourceKey;
use crate::snapshot::{LiveObject, Scope};

/// Why the Application as a whole may not be synced, if it may not.
///
/// Source: Argo CD `util/argo/argo.go:ValidatePermissions`.
pub fn application(application: &Application, world: &World<'_>, server: &str) -> Option<String> {
    let name = &application.spec.project;
    let Some(project) = world.projects.get(name) else {
        return world.project_is_missing(name).then(|| format!("the Application's project {name} does not exist"));
    };
    let own = &application.id.namespace;
    if **own != *world.live.settings().namespace && !world.live.is_assumed() && !project.permits_application_namespace(own) {
        return Some(format!("project {name} does not permit Applications in namespace {own}"));
    }
    if let Some(source) = application.spec.sources().iter().find(|source| !project.permits_source(&source.repo_url)) {
        return Some(format!("project {name} does not permit the repository {}", source.repo_url));
    }
    let namespace = &application.spec.destination.namespace;
    (!destination(project, world, server, namespace))
        .then(|| format!("project {name} does not permit the destination {server} namespace {namespace}"))
}

/// Why the sync has no service account to act as, where Argo CD impersonates one for each destination.
///
/// Source: Argo CD `controller/sync.go:SyncAppState`, `util/settings/impersonation.go:DeriveServiceAccountToImpersonate`.
pub fn impersonation(application: &Application, world: &World<'_>, server: &str) -> Option<String> {
    let settings = world.live.settings();
    let setting = |key: &str| settings.entry(&format!("application.sync.impersonation.{key}"));
    let falls_back = settings.version().impersonation_falls_back() && setting("enforced") == Some("false");
    if setting("enabled") != Some("true") || falls_back {
        return None;
    }
    let project = world.projects.get(&application.spec.project)?;
    let namespace = &application.spec.destination.namespace;
    match project.service_account(server, namespace) {
        None => Some(format!(
            "impersonation is on and project {} has no destinationServiceAccounts entry for {server} namespace {namespace}",
            project.name
        )),
        Some(account) if !is_account(account) => {
            Some(format!("impersonation is on and `{account}` of project {} is no service account", project.name))
        }
        Some(_) => None,
    }
}

fn is_account(name: &str) -> bool {
    !name.trim_matches(' ').is_empty() && !name.contains(['!', '*', '[', ']', '{', '}', '\\', '/'])
}

/// Why an object may not be synced, if it may not.
///
/// Source: Argo CD `controller/sync.go:validateSyncPermissions`.
pub fn object(application: &Application, world: &World<'_>, server: &str, key: &ResourceKey) -> Option<String> {
    let project = world.projects.get(&application.spec.project)?;
    let namespaced = world.scope(server, &key.group, &key.kind) != Some(Scope::Cluster);
    if !project.permits_kind(&key.group, &key.kind, &key.name, namespaced) {
        return Some(format!("project {} does not permit {}", project.name, key.named()));
    }
    (namespaced && !destination(project, world, server, &key.namespace))
        .then(|| format!("project {} does not permit the namespace of {}", project.name, key.named()))
}

/// Whether the project lets Argo CD see a live object.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/app_project_types.go:IsLiveResourcePermitted`.
pub fn live_object(application: &Application, world: &World<'_>, server: &str, object: &LiveObject) -> bool {
    let Some(project) = world.projects.get(&application.spec.project) else { return true };
    let key = &object.key;
    let namespaced = !key.namespace.is_empty();
    project.permits_kind(&key.group, &key.kind, &key.name, namespaced)
        && (!namespaced || destination(project, world, server, &key.namespace))
}

/// Whether the project permits a namespace of a cluster.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/app_project_types.go:IsDestinationPermitted`.
fn destination(project: &Project, world: &World<'_>, server: &str, namespace: &str) -> bool {
    project.permits_destination(server, &world.cluster_name(server), namespace)
        && (!project.permits_only_its_own_clusters() || world.is_cluster_of_project(server, &project.name))
}
