//! Applications that this Argo CD puts into another cluster: the Argo CD there reconciles them, and none of them is one of this one's.
//!
//! Takes a parent and what it renders; forgets what its files seemed to define, and hands on what is not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::applications::Finder;
use crate::argocd::names::{GROUP, IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::argocd::{AppId, Application};
use crate::finding::Unjudged;
use crate::manifest::Manifest;

/// Names that one remark spells out.
const NAMED: usize = 5;

/// What the change touches of Applications in other clusters, by the parent that puts them there and the cluster.
#[derive(Default)]
pub(super) struct Spokes(BTreeMap<(AppId, String), BTreeSet<String>>);

impl Spokes {
    /// One remark for each parent.
    pub(super) fn unjudged(self, other_side: Self) -> Vec<Unjudged> {
        let mut all = self.0;
        for (key, names) in other_side.0 {
            all.entry(key).or_default().extend(names);
        }
        let told = all.into_iter().filter(|(_, names)| !names.is_empty()).map(|((parent, cluster), names)| {
            let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
            let more = names.len().checked_sub(NAMED).filter(|more| *more > 0).map(|more| format!(" and {more} more")).unwrap_or_default();
            Unjudged {
                application: Some(parent.to_string()),
                what: format!("Applications in cluster {cluster}: {}{more}", shown.join(", ")),
                why: "the Argo CD of that cluster reconciles them; what they deploy or delete is not planned here".to_owned(),
            }
        });
        told.collect()
    }
}

impl Finder<'_> {
    /// The cluster into which a parent puts its Applications, where that is certainly not Argo CD's own. A server by which this cluster is
    /// known as well shows by an Application that the parent has there already.
    ///
    /// Source: Argo CD `controller/appcontroller.go:newApplicationInformerAndLister`, which looks into its own cluster only.
    pub(super) fn spoke(&self, parent: &Application) -> Option<String> {
        let live = self.ground.live_state?;
        let destination = &parent.spec.destination;
        let server: Arc<str> = match (destination.server.as_str(), destination.name.as_str()) {
            ("", "" | IN_CLUSTER_NAME) => return None,
            ("", name) => live.cluster_by_name(name).ok()?,
            (server, _) => server.trim_end_matches('/').into(),
        };
        let instance = parent.id.instance(&self.control_namespace);
        let is_own = || self.live.values().any(|(_, object)| live.is_tracked(object) == Some(&*instance));
        (&*server != IN_CLUSTER_SERVER && !is_own())
            .then(|| if destination.name.is_empty() { server.to_string() } else { destination.name.clone() })
    }

    /// Notes what a parent puts into another cluster; hands on the Applications that its files seemed to define here.
    pub(super) fn leave_to_spoke(
        &mut self,
        parent: &Application,
        cluster: String,
        manifests: &[Arc<Manifest>],
    ) -> BTreeMap<AppId, Arc<str>> {
        let is_argocds =
            |manifest: &&Arc<Manifest>| ["Application", "ApplicationSet", "AppProject"].iter().any(|kind| manifest.key.is(GROUP, kind));
        let there: Vec<&Arc<Manifest>> = manifests.iter().filter(is_argocds).collect();
        let changes = &self.sources.revisions.changes;
        let touched = there.iter().filter(|manifest| {
            let reads = || {
                let application = self.readings.read(manifest.object.shared(), &self.control_namespace).ok()?;
                Some(self.sources.inputs(&application, self.side).touched_by(changes))
            };
            changes.touches(&manifest.origin.path) || (manifest.key.is(GROUP, "Application") && reads().unwrap_or_default())
        });
        let names: BTreeSet<String> = touched.map(|manifest| manifest.key.name.to_string()).collect();
        self.spokes.0.entry((parent.id.clone(), cluster)).or_default().extend(names);
        let files: BTreeSet<Arc<str>> = there.iter().map(|manifest| Arc::clone(&manifest.origin.path)).collect();
        self.drop_raw(&files)
    }
}
