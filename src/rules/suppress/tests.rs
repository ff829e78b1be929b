use serde_json::json;

use super::super::fixture::*;
use super::super::policy::Waiver;
use super::*;
use crate::finding::Severity;
use crate::manifest::Side;
use crate::plan::{Action, Reason};

fn claim(annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop", "annotations": annotations}})
}

fn pruned(base: Value, live: Value) -> Run {
    let change = removed_as(base, live, Action::Prune, Reason::RemovedFromGit { automated: true });
    Run { plans: vec![plan("a", vec![change])], ..Run::default() }
}

fn suppressed(base: Value, live: Value) -> Option<Suppression> {
    pruned(base, live).judge(&["prune-persistent-data"])[0].suppressed.clone()
}

fn waiver(matches: &str, expires: Option<&str>) -> Waiver {
    Waiver {
        rules: vec!["prune-persistent-data".to_owned()],
        matches: serde_yaml::from_str(matches).unwrap(),
        reason: "a cache".to_owned(),
        expires: expires.map(|day| day.parse().unwrap()),
        origin: Some(origin(".presync.yaml", Side::Base)),
        of_this_change: false,
    }
}

/// What is found under a waiver on 30 November 2026.
fn under(policy: Policy) -> Vec<Finding> {
    let now = "2026-11-30T12:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second();
    Run { now, ..pruned(claim(json!({})), claim(json!({}))) }.under(policy).findings
}

fn of_rule<'f>(findings: &'f [Finding], rule: &str) -> Vec<&'f Finding> {
    findings.iter().filter(|finding| &*finding.rule == rule).collect()
}

#[test]
fn an_annotation_with_a_reason_suppresses_the_rule_that_it_names() {
    let waived = claim(json!({ANNOTATION: "pvc-unprotected: x, prune-persistent-data: a cache, nothing else"}));
    assert_eq!(suppressed(waived.clone(), claim(json!({}))).unwrap().reason, "a cache, nothing else");
    assert!(suppressed(claim(json!({})), waived).is_some());
    for other in ["prune-persistent-data", "prune-persistent-data:", "prune-namespace: x"] {
        assert_eq!(suppressed(claim(json!({ANNOTATION: other})), claim(json!({}))), None, "{other}");
    }
}

#[test]
fn commas_of_a_reason_begin_no_entry() {
    assert_eq!(entries("pvc-unprotected: a cache, filled again"), [("pvc-unprotected", "a cache, filled again")]);
    assert_eq!(entries("mass-prune: see: a, b: c, own/rule: d,"), [("mass-prune", "see: a, b: c"), ("own/rule", "d")]);
    assert_eq!(entries("mass-prune, pvc-unprotected: both"), [("mass-prune", ""), ("pvc-unprotected", "both")]);
    assert_eq!(entries("pvc-unprotected"), [("pvc-unprotected", "")]);
}

#[test]
fn a_comment_names_rules_and_gives_a_reason() {
    assert_eq!(reason_in_comment("replicas: 2  # presync: ignore[a, b] fixed size", "b").as_deref(), Some("fixed size"));
    assert_eq!(reason_in_comment("# presync: ignore[a]", "a"), None);
    assert_eq!(reason_in_comment("# presync: ignore[a] why", "b"), None);
}

#[test]
fn a_waiver_suppresses_what_it_matches_until_its_last_day() {
    let policy = |matches: &str, expires: Option<&str>| Policy { waivers: vec![waiver(matches, expires)], ..Policy::default() };
    for holds in [policy("names: data", None), policy("applications: a", Some("2026-11-30"))] {
        let found = under(holds);
        let waived = of_rule(&found, "prune-persistent-data")[0].suppressed.clone().unwrap();
        assert_eq!((waived.by, waived.reason.as_str()), ("config", "a cache"));
        assert!(of_rule(&found, "suppression-expired").is_empty() && of_rule(&found, "suppression-unused").is_empty());
    }
}

#[test]
fn a_waiver_that_is_over_is_reported_beside_the_finding() {
    let found = under(Policy { waivers: vec![waiver("names: data", Some("2026-11-29"))], ..Policy::default() });
    assert_eq!(of_rule(&found, "prune-persistent-data")[0].suppressed, None);
    let expired = of_rule(&found, "suppression-expired")[0];
    assert!(expired.introduced && expired.message.contains("2026-11-29"), "{expired:?}");
    assert_eq!(&*expired.places[0].origin.path, ".presync.yaml");
}

