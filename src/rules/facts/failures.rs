//! Sources that gave no manifests, as findings of the rule that each names.

use std::collections::BTreeSet;

use super::{View, application_key};
use crate::argocd::AppId;
use crate::manifest::Origin;
use crate::rules::RenderFailure;
use crate::rules::draft::Draft;

/// Rules that report failures of their own kind; all others are `render-failed`.
const EXACT: [&str; 2] = ["source-path-missing", "non-string-metadata"];

/// The failures that a rule reports. A child whose parent fails the same way is left out: the parent's failure is the event.
pub(in crate::rules) fn render_failures<'a>(view: &'a View<'_>, rule: &'a str) -> impl Iterator<Item = Draft> + 'a {
    let of_rule = move |failure: &&RenderFailure| match EXACT.contains(&rule) {
        true => failure.rule == rule,
        false => !EXACT.contains(&failure.rule),
    };
    let failing: BTreeSet<&str> = view.facts.render_failures.iter().filter(of_rule).map(|failure| failure.application.as_str()).collect();
    view.facts
        .render_failures
        .iter()
        .filter(of_rule)
        .filter(move |failure| {
            let entry = view.entry(&id_of(&failure.application));
            let parents = entry
                .into_iter()
                .flat_map(|entry| [&entry.head, &entry.base])
                .flatten()
                .filter_map(|definition| definition.parent.as_ref());
            !parents.into_iter().any(|parent| failing.contains(parent.to_string().as_str()))
        })
        .map(|failure| draft(view, failure))
}

fn id_of(application: &str) -> AppId {
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
