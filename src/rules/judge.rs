//! Runs the rules over the facts, keeps the most exact of several findings about one event, and sorts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cel::{self, Compiled, Shared, Variables};
use super::definition::Need;
use super::draft::Findings;
use super::facts::View;
use super::set::{Rule, RuleError, RuleLogic, RuleSet};
use super::{Facts, precedence, suppress};
use crate::finding::{Finding, Severity};

/// What the rules say.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Findings: worst first, then by rule, Application and object.
    pub findings: Vec<Finding>,
    /// Rules that could not look.
    pub skipped: Vec<Skipped>,
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
    let view = View::new(*facts);
    let mut judged = Judged::default();
    let mut cel = Vec::new();
    for rule in rules.rules.values().filter(|rule| rule.enabled) {
        if rule.definition.needs(Need::Snapshot) && facts.live.sources().is_empty() {
            judged.skipped.push(Skipped { rule: rule.definition.id.clone(), reason: "needs a snapshot" });
            continue;
        }
        match &rule.logic {
            RuleLogic::Native(native) => {
                let mut findings = Findings::new(rule);
                native(&view, &mut findings);
                judged.findings.extend(findings.into_found());
            }
            RuleLogic::Cel(compiled) => cel.push((rule, compiled)),
        }
    }
    if !cel.is_empty() {
        judged.findings.extend(cel::on_large_stack(|| judge_expressions(facts, rules, &cel))??);
    }
    precedence::keep_most_exact(&mut judged.findings);
    suppress::by_annotation(&mut judged.findings, &view);
    judged.findings.sort_by(|a, b| order(a).cmp(&order(b)));
    judged.skipped.sort();
    Ok(judged)
}

fn judge_expressions(facts: &Facts<'_>, rules: &RuleSet, cel: &[(&Rule, &Compiled)]) -> Result<Vec<Finding>, RuleError> {
    let shared = Shared::new(rules.env.clone(), facts.live);
    let parameters: Vec<_> = cel
        .iter()
        .map(|(rule, _)| {
            cel::from_json(&Value::Object(rule.parameters.iter().map(|(name, value)| (name.clone(), value.clone())).collect()))
        })
        .collect();
    let mut found: BTreeMap<usize, Findings<'_>> = BTreeMap::new();
    for plan in facts.plans {
        let mut variables = None;
        for change in &plan.changes {
            let mut context = None;
            for (position, (rule, compiled)) in cel.iter().enumerate().filter(|(_, (_, compiled))| compiled.matches(change)) {
                let variables = variables.get_or_insert_with(|| Variables::new(&shared, plan));
                let context = context.get_or_insert_with(|| variables.context(change));
                let parameters = parameters.get(position).unwrap_or(&::cel::Value::Null);
                let drafts = compiled.judge(plan, change, context, parameters).map_err(|error| RuleError::Expression {
                    rule: rule.definition.id.clone(),
                    subject: Some(format!("{} of {}", change.key, plan.application.id)),
                    expression: error.expression,
                    message: error.message,
                })?;
                let findings = found.entry(position).or_insert_with(|| Findings::new(rule));
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
