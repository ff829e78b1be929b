//! `suppression-unused`: a waiver suppresses nothing.

use super::draft::{Draft, Findings};
use super::facts::View;
use super::suppress::Unused;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    write_down(&view.usage.unused, findings);
}

/// A finding for each of these.
pub(super) fn write_down(unused: &[Unused], findings: &mut Findings<'_>) {
    for unused in unused {
        let grade = unused.is_mistake.then_some("mistake");
        let mut draft = Draft::new(unused.message.clone()).grade(grade).introduced(unused.introduced).discriminator(unused.message.clone());
        if let Some(application) = &unused.application {
            draft = draft.application(application.clone());
        }
        if let Some(resource) = &unused.resource {
            draft = draft.resource(resource.clone());
        }
        if let Some((origin, pointer)) = &unused.place {
            draft = draft.at(Some(origin), pointer, "suppresses nothing");
        }
        findings.push(draft);
    }
}
