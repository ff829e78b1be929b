//! Findings that somebody has waived, with a reason: by an annotation, a comment, the configuration, or the baseline.
//!
//! Takes findings; marks those that are suppressed, and hands on the [`Usage`] of what suppresses. A waiver has to stand in Git, or on the
//! live object, before: what the change under review adds itself is shown with the finding, and counts only where the configuration says so.

use std::collections::BTreeSet;

use jiff::civil::Date;
use serde_json::Value;

use super::WaiverComment;
use super::baseline::{self, Baseline};
use super::facts::View;
use super::policy::{self, Policy, Waiver};
use crate::argocd::AppId;
use crate::finding::{Finding, Suppression};
use crate::manifest::{Origin, annotation};

/// The annotation on an object or Application: `rule: reason[, rule: reason]`.
pub const ANNOTATION: &str = "presync.dev/ignore";
/// Pointer of the annotation.
pub(super) const POINTER: &str = "/metadata/annotations/presync.dev~1ignore";

/// What became of waivers.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Waivers of the configuration that are over, with a finding that would be suppressed.
    pub(super) expired: Vec<Expired>,
    /// What suppresses nothing.
    pub(super) unused: Vec<Unused>,
}

/// A waiver that is over.
#[derive(Debug)]
pub(super) struct Expired {
    pub(super) rules: String,
    pub(super) last: Date,
    pub(super) reason: String,
    pub(super) origin: Option<Origin>,
    /// How many findings count again.
    pub(super) findings: usize,
    /// One of them.
    pub(super) example: Option<String>,
    pub(super) introduced: bool,
}

/// Something that suppresses nothing.
#[derive(Debug)]
pub(super) struct Unused {
    pub(super) message: String,
    pub(super) place: Option<(Origin, String)>,
    pub(super) application: Option<String>,
    pub(super) resource: Option<crate::manifest::ResourceKey>,
    /// Whether it cannot suppress anything ever.
    pub(super) is_mistake: bool,
    pub(super) introduced: bool,
}

/// What a rule set knows.
pub(super) struct Known<'a> {
    /// Ids of all rules.
    pub(super) rules: BTreeSet<&'a str>,
    /// Ids of rules that did not run.
    pub(super) silent: BTreeSet<String>,
}

/// Marks the findings that are suppressed.
pub(super) fn apply(findings: &mut [Finding], view: &View<'_>, policy: &Policy, known: &Known<'_>) -> Usage {
    let today = today(view.facts.now);
    let mut matched: Vec<usize> = vec![0; policy.waivers.len()];
    let mut expired: Vec<(usize, Option<String>, bool)> = vec![(0, None, false); policy.waivers.len()];
    let mut annotated: BTreeSet<(String, String)> = BTreeSet::new();
    let mut fingerprints = BTreeSet::new();
    for finding in findings.iter_mut() {
        fingerprints.insert(finding.fingerprint());
        let waivers: Vec<usize> = {
            let subject = policy::subject(finding, view);
            (0..policy.waivers.len()).filter(|index| policy.waivers.get(*index).is_some_and(|one| one.matches(finding, &subject))).collect()
        };
        let mut settled = false;
        for of_this_change in [false, true] {
            let text = carriers(finding, view, of_this_change).into_iter().find_map(|object| {
                let text = annotation(object, ANNOTATION)?;
                Some((text.to_owned(), reason(text, &finding.rule)?))
            });
            if let Some((text, reason)) = text.filter(|_| !settled) {
                annotated.insert((text, finding.rule.to_string()));
                settle(finding, Suppression { by: "comment", reason, expires: None }, of_this_change, policy.counts_of_this_change);
                settled = true;
            }
            for (index, waiver) in waivers.iter().filter_map(|index| Some((*index, policy.waivers.get(*index)?))) {
                if waiver.of_this_change != of_this_change {
                    continue;
                }
                if !waiver.holds_on(today) {
                    if let Some((count, example, introduced)) = expired.get_mut(index) {
                        *count += 1;
                        example.get_or_insert_with(|| finding.message.clone());
                        *introduced |= finding.introduced;
                    }
                    continue;
                }
                if let Some(count) = matched.get_mut(index) {
                    *count += 1;
                }
                if !settled {
                    let expires = waiver.expires.map(|last| last.to_string());
                    let suppression = Suppression { by: "config", reason: waiver.reason.clone(), expires };
                    settle(finding, suppression, of_this_change, policy.counts_of_this_change);
                    settled = true;
                }
            }
            let baseline = if of_this_change { &policy.baseline_of_this_change } else { &policy.baseline };
            if let Some(since) = baseline.since(&finding.fingerprint()).filter(|_| !settled) {
                let reason = format!("in the baseline {}", baseline::age(since, today));
                settle(finding, Suppression { by: "baseline", reason, expires: None }, of_this_change, policy.counts_of_this_change);
                settled = true;
            }
        }
    }
    let mut usage = Usage::default();
    for (waiver, (findings, example, introduced)) in policy.waivers.iter().zip(expired) {
        if let Some(last) = waiver.expires.filter(|_| !waiver.holds_on(today) && (findings > 0 || view.facts.complete)) {
            let (reason, origin) = (waiver.reason.clone(), waiver.origin.clone());
            usage.expired.push(Expired { rules: waiver.rules.join(", "), last, reason, origin, findings, example, introduced });
        }
    }
    if view.facts.complete {
        usage.unused.extend(unused_waivers(policy, &matched, today, known));
        usage.unused.extend(unused_baseline(&policy.baseline, &fingerprints));
    }
    usage.unused.extend(unused_annotations(view, &annotated, known));
    usage.unused.extend(mistaken_comments(view.facts.comments, known));
    usage
}

