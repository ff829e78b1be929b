//! Sources that gave no manifests, as findings of the rule that each names.

use std::collections::{BTreeMap, BTreeSet};

use super::{View, application_key};
use crate::argocd::AppId;
use crate::manifest::Origin;
use crate::rules::RenderFailure;
use crate::rules::draft::Draft;

/// Rules that report failures of their own kind; all others are `render-failed`.
const EXACT: [&str; 3] = ["non-string-metadata", "out-of-bounds-symlink", "source-path-missing"];

/// The failures that a rule reports. What fails of one cause in a parent and below it is one event, the topmost Application's.
pub(in crate::rules) fn render_failures<'a>(view: &'a View<'_>, rule: &'a str) -> impl Iterator<Item = Draft> + 'a {
    let of_rule = move |failure: &&RenderFailure| match EXACT.contains(&rule) {
        true => failure.rule == rule,
        false => !EXACT.contains(&failure.rule),
    };
    let failing: BTreeMap<AppId, &RenderFailure> =
        view.facts.render_failures.iter().filter(of_rule).map(|failure| (id_of(&failure.application), failure)).collect();
    let events = view.facts.render_failures.iter().filter(of_rule);
    let events = events.filter(move |failure| id_of(&failure.application) == topmost(failure, &failing, view));
    events.map(|failure| draft(view, failure))
}

/// The Application that a failure is told of: the highest that fails of the same cause. Applications that render each other count as one.
fn topmost(failure: &RenderFailure, failing: &BTreeMap<AppId, &RenderFailure>, view: &View<'_>) -> AppId {
    let mut top = id_of(&failure.application);
    // One that leaves Git is still there because what fails above it prunes nothing.
    let leaves = view.entry(&top).is_some_and(|entry| entry.head.is_none());
    let same_cause =
        |id: &AppId| failing.get(id).is_some_and(|other| leaves || (other.message == failure.message && other.place == failure.place));
    let mut on_the_way = BTreeSet::new();
    while on_the_way.insert(top.clone()) {
        let definitions = view.entry(&top).into_iter().flat_map(|entry| [&entry.head, &entry.base]).flatten();
        let mut parents = definitions.filter_map(|definition| definition.parent.clone()).filter(|parent| *parent != top);
        let Some(parent) = parents.find(|parent| same_cause(parent)) else { return top };
        top = parent;
    }
    on_the_way.pop_first().unwrap_or(top)
}

pub(in crate::rules) fn id_of(application: &str) -> AppId {
    let (namespace, name) = application.split_once('/').unwrap_or(("", application));
    AppId::new(namespace, name)
}

fn draft(view: &View<'_>, failure: &RenderFailure) -> Draft {
    let id = id_of(&failure.application);
    let draft = Draft::new(failure.message.clone())
        .help(failure.help.clone())
        .application(failure.application.clone())
        .introduced(failure.introduced);
    let draft = match &failure.object {
        Some((origin, pointer, key)) => {
            draft.resource(key.clone()).discriminator(pointer.clone()).at(Some(origin), pointer, "cannot be used")
        }
        None => draft.resource(application_key(&id)),
    };
    let draft = match &failure.place {
        Some(place) if failure.object.is_none() => {
            let origin = Origin {
                path: place.path.clone(),
                side: place.side,
                document: 0..0,
                line: place.line,
                within: String::new(),
                rendered: None,
            };
            draft.at(Some(&origin), "", "cannot be read")
        }
        _ => draft,
    };
    draft.at(
        view.entry(&id).and_then(|entry| entry.definition()).map(|definition| &definition.manifest.origin),
        "/spec/source",
        "renders this source",
    )
}