#[test]
fn a_waiver_that_matches_nothing_is_reported_for_everything_only() {
    let found = under(Policy { waivers: vec![waiver("names: other", None)], ..Policy::default() });
    let unused = of_rule(&found, "suppression-unused")[0];
    assert_eq!((unused.severity, unused.introduced), (Severity::Info, false));
    let run = pruned(claim(json!({})), claim(json!({})));
    let facts = super::super::Facts { complete: false, ..run.facts() };
    let rules =
        super::super::RuleSet::builtin().unwrap().under(Policy { waivers: vec![waiver("names: other", None)], ..Policy::default() });
    let found = super::super::judge(&facts, &rules).unwrap().findings;
    assert!(of_rule(&found, "suppression-unused").is_empty());
}

#[test]
fn what_the_change_waives_itself_is_shown_and_counts_where_that_is_allowed() {
    let of_this_change = || vec![Waiver { of_this_change: true, ..waiver("names: data", None) }];
    let found = under(Policy { waivers: of_this_change(), ..Policy::default() });
    let shown = of_rule(&found, "prune-persistent-data")[0];
    assert!(shown.suppressed.is_none() && shown.help.contains("Suppressed by this change (\"a cache\")"), "{}", shown.help);
    let found = under(Policy { waivers: of_this_change(), counts_of_this_change: true, ..Policy::default() });
    let counted = of_rule(&found, "prune-persistent-data")[0].suppressed.clone().unwrap();
    assert_eq!(counted.reason, "suppressed by this change: a cache");
}

#[test]
fn an_annotation_that_the_change_adds_is_shown_only() {
    let edited = changed(
        claim(json!({})),
        claim(json!({ANNOTATION: "pvc-unprotected: a cache"})),
        claim(json!({})),
        Action::Update,
        Reason::Differs { fields: 1 },
    );
    let found = Run { plans: vec![plan("a", vec![edited])], ..Run::default() }.judge(&["pvc-unprotected"]);
    assert!(found[0].suppressed.is_none() && found[0].help.contains("Suppressed by this change"), "{}", found[0].help);
}

#[test]
fn the_baseline_suppresses_what_it_knows_and_says_since_when() {
    let known = under(Policy::default());
    let baseline = Baseline::of(of_rule(&known, "prune-persistent-data"), &Baseline::default(), "2026-11-01".parse().unwrap());
    let found = under(Policy { baseline: baseline.clone(), ..Policy::default() });
    let waived = of_rule(&found, "prune-persistent-data")[0].suppressed.clone().unwrap();
    assert_eq!((waived.by, waived.reason.as_str()), ("baseline", "in the baseline since 2026-11-01 (29 days)"));
    let nothing = Run::default().under(Policy { baseline, ..Policy::default() }).findings;
    assert!(of_rule(&nothing, "suppression-unused")[0].message.starts_with("1 of 1 findings of .presync-baseline.json"));
}

#[test]
fn an_annotation_that_cannot_count_is_a_mistake() {
    let with = |text: &str| {
        let change = added(claim(json!({ANNOTATION: text, "argocd.argoproj.io/sync-options": "Prune=false,Delete=false"})));
        let found = Run { plans: vec![plan("a", vec![change])], ..Run::default() }.under(Policy::default()).findings;
        found.into_iter().filter(|finding| &*finding.rule == "suppression-unused").collect::<Vec<_>>()
    };
    let found = with("prune-persistant-data: a cache");
    assert_eq!((found[0].severity, found[0].introduced), (Severity::Warning, true));
    assert!(found[0].message.contains("`prune-persistant-data`, which is no rule"), "{}", found[0].message);
    assert!(with("pvc-unprotected")[0].message.contains("gives no reason"));
    let idle = with("pvc-unprotected: a cache, filled again");
    assert_eq!(idle.len(), 1);
    assert_eq!((idle[0].severity, idle[0].introduced), (Severity::Info, false));
}

#[test]
fn a_comment_that_cannot_count_is_a_mistake() {
    let comment = |rule: &str, reason: &str| WaiverComment {
        origin: origin("apps/a.yaml", Side::Head),
        rules: vec![rule.to_owned()],
        reason: reason.to_owned(),
        introduced: true,
    };
    let comments = vec![comment("pvc-unprotected", "fine"), comment("pvc-unprotected", ""), comment("nothing", "fine")];
    let found = Run { comments, ..Run::default() }.under(Policy::default()).findings;
    let messages: Vec<_> = found.iter().map(|finding| (finding.severity, finding.message.as_str())).collect();
    assert_eq!(
        messages,
        [
            (Severity::Warning, "the comment in apps/a.yaml gives no reason for pvc-unprotected, and does not count"),
            (Severity::Warning, "the comment in apps/a.yaml names `nothing`, which is no rule"),
        ]
    );
}
