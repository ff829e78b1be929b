//! `suppression-expired`: a waiver is over, and what it waived counts again.

use super::draft::{Draft, Findings};
use super::facts::{View, plural};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for expired in &view.usage.expired {
        let counts = match (&expired.example, expired.findings) {
            (Some(example), 1) => format!("and this counts again: {example}"),
            (Some(example), count) => format!("and {} count again, such as: {example}", plural(count, "finding")),
            (None, _) => "and it matches nothing any more".to_owned(),
        };
        let message = format!("the waiver of {} (\"{}\") held until {}, {counts}", expired.rules, expired.reason, expired.last);
        let draft = Draft::new(message).introduced(expired.introduced).discriminator(format!("{} {}", expired.rules, expired.reason));
        findings.push(draft.at(expired.origin.as_ref(), "/expires", "is over"));
    }
}
