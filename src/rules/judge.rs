//! Runs the rules over the facts, keeps the most exact of several findings about one event, and sorts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cel::{self, Shared, Variables};
use super::definition::{Cel, Each, Need};
use super::draft::Findings;
use super::facts::View;
use super::set::{Rule, RuleError, RuleLogic, RuleSet};
use super::{Facts, WaiverComment, edits, policy, precedence, suppress, suppression_unused};
use crate::finding::{Bug, Finding, Severity, Subject, bug};
use crate::plan::AppChange;

/// What the rules say.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Findings: worst first, then by rule, Application and object.
    pub findings: Vec<Finding>,
    /// Rules that could not look.
    pub skipped: Vec<Skipped>,
    /// Mistakes of presync's own that rules came upon; these rules say nothing.
    pub bugs: Vec<Bug>,
    /// Introduced findings that the configuration leaves out.
    pub left_out: usize,
}

/// A rule that was not evaluated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The rule.
    pub rule: String,
    /// Why, in a few words.
    pub reason: &'static str,
}

/// Judges the plans.
///
/// # Errors
/// Where an expression of a rule fails.
pub fn judge(facts: &Facts<'_>, rules: &RuleSet) -> Result<Judged, RuleError> {
    let mut view = View::new(*facts);
    let mut judged = Judged::default();
    let mut cel = Vec::new();
    for rule in rules.rules.values().filter(|rule| rules.policy.runs(rule) && !SPEAK_OF_WAIVERS.contains(&rule.definition.id.as_str())) {
        if rule.definition.needs(Need::Snapshot) && facts.live.sources().is_empty() {
            judged.skipped.push(Skipped { rule: rule.definition.id.clone(), reason: "needs a snapshot" });
            continue;
        }
        match &rule.logic {
            RuleLogic::Native(native) => {
                let found = bug::caught(
                    || format!("rule {}", rule.definition.id),
                    || {
                        let mut findings = Findings::new(rule, &rules.policy);
                        native(&view, &mut findings);
                        findings.into_found()
                    },
                );
                match found {
                    Ok(found) => judged.findings.extend(found),
                    Err(bug) => judged.bugs.push(bug),
                }
            }
            RuleLogic::Cel(_) => cel.extend(rule.definition.cel.as_ref().map(|expressions| (rule, expressions))),
        }
    }
    if !cel.is_empty() {
        judged.findings.extend(cel::on_large_stack(|| judge_expressions(&view, rules, &cel))??);
    }
    #[cfg(test)]
    super::mutation::apply(&mut judged.findings, facts, rules, |id| !SPEAK_OF_WAIVERS.contains(&id));
    reported(&mut judged, &view, rules);
    precedence::keep_most_exact(&mut judged.findings);
    view.usage = suppress::apply(&mut judged.findings, &view, &rules.policy, &known(rules, &judged.skipped));
    let mut late = Judged::default();
    for rule in SPEAK_OF_WAIVERS.iter().filter_map(|id| rules.rules.get(*id)).filter(|rule| rules.policy.runs(rule)) {
        if let RuleLogic::Native(native) = &rule.logic {
            let mut findings = Findings::new(rule, &rules.policy);
            native(&view, &mut findings);
            late.findings.extend(findings.into_found());
        }
    }
    #[cfg(test)]
    super::mutation::apply(&mut late.findings, facts, rules, |id| SPEAK_OF_WAIVERS.contains(&id));
    reported(&mut late, &view, rules);
    judged.left_out += late.left_out;
    judged.findings.append(&mut late.findings);
    edits::attach(&mut judged.findings, &view);
    sort(&mut judged.findings);
    judged.skipped.sort();
    Ok(judged)
}

/// Findings about comments that waive nothing, where everything was looked at; the comments are those that no finding has used.
pub fn of_idle_comments(comments: &[WaiverComment], rules: &RuleSet, skipped: &[Skipped]) -> Vec<Finding> {
    let Some(rule) = rules.rules.get("suppression-unused").filter(|rule| rules.policy.runs(rule)) else { return Vec::new() };
    let mut findings = Findings::new(rule, &rules.policy);
    suppression_unused::write_down(&suppress::idle_comments(comments, &known(rules, skipped)), &mut findings);
    let mut found = findings.into_found();
    found.retain_mut(|finding| {
        let subject = Subject { files: finding.places.iter().map(|place| &*place.origin.path).collect(), ..Subject::default() };
        let mut levelled = finding.clone();
        let is_wanted = rules.policy.levels(&mut levelled, rule, &subject) && !rules.policy.leaves_out(&subject);
        drop(subject);
        finding.severity = levelled.severity;
        is_wanted
    });
    found
}

/// Sorts findings: worst first, then by rule, Application and object.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
}

