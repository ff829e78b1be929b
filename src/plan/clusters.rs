//! Which clusters and projects Argo CD knows, as far as the snapshot proves it.
//!
//! Takes live state; hands on servers of destinations and the live AppProjects.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::argocd::names::{GROUP, IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::argocd::{Destination, Project};
use crate::snapshot::{ClusterInfo, LiveState};

/// The server URL of a destination.
///
/// # Errors
/// Why Argo CD refuses the destination, in a sentence.
///
/// Source: Argo CD `util/argo/argo.go:GetDestinationCluster`.
pub fn server_of(destination: &Destination, live: &LiveState) -> Result<Arc<str>, String> {
    let server = one_of_the_two(destination)?;
    match (server, &*destination.name) {
        (server, "") => match live.cluster_by_server(server) {
            Some(cluster) => Ok(Arc::clone(&cluster.server)),
            None if server != IN_CLUSTER_SERVER && knows_clusters(live) => {
                Err(format!("no cluster is registered for the Application's destination {server}"))
            }
            None => Ok(server.into()),
        },
        (_, name) => match live.cluster_by_name(name) {
            Ok(server) => Ok(server),
            Err(_) if name == IN_CLUSTER_NAME => Ok(IN_CLUSTER_SERVER.into()),
            // Without cluster Secrets in the snapshot a name says nothing more than that it is a cluster of its own.
            Err(_) if !knows_names(live) => Ok(name.into()),
            Err(error) => Err(error.to_string()),
        },
    }
}

/// The server of a destination that has a server or a name; empty where it has a name.
///
/// # Errors
/// Why Argo CD refuses the destination, whatever clusters there are.
///
/// Source: Argo CD `util/argo/argo.go:GetDestinationCluster`.
pub fn one_of_the_two(destination: &Destination) -> Result<&str, String> {
    match (destination.server.trim_end_matches('/'), &*destination.name) {
        ("", "") => Err("the Application's destination has neither a server nor a name".to_owned()),
        (server, "") => Ok(server),
        ("", _) => Ok(""),
        _ => Err("the Application's destination has both a server and a name".to_owned()),
    }
}

/// Whether a cluster that the snapshot has no Secret of is certainly none of Argo CD's.
pub fn knows_clusters(live: &LiveState) -> bool {
    live.has_cluster_secrets() && lists(live, "", "Secret")
}

/// Whether the snapshot names any cluster besides the one Argo CD runs in.
fn knows_names(live: &LiveState) -> bool {
    let is_another = |cluster: &ClusterInfo| !cluster.name.is_empty() && !cluster.configured && &*cluster.server != IN_CLUSTER_SERVER;
    knows_clusters(live) || live.clusters().iter().any(|cluster| !cluster.registered && is_another(cluster))
}

/// The live AppProjects, by name.
pub fn live_projects(live: &LiveState) -> BTreeMap<String, Project> {
    let own =
        live.of_kind(IN_CLUSTER_SERVER, GROUP, "AppProject").iter().filter(|object| *object.key.namespace == *live.settings().namespace);
    own.filter_map(|object| Project::read(object.object())).map(|project| (project.name.clone(), project)).collect()
}

/// Whether an AppProject that the snapshot does not have certainly does not exist.
pub fn knows_projects(live: &LiveState) -> bool {
    let projects = live.of_kind(IN_CLUSTER_SERVER, GROUP, "AppProject");
    lists(live, GROUP, "AppProject") && projects.iter().any(|object| *object.key.namespace == *live.settings().namespace)
}

/// Whether the snapshot has all objects of a kind on the cluster that Argo CD runs in, as far as it says.
fn lists(live: &LiveState, group: &str, kind: &str) -> bool {
    let cluster = live.cluster_by_server(IN_CLUSTER_SERVER);
    !cluster.is_some_and(|cluster| cluster.unlisted.iter().any(|unlisted| unlisted.group == group && unlisted.kind == kind))
}