/// The day of a run, in UTC.
pub(super) fn today(now: i64) -> Date {
    let time = jiff::Timestamp::from_second(now).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Marks a finding as suppressed. One that the change suppresses itself counts on, and says so, unless that is allowed.
pub fn settle(finding: &mut Finding, suppression: Suppression, of_this_change: bool, counts: bool) {
    let Suppression { by, reason, expires } = suppression;
    match (of_this_change, counts) {
        (false, _) => finding.suppressed = Some(Suppression { by, reason, expires }),
        (true, true) => finding.suppressed = Some(Suppression { by, reason: format!("suppressed by this change: {reason}"), expires }),
        (true, false) => {
            finding.help = format!("{} Suppressed by this change (\"{reason}\"), which counts once it is merged.", finding.help.trim_end());
        }
    }
}

fn unused_waivers<'p>(policy: &'p Policy, matched: &'p [usize], today: Date, known: &'p Known<'_>) -> impl Iterator<Item = Unused> + 'p {
    let idle = move |waiver: &Waiver| waiver.holds_on(today) && !waiver.rules.iter().any(|rule| known.silent.contains(rule));
    let unused = policy.waivers.iter().zip(matched).filter(move |(waiver, count)| **count == 0 && idle(waiver));
    unused.map(|(waiver, _)| Unused {
        message: format!("the waiver of {} matches nothing (\"{}\")", waiver.rules.join(", "), waiver.reason),
        place: waiver.origin.clone().map(|origin| (origin, String::new())),
        application: None,
        resource: None,
        is_mistake: false,
        introduced: waiver.of_this_change,
    })
}

fn unused_baseline(baseline: &Baseline, found: &BTreeSet<String>) -> Option<Unused> {
    let gone = baseline.gone(found);
    (gone > 0).then(|| Unused {
        message: format!("{gone} of {} findings of {} are no longer found", baseline.len(), baseline::FILE),
        place: None,
        application: None,
        resource: None,
        is_mistake: false,
        introduced: false,
    })
}

/// Annotations at head that name no rule, give no reason, or suppress nothing.
fn unused_annotations(view: &View<'_>, used: &BTreeSet<(String, String)>, known: &Known<'_>) -> Vec<Unused> {
    let mut found = Vec::new();
    let objects = view
        .changes()
        .filter_map(|(plan, change)| Some((plan.application.id.to_string(), &change.key, change.target.as_ref()?, change.base.as_ref())));
    for (application, key, manifest, base) in objects {
        let Some(text) = annotation(&manifest.object, ANNOTATION) else { continue };
        let introduced = base.is_none_or(|base| annotation(&base.object, ANNOTATION) != Some(text));
        for (rule, reason) in entries(text) {
            let is_used = used.contains(&(text.to_owned(), rule.to_owned())) || known.silent.contains(rule);
            let what = match (known.rules.contains(rule), reason.is_empty()) {
                (false, _) => format!("names `{rule}`, which is no rule"),
                (true, true) => format!("gives no reason for {rule}, and does not count"),
                (true, false) if !is_used && view.facts.complete => format!("waives {rule}, which finds nothing here"),
                _ => continue,
            };
            found.push(Unused {
                message: format!("{ANNOTATION} on {} {what}", key.named()),
                place: Some((manifest.origin.clone(), POINTER.to_owned())),
                application: Some(application.clone()),
                resource: Some(key.clone()),
                is_mistake: !known.rules.contains(rule) || reason.is_empty(),
                introduced: introduced && (!known.rules.contains(rule) || reason.is_empty()),
            });
        }
    }
    found
}

/// Comments that name no rule or give no reason.
fn mistaken_comments<'c>(comments: &'c [WaiverComment], known: &'c Known<'_>) -> impl Iterator<Item = Unused> + 'c {
    let mistakes = comments.iter().flat_map(|comment| comment.rules.iter().map(move |rule| (comment, rule)));
    mistakes.filter_map(|(comment, rule)| {
        let what = match (known.rules.contains(rule.as_str()), comment.reason.is_empty()) {
            (false, _) => format!("names `{rule}`, which is no rule"),
            (true, true) => format!("gives no reason for {rule}, and does not count"),
            (true, false) => return None,
        };
        Some(Unused {
            message: format!("the comment in {} {what}", comment.origin.path),
            place: Some((comment.origin.clone(), String::new())),
            application: None,
            resource: None,
            is_mistake: true,
            introduced: comment.introduced,
        })
    })
}