/// What there is to waive: rules that ran, and those that did not.
fn known<'r>(rules: &'r RuleSet, skipped: &[Skipped]) -> suppress::Known<'r> {
    let silent = skipped.iter().map(|skipped| skipped.rule.clone());
    let silent = silent.chain(rules.rules.values().filter(|rule| !rule.enabled).map(|rule| rule.definition.id.clone())).collect();
    suppress::Known { rules: rules.rules.keys().map(String::as_str).collect(), silent }
}

/// Rules that look at what became of waivers, and therefore run last.
const SPEAK_OF_WAIVERS: [&str; 2] = ["suppression-expired", "suppression-unused"];

/// Gives findings the severity that the configuration wants, and drops what it does not want to see.
fn reported(judged: &mut Judged, view: &View<'_>, rules: &RuleSet) {
    let mut kept = Vec::with_capacity(judged.findings.len());
    for finding in std::mem::take(&mut judged.findings) {
        let subject = policy::subject(&finding, view);
        let Some(rule) = rules.rules.get(&*finding.rule) else { continue };
        let mut levelled = finding.clone();
        if !rules.policy.levels(&mut levelled, rule, &subject) {
            continue;
        }
        if rules.policy.leaves_out(&subject) {
            judged.left_out += usize::from(finding.introduced);
            continue;
        }
        kept.push(levelled);
    }
    judged.findings = kept;
}

fn judge_expressions(view: &View<'_>, rules: &RuleSet, cel: &[(&Rule, &Cel)]) -> Result<Vec<Finding>, RuleError> {
    let facts = &view.facts;
    let shared = Shared::new(rules.env.clone(), view, cel.iter().map(|(_, expressions)| *expressions));
    let mut found: BTreeMap<usize, Findings<'_>> = BTreeMap::new();
    for plan in facts.plans {
        let mut variables = None;
        let mut parameters: BTreeMap<usize, ::cel::Value> = BTreeMap::new();
        let for_applications = cel.iter().enumerate().filter(|(_, (_, expressions))| expressions.each != Each::Change);
        for (position, (rule, expressions)) in for_applications.filter(|_| plan.change != AppChange::Removed) {
            let Some(compiled) = rule.compiled(&rules.env)? else { continue };
            let variables = variables.get_or_insert_with(|| Variables::new(&shared, plan));
            let bound = variables.of_application(facts.inventory.entries.get(&plan.application.id));
            let parameters = cel::from_json(&Value::Object(rules.policy.parameters(rule, plan).into_iter().collect()));
            let drafts = compiled.judge_application(expressions.each, plan, &bound, &parameters);
            let drafts = drafts.map_err(|error| rule.wrong(Some(plan.application.id.to_string()), error))?;
            let findings = found.entry(position).or_insert_with(|| Findings::new(rule, &rules.policy));
            drafts.into_iter().for_each(|draft| findings.push(draft));
        }
        for change in &plan.changes {
            let mut bound = None;
            for (position, (rule, _)) in cel.iter().enumerate().filter(|(_, (_, expressions))| expressions.looks_at(change)) {
                let Some(compiled) = rule.compiled(&rules.env)? else { continue };
                let variables = variables.get_or_insert_with(|| Variables::new(&shared, plan));
                let bound = bound.get_or_insert_with(|| variables.of_change(change));
                let parameters = parameters
                    .entry(position)
                    .or_insert_with(|| cel::from_json(&Value::Object(rules.policy.parameters(rule, plan).into_iter().collect())));
                let drafts = compiled.judge(plan, change, bound, parameters);
                let drafts = drafts.map_err(|error| rule.wrong(Some(format!("{} of {}", change.key, plan.application.id)), error))?;
                let findings = found.entry(position).or_insert_with(|| Findings::new(rule, &rules.policy));
                drafts.into_iter().for_each(|draft| findings.push(draft));
            }
        }
    }
    Ok(found.into_values().flat_map(Findings::into_found).collect())
}

fn order(finding: &Finding) -> (std::cmp::Reverse<Severity>, &str, Option<&str>, Option<&crate::manifest::ResourceKey>, &str, &str) {
    (
        std::cmp::Reverse(finding.severity),
        &finding.rule,
        finding.application.as_deref(),
        finding.resource.as_ref(),
        &finding.discriminator,
        &finding.message,
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;

    #[test]
    fn a_rule_with_a_bug_leaves_the_other_rules_their_findings() {
        let mut rules = RuleSet::builtin().unwrap();
        let spoilt = rules.rules.get_mut("prune-namespace").unwrap();
        assert!(matches!(spoilt.logic, RuleLogic::Native(_)));
        spoilt.logic = RuleLogic::Native(|_, _| panic!("out of bounds"));
        let run = Run { live: snapshot_captured("2020-01-01T00:00:00Z"), now: 1_900_000_000, ..Run::default() };
        let judged = judge(&run.facts(), &rules).unwrap();
        assert_eq!(judged.bugs.iter().map(|bug| bug.during.as_str()).collect::<Vec<_>>(), ["rule prune-namespace"]);
        assert!(judged.findings.iter().any(|finding| &*finding.rule == "snapshot-stale"), "{:?}", judged.findings);
    }
}
