//! What a repository's configuration says about findings: severities and parameters by part of the fleet, what is reported at all, and what
//! is waived.
//!
//! Takes findings with the facts; hands on those that are reported, with their severity.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::baseline::Baseline;
use super::facts::View;
use super::set::{Rule, RuleSettings};
use crate::argocd::AppId;
use crate::finding::{Finding, Selector, Subject};
use crate::manifest::Origin;
use crate::plan::SyncPlan;

/// What the configuration says about findings.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Parts of the fleet with settings of their own; the last one that selects a finding decides.
    pub environments: Vec<RuleEnvironment>,
    /// Only what one of these selects is reported; everything, where there are none.
    pub include: Vec<Selector>,
    /// What one of these selects is not reported.
    pub exclude: Vec<Selector>,
    /// Waivers.
    pub waivers: Vec<Waiver>,
    /// Findings that were there when presync was introduced.
    pub baseline: Baseline,
    /// The same as far as the change under review adds them.
    pub baseline_of_this_change: Baseline,
    /// Whether waivers that the change under review brings along count for it.
    pub counts_of_this_change: bool,
}

/// Settings of rules for a part of the fleet.
#[derive(Clone, Debug)]
pub struct RuleEnvironment {
    /// What belongs to it.
    pub matches: Selector,
    /// Settings by rule.
    pub settings: BTreeMap<String, RuleSettings>,
}

/// A waiver of the configuration.
#[derive(Clone, Debug)]
pub struct Waiver {
    /// The rules.
    pub rules: Vec<String>,
    /// Which of their findings.
    pub matches: Selector,
    /// Why it is fine.
    pub reason: String,
    /// The last day on which it holds.
    pub expires: Option<Date>,
    /// Where it stands, if that is in the repository.
    pub origin: Option<Origin>,
    /// Whether the change under review adds it.
    pub of_this_change: bool,
}

impl Waiver {
    /// Whether it speaks of a finding.
    pub(super) fn matches(&self, finding: &Finding, subject: &Subject<'_>) -> bool {
        self.rules.iter().any(|rule| *rule == *finding.rule) && self.matches.matches(subject)
    }

    /// Whether it holds on a day.
    pub(super) fn holds_on(&self, today: Date) -> bool {
        self.expires.is_none_or(|last| today <= last)
    }
}

impl Policy {
    /// What is said about a rule for a subject, the most exact last.
    fn settings<'s>(&'s self, rule: &str, subject: &Subject<'_>) -> impl DoubleEndedIterator<Item = &'s RuleSettings> {
        let selected = self.environments.iter().filter(|environment| environment.matches.matches(subject));
        selected.filter_map(|environment| environment.settings.get(rule)).collect::<Vec<_>>().into_iter()
    }

    /// Whether a rule has to run at all.
    pub(super) fn runs(&self, rule: &Rule) -> bool {
        let id = &rule.definition.id;
        rule.enabled
            || self.environments.iter().any(|environment| environment.settings.get(id).is_some_and(|own| own.enabled == Some(true)))
    }

    /// A rule's parameters for an Application.
    pub(super) fn parameters(&self, rule: &Rule, plan: &SyncPlan) -> BTreeMap<String, serde_json::Value> {
        let mut parameters = rule.parameters.clone();
        if !self.environments.is_empty() {
            let id = plan.application.id.to_string();
            for settings in self.settings(&rule.definition.id, &subject_of_plan(plan, &id)) {
                parameters.extend(settings.parameters.clone());
            }
        }
        parameters
    }

    /// Whether a finding is reported; sets its severity.
    pub(super) fn levels(&self, finding: &mut Finding, rule: &Rule, subject: &Subject<'_>) -> bool {
        let mut enabled = rule.enabled;
        let mut severity = rule.severity;
        for settings in self.settings(&rule.definition.id, subject) {
            enabled = settings.enabled.unwrap_or(enabled);
            severity = settings.severity.or(severity);
        }
        finding.severity = severity.unwrap_or(finding.severity);
        enabled
    }

    /// Whether a finding is left out.
    pub(super) fn leaves_out(&self, subject: &Subject<'_>) -> bool {
        let named = |selectors: &[Selector]| selectors.iter().any(|selector| selector.matches(subject));
        (!self.include.is_empty() && !named(&self.include)) || named(&self.exclude)
    }
}