/// The objects whose annotation counts: the object as it was in Git and as it is live, then the Application likewise. Those of this change
/// are the object and the Application at head.
fn carriers<'a>(finding: &Finding, view: &View<'a>, of_this_change: bool) -> Vec<&'a Value> {
    let mut found = Vec::new();
    if let Some(key) = &finding.resource {
        for (_, change) in view.changes_of(key) {
            if of_this_change {
                found.extend(change.target_object());
            } else {
                found.extend(change.base.as_ref().map(|base| &*base.object));
                found.extend(change.live.as_ref().map(|live| live.object()));
            }
        }
    }
    if let Some((namespace, name)) = finding.application.as_deref().and_then(|application| application.split_once('/'))
        && let Some(entry) = view.entry(&AppId::new(namespace, name))
    {
        if of_this_change {
            found.extend(entry.head.as_ref().map(|head| &*head.manifest.object));
        } else {
            found.extend(entry.base.as_ref().map(|base| &*base.manifest.object));
            found.extend(entry.live.as_ref().map(|(_, live)| live.object()));
        }
    }
    found
}

/// The reason that an annotation's text gives for a rule. Without a reason it does not count.
fn reason(text: &str, rule: &str) -> Option<String> {
    entries(text).into_iter().find_map(|(name, reason)| (name == rule && !reason.is_empty()).then(|| reason.to_owned()))
}

/// The rules of an annotation's text with their reasons. A reason may have commas: an entry begins where a rule and a colon follow one.
fn entries(text: &str) -> Vec<(&str, &str)> {
    let is_rule = |name: &str| {
        name.contains(['-', '/']) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-/".contains(&byte))
    };
    let mut entries = Vec::new();
    let mut rest = text;
    loop {
        let has_reason = rest.split(',').next().is_some_and(|piece| piece.contains(':'));
        let begins = |piece: &str| piece.split_once(':').is_some_and(|(name, _)| is_rule(name.trim()));
        let next = rest.match_indices(',').map(|(at, _)| at).find(|at| !has_reason || rest.get(at + 1..).is_some_and(begins));
        let entry = next.and_then(|at| rest.get(..at)).unwrap_or(rest);
        let (rule, reason) = entry.split_once(':').unwrap_or((entry, ""));
        entries.push((rule.trim(), reason.trim().trim_end_matches(',').trim_end()));
        match next.and_then(|at| rest.get(at + 1..)) {
            Some(more) => rest = more,
            None => return entries,
        }
    }
}

/// The rules and the reason of a line's comment `# presync: ignore[rule, …] reason`.
pub fn comment(line: &str) -> Option<(Vec<&str>, &str)> {
    let (_, comment) = line.split_once("# presync: ignore[")?;
    let (rules, reason) = comment.split_once(']')?;
    Some((rules.split(',').map(str::trim).collect(), reason.trim()))
}

/// The comments on a line of a text, from 1, and on the line above.
pub fn comments_near(text: &str, line: u32) -> impl Iterator<Item = (Vec<&str>, &str)> {
    let line = usize::try_from(line).unwrap_or_default().saturating_sub(1);
    text.lines().skip(line.saturating_sub(1)).take(if line == 0 { 1 } else { 2 }).filter_map(comment)
}

/// The reason that a line's comment gives for a rule.
pub fn reason_in_comment(line: &str, rule: &str) -> Option<String> {
    let (rules, reason) = comment(line)?;
    (rules.contains(&rule) && !reason.is_empty()).then(|| reason.to_owned())
}

/// Comments that waive nothing although everything was looked at. Those of rules that did not run may well waive something.
pub(super) fn idle_comments(comments: &[WaiverComment], known: &Known<'_>) -> Vec<Unused> {
    let mut found: Vec<Unused> = mistaken_comments(comments, known).collect();
    for comment in comments.iter().filter(|comment| !comment.reason.is_empty()) {
        for rule in comment.rules.iter().filter(|rule| known.rules.contains(rule.as_str()) && !known.silent.contains(*rule)) {
            found.push(Unused {
                message: format!("the comment in {} waives {rule}, which finds nothing here", comment.origin.path),
                place: Some((comment.origin.clone(), String::new())),
                application: None,
                resource: None,
                is_mistake: false,
                introduced: comment.introduced,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests;
