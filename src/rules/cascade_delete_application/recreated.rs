//! Applications and ApplicationSets that a sync deletes in order to make them anew: their finalizers do not know that.
//!
//! Takes the changes of parents; hands on findings.

use std::collections::BTreeSet;

use super::super::draft::{Draft, Findings};
use super::super::facts::{View, named_with_data_first, next_sync, plural};
use crate::argocd::names::{GROUP, HOOK, SYNC_OPTIONS};
use crate::argocd::options::Propagation;
use crate::argocd::{AppId, Application};
use crate::manifest::{ResourceKey, annotation};
use crate::plan::clusters::server_of;
use crate::plan::reason::LiveCopy;
use crate::plan::{Action, Change, Reason, SyncPlan, removal};

/// Source: kubectl `replace --force` and Argo CD `gitops-engine/pkg/sync/sync_context.go:Sync` (hooks are deleted before they are created), and
/// `controller/appcontroller.go:finalizeApplicationDeletion`, which asks for the finalizer alone.
pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let is_argocds = |change: &Change| change.key.is(GROUP, "Application") || change.key.is(GROUP, "ApplicationSet");
    for (plan, change) in view.changes().filter(|(_, change)| change.reached && change.live.is_some() && is_argocds(change)) {
        let Some(why) = why_deleted(change) else { continue };
        let gone = objects_of(view, &applications(view, plan, change));
        if gone.is_empty() {
            continue;
        }
        let keys: Vec<&ResourceKey> = gone.iter().collect();
        let message = format!(
            "{} {why}: {} deletes it before it makes it anew, and with it {}: {}",
            change.key.named(),
            next_sync(plan),
            plural(keys.len(), "live object"),
            named_with_data_first(&keys, 8)
        );
        let help = "Take the annotation off: an Application or ApplicationSet is to be applied, not to be made anew. Where it has to be, take the \
                    finalizer off the live Applications first.";
        let target = change.target.as_deref();
        let field = target.and_then(|target| [HOOK, SYNC_OPTIONS].into_iter().find(|name| annotation(&target.object, name).is_some()));
        let pointer = field.map(|name| format!("/metadata/annotations/{}", name.replace('/', "~1"))).unwrap_or_default();
        let draft = Draft::of_change(plan, change, message).help(help.to_owned());
        findings.push(draft.at(target.map(|target| &target.origin), &pointer, "made anew with each sync"));
    }
}

fn why_deleted(change: &Change) -> Option<&'static str> {
    match (change.action, &change.reason) {
        (Action::Recreate, _) => Some("is replaced by force"),
        (Action::Hook, Reason::Hook { live_copy: LiveCopy::DeletedFirst }) => Some("is a hook"),
        _ => None,
    }
}

/// The live Applications that go with it.
fn applications<'a>(view: &View<'a>, plan: &SyncPlan, change: &Change) -> Vec<&'a Application> {
    let id = AppId::new(&change.key.namespace, &change.key.name);
    let ids = if change.key.is(GROUP, "Application") {
        // An Application that applies itself goes on by what it was told.
        if id == plan.application.id { Vec::new() } else { vec![id] }
    } else {
        let set = view.facts.inventory.sets.get(&id);
        set.map(|set| set.goes_with_it(!view.facts.live.is_assumed(), Propagation::Background)).unwrap_or_default()
    };
    let known = |id: AppId| {
        let entry = view.entry(&id)?;
        let base = || entry.base.as_ref().map(|base| &*base.application).filter(|_| view.facts.live.is_assumed());
        entry.live.as_ref().map(|(live, _)| &**live).or_else(base)
    };
    ids.into_iter().filter_map(known).collect()
}

/// What the finalizers of these Applications delete.
fn objects_of(view: &View<'_>, applications: &[&Application]) -> BTreeSet<ResourceKey> {
    let live = view.facts.live;
    let mut found = BTreeSet::new();
    for application in applications.iter().filter(|application| application.cascades()) {
        let Ok(server) = server_of(&application.spec.destination, live) else { continue };
        let tracked = live.tracked_by(&server, &application.id.instance(&live.settings().namespace));
        let options = &application.spec.sync_policy.sync_options;
        let version = live.settings().version();
        let goes = tracked.iter().filter(|object| removal::of_deleted_application(object, options, version).0 == Action::Delete);
        found.extend(goes.map(|object| object.key.clone()));
    }
    found
}