/// What a finding shows of itself to selectors.
pub(super) fn subject<'a>(finding: &'a Finding, view: &View<'a>) -> Subject<'a> {
    let application = finding.application.as_deref();
    let id = application.and_then(|id| id.split_once('/')).map(|(namespace, name)| AppId::new(namespace, name));
    let plan = id.and_then(|id| view.plan_of(&id));
    let mut subject = plan.map(|plan| subject_of_plan(plan, application.unwrap_or_default())).unwrap_or_default();
    subject.application = application;
    subject.resource = finding.resource.as_ref();
    subject.files.extend(finding.places.iter().map(|place| &*place.origin.path));
    subject
}

/// What an Application shows of itself to selectors.
fn subject_of_plan<'a>(plan: &'a SyncPlan, id: &'a str) -> Subject<'a> {
    Subject {
        files: plan.origin.iter().map(|origin| &*origin.path).collect(),
        folders: plan.application.spec.sources().iter().map(|source| source.path.as_str()).filter(|path| !path.is_empty()).collect(),
        application: Some(id),
        project: Some(&plan.application.spec.project),
        resource: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use crate::plan::{Action, Reason};

    fn selector(text: &str) -> Selector {
        serde_yaml::from_str(text).unwrap()
    }

    fn claim(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop"}})
    }

    /// Claims of two Applications that are deleted.
    fn run() -> Run {
        let gone = |name: &str| removed(claim(name), Action::Prune, Reason::RemovedFromGit { automated: true });
        Run { plans: vec![plan("prod", vec![gone("a")]), plan("test", vec![gone("b")])], ..Run::default() }
    }

    fn severities(policy: Policy) -> Vec<(String, Severity)> {
        let found = run().under(policy).findings;
        found.into_iter().map(|finding| (finding.application.unwrap(), finding.severity)).collect()
    }

    fn environment(matches: &str, settings: RuleSettings) -> RuleEnvironment {
        RuleEnvironment { matches: selector(matches), settings: BTreeMap::from([("prune-persistent-data".to_owned(), settings)]) }
    }

    #[test]
    fn the_last_environment_that_selects_a_finding_decides_over_its_severity() {
        let info = RuleSettings { severity: Some(Severity::Info), ..RuleSettings::default() };
        let warning = RuleSettings { severity: Some(Severity::Warning), ..RuleSettings::default() };
        let policy = Policy {
            environments: vec![environment("paths: apps/**", info), environment("applications: prod", warning)],
            ..Policy::default()
        };
        let found = severities(policy);
        assert_eq!(found, [("argocd/prod".to_owned(), Severity::Warning), ("argocd/test".to_owned(), Severity::Info)]);
    }

    #[test]
    fn a_rule_is_off_in_one_environment_only() {
        let off = RuleSettings { enabled: Some(false), ..RuleSettings::default() };
        let policy = Policy { environments: vec![environment("paths: argocd/test.yaml", off)], ..Policy::default() };
        assert_eq!(severities(policy), [("argocd/prod".to_owned(), Severity::Error)]);
    }

    #[test]
    fn parameters_hold_for_their_environment_only() {
        let gone = |name: &str| {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}});
            removed(map, Action::Prune, Reason::RemovedFromGit { automated: true })
        };
        let run = Run { plans: vec![plan("prod", vec![gone("a")]), plan("test", vec![gone("b")])], ..Run::default() };
        let strict = RuleSettings { parameters: BTreeMap::from([("atLeast".to_owned(), json!(1))]), ..RuleSettings::default() };
        let settings = BTreeMap::from([("mass-prune".to_owned(), strict)]);
        let policy =
            Policy { environments: vec![RuleEnvironment { matches: selector("applications: prod"), settings }], ..Policy::default() };
        let found = run.under(policy).findings;
        let spoken: Vec<_> =
            found.iter().filter(|finding| &*finding.rule == "mass-prune").map(|finding| finding.application.as_deref()).collect();
        assert_eq!(spoken, [Some("argocd/prod")]);
    }

    #[test]
    fn what_is_not_included_or_is_excluded_is_left_out_and_counted() {
        let judged = run().under(Policy { include: vec![selector("applications: prod")], ..Policy::default() });
        assert_eq!((judged.findings.len(), judged.left_out), (1, 1));
        let judged = run().under(Policy { exclude: vec![selector("kinds: PersistentVolumeClaim")], ..Policy::default() });
        assert_eq!((judged.findings.len(), judged.left_out), (0, 2));
    }
}
