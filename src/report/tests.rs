//! Tests of the formats: what people read, as snapshots.

mod formats;
mod json;
mod sample;
mod schema;

use serde_json::{Value, json};

use super::{Report, Style, json as json_report, plan_text, text};
use crate::finding::{Finding, Severity, Unjudged};
use crate::manifest::{ResourceKey, Side};
use crate::plan::{Action, AppChange, Basis, Condition, Reason, SyncMode, Tie};
use sample::{Sample, change, dependent, every_action, field, finding, location, origin, plan, snapshot, suppression};

const DEPLOYMENT: &str = "# the web server
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.example.test/web:1.4
          resources:
            limits: {memory: 256Mi}
";
const AUTOSCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 9
";

fn checked_with(report: &Report<'_>, style: Style) -> String {
    let mut out = Vec::new();
    text::write(report, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn checked(sample: &Sample) -> String {
    checked_with(&sample.report(), Style::default())
}

fn planned_with(report: &Report<'_>, style: Style) -> String {
    let mut out = Vec::new();
    plan_text::write(report, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn planned(sample: &Sample) -> String {
    planned_with(&sample.report(), Style::default())
}

fn json_bytes(sample: &Sample) -> Vec<u8> {
    let mut out = Vec::new();
    json_report::write(&sample.report(), &mut out).unwrap();
    out
}

fn json_of(sample: &Sample) -> Value {
    serde_json::from_slice(&json_bytes(sample)).unwrap()
}

/// The text without colours.
fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain + rest
}

fn two_places_in_one_file() -> Sample {
    let path = "apps/shop/web.yaml";
    let mut finding = finding(
        "Deployment shop/web sets replicas: 2 in Git while HorizontalPodAutoscaler shop/web scales it (live 7) and bookshop self-heals: each \
         scale-up is reverted.",
        "Remove replicas, or ignore /spec/replicas with RespectIgnoreDifferences=true.",
    );
    finding.rule = "replicas-owned-by-autoscaler".into();
    finding.resource = Some(ResourceKey::new("apps", "Deployment", "shop", "web"));
    finding.locations = vec![
        location(Side::Head, path, DEPLOYMENT, "replicas: 2", "Git wants 2"),
        location(Side::Head, path, DEPLOYMENT, "image: registry.example.test/web:1.4", "what is scaled"),
    ];
    finding.fixable = true;
    Sample::of_finding(finding, &[(Side::Head, path, DEPLOYMENT)])
}

fn two_files() -> Sample {
    let mut sample = two_places_in_one_file();
    sample.findings[0].locations.truncate(1);
    sample.findings[0].locations.push(location(Side::Base, "apps/shop/hpa.yaml", AUTOSCALER, "minReplicas: 3", "at least 3"));
    sample.texts.insert((Side::Base, "apps/shop/hpa.yaml".into()), AUTOSCALER.into());
    sample
}

fn every_mode() -> Sample {
    let mut changed = plan("web", SyncMode::Automated, vec![change(1, Action::Create, "ConfigMap", "flags", Reason::NotLive)]);
    changed.change = AppChange::Added;
    changed.basis = Basis::Assumed;
    let removed = vec![
        change(1, Action::Delete, "Service", "cart", Reason::Cascade),
        change(2, Action::Orphan, "PersistentVolumeClaim", "cart", Reason::KeptOnDeletion { because: "Delete=false" }),
    ];
    let mut deleted = plan("cart", SyncMode::Deleted, removed);
    deleted.change = AppChange::Removed;
    let mut quiet = plan("quiet", SyncMode::Automated, vec![change(1, Action::None, "Service", "quiet", Reason::InSync)]);
    quiet.sync.self_heal = true;
    quiet.conditions.push(Condition {
        kind: "RepeatedResourceWarning",
        message: "Service shop/quiet appears 2 times among application resources.".to_owned(),
        key: Some(ResourceKey::new("", "Service", "shop", "quiet")),
        origin: Some(origin("apps/quiet/service.yaml", 1, Side::Head)),
    });
    let never = vec![change(1, Action::Prune, "Service", "never", Reason::RemovedFromGit { automated: true })];
    Sample {
        plans: vec![
            plan("blocked", SyncMode::Blocked, vec![change(1, Action::Update, "Service", "b", Reason::Differs { fields: 1 })]),
            plan("bookshop", SyncMode::Automated, every_action()),
            deleted,
            plan("gone", SyncMode::Error, never.clone()),
            plan("manual", SyncMode::Manual, vec![change(1, Action::Leftover, "Service", "m", Reason::ManualSync)]),
            quiet,
            plan("refused", SyncMode::Refused, never),
            changed,
        ],
        unjudged: vec![
            Unjudged {
                application: Some("argocd/charts".to_owned()),
                what: "source 1".to_owned(),
                why: "it is a Helm chart, and Helm charts are not rendered".to_owned(),
            },
            Unjudged { application: None, what: "ApplicationSet argocd/tenants".to_owned(), why: "generators are not run".to_owned() },
        ],
        snapshots: vec![snapshot()],
        notes: vec!["the base is the merge base of the working tree and origin/main".to_owned()],
        ..Sample::empty()
    }
}

#[test]
fn check_shows_every_mode_and_what_was_not_judged() {
    insta::assert_snapshot!(checked(&every_mode()));
}

#[test]
fn plan_shows_every_mode() {
    insta::assert_snapshot!(planned(&every_mode()));
}

#[test]
fn plan_lists_objects_in_sync_only_with_all() {
    let mut sample = Sample::of_changes(every_action());
    assert!(!planned(&sample).contains("ServiceAccount shop/web"));
    sample.all = true;
    assert!(planned(&sample).contains("= none     ServiceAccount shop/web"));
    assert_eq!(json_of(&sample)["applications"][0]["changes"].as_array().unwrap().len(), 15);
    sample.all = false;
    assert_eq!(json_of(&sample)["applications"][0]["changes"].as_array().unwrap().len(), 14);
}

#[test]
fn plan_without_a_second_phase_or_wave_has_no_step_headings() {
    let sample = Sample::of_changes(vec![
        change(1, Action::Create, "ConfigMap", "flags", Reason::NotLive),
        change(2, Action::Update, "Service", "web", Reason::Differs { fields: 1 }),
        change(3, Action::Leftover, "Service", "old", Reason::PruneOff),
    ]);
    insta::assert_snapshot!(planned(&sample));
}

#[test]
fn plan_draws_lines_long_values_and_redacted_values() {
    let config = |port: u32| format!("[server]\nhost = shop\nport = {port}\ntimeout = 30\n[log]\nlevel = info\n");
    let image = |tag: &str| format!("registry.example.test/{}/web:{tag}", "team-".repeat(20));
    let middle = |colour: &str| format!("{}-{colour}-{}", "a".repeat(400), "z".repeat(400));
    let many = |count: usize, word: &str| (0..count).map(|line| format!("{word} {line}\n")).collect::<String>();
    let mut update = change(1, Action::Update, "ConfigMap", "web", Reason::Differs { fields: 7 });
    update.diff = vec![
        field("/data/server.ini", Some(json!(config(80))), Some(json!(config(8080)))),
        field("/data/long.txt", Some(json!(many(30, "old"))), Some(json!(many(2, "new")))),
        field("/data/gone.txt", Some(json!("one line\n")), None),
        field("/spec/template/spec/containers/0/image", Some(json!(image("1.4"))), Some(json!(image("1.5")))),
        field("/data/middle", Some(json!(middle("red"))), Some(json!(middle("blue")))),
        field("/spec/tolerations", None, Some(json!([{"key": "dedicated", "operator": "Exists"}]))),
        field("/data/password", Some(json!("(redacted)")), Some(json!("(redacted, changed)"))),
    ];
    insta::assert_snapshot!(planned(&Sample::of_changes(vec![update])));
}

#[test]
fn plan_shortens_long_lists_unless_all_are_asked_for() {
    let mut prune = change(1, Action::Prune, "Namespace", "shop", Reason::RemovedFromGit { automated: true });
    prune.cascade = (0..45).map(|index| dependent("Secret", &format!("s{index}"), Tie::InNamespace, None)).collect();
    prune.diff = (0..33).map(|index| field(&format!("/data/{index}"), None, Some(json!(index)))).collect();
    let mut sample = Sample::of_changes(vec![prune]);
    let short = planned(&sample);
    assert!(short.contains("└─ 25 more objects go along (--all lists them)"), "{short}");
    assert!(short.contains("3 more fields differ (--all lists them)"), "{short}");
    sample.all = true;
    let long = planned(&sample);
    assert!(long.contains("└─ Secret shop/s44 (in the namespace)") && long.contains("/data/32"), "{long}");
}

#[test]
fn plan_gives_long_names_their_own_line() {
    let name = "a-very-long-name-".repeat(14);
    let sample = Sample::of_changes(vec![
        change(1, Action::Create, "ConfigMap", "flags", Reason::NotLive),
        change(2, Action::Prune, "networking.k8s.io/NetworkPolicy", &name, Reason::RemovedFromGit { automated: true }),
    ]);
    insta::assert_snapshot!(planned(&sample));
}

#[test]
fn closing_line_of_the_plan_names_the_application_that_goes_or_all_of_them() {
    let deleted = |name: &str| plan(name, SyncMode::Deleted, vec![change(1, Action::Delete, "Service", name, Reason::Cascade)]);
    let last = |plans: Vec<_>| planned(&Sample { plans, ..Sample::empty() }).lines().last().unwrap().to_owned();
    assert_eq!(last(vec![deleted("a")]), "Plan: 1 deleted with Application argocd/a");
    assert_eq!(last(vec![deleted("a"), deleted("b")]), "Plan: 2 deleted with their Applications");
    assert_eq!(last(Vec::new()), "Plan: nothing to do; 0 Applications affected");
    assert_eq!(last(vec![plan("a", SyncMode::Automated, Vec::new())]), "Plan: nothing to do");
}

#[test]
fn finding_with_two_places_in_one_file_is_drawn_once() {
    insta::assert_snapshot!(checked(&two_places_in_one_file()));
}

#[test]
fn finding_with_places_in_two_files_shows_both_and_says_which_is_the_base() {
    insta::assert_snapshot!(checked(&two_files()));
}

#[test]
fn finding_without_a_place_has_headline_and_help_only() {
    let mut sample = Sample::of_finding(finding("The claim is deleted by the next automatic sync.", "Keep it."), &[]);
    sample.findings[0].assumed = true;
    sample.findings[0].introduced = false;
    insta::assert_snapshot!(checked(&sample));
}

#[test]
fn finding_whose_text_is_not_at_hand_names_the_place() {
    let mut sample = two_files();
    sample.texts.clear();
    let text = checked(&sample);
    assert!(text.contains("at: apps/shop/web.yaml:8:3 (Git wants 2)"), "{text}");
    assert!(text.contains("at: apps/shop/hpa.yaml:6:3 (base) (at least 3)"), "{text}");
}

#[test]
fn place_that_does_not_lie_in_the_text_is_named_and_does_no_harm() {
    let reversed = std::ops::Range { start: 3, end: 1 };
    for span in [5000..5001, reversed, 19..7000] {
        let mut sample = two_places_in_one_file();
        sample.findings[0].locations.truncate(1);
        sample.findings[0].locations[0].span = span.clone();
        let text = checked(&sample);
        assert!(text.contains("replicas-owned-by-autoscaler") && text.contains("apps/shop/web.yaml:8:3"), "{span:?}: {text}");
    }
}

#[test]
fn many_places_are_cut_short() {
    let mut sample = two_places_in_one_file();
    let place = sample.findings[0].locations[0].clone();
    sample.findings[0].locations = vec![place; 11];
    assert!(checked(&sample).contains("at: 3 more places"));
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let line = format!("{{\"padding\": \"{}\", \"replicas\": 2, \"more\": \"{}\"}}\n", "x".repeat(5000), "y".repeat(5000));
    let mut sample = two_places_in_one_file();
    sample.findings[0].locations = vec![location(Side::Head, "web.json", &line, "\"replicas\": 2", "Git wants 2")];
    sample.texts.insert((Side::Head, "web.json".into()), line.into());
    let text = checked(&sample);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn place_of_several_lines_is_marked_at_its_first_line() {
    let mut sample = two_places_in_one_file();
    sample.findings[0].locations =
        vec![location(Side::Head, "apps/shop/web.yaml", DEPLOYMENT, "metadata:\n  name: web\n  namespace: shop\n", "this object")];
    insta::assert_snapshot!(checked(&sample));
}

#[test]
fn near_places_share_a_window_and_line_breaks_of_windows_do_no_harm() {
    let text = DEPLOYMENT.replace('\n', "\r\n").replace("  selector", "\tselector");
    let mut sample = two_places_in_one_file();
    let at = |needle: &str, label: &str| location(Side::Head, "apps/shop/web.yaml", &text, needle, label);
    sample.findings[0].locations = vec![at("web}", "second"), at("selector", "first"), at("app: ", "on the same line"), at("labels", "")];
    sample.texts.insert((Side::Head, "apps/shop/web.yaml".into()), text.clone().into());
    let drawn = checked(&sample);
    assert!(!drawn.contains('\r'), "{drawn}");
    insta::assert_snapshot!(drawn);
}

#[test]
fn suppressed_findings_count_but_are_shown_only_with_all() {
    let mut sample = two_places_in_one_file();
    sample.findings[0].suppressed = Some(suppression());
    let text = checked(&sample);
    assert!(!text.contains("replicas-owned-by-autoscaler"), "{text}");
    assert!(text.ends_with("no findings (1 suppressed); 0 Applications looked at\ncheck: passed\n"), "{text}");
    sample.all = true;
    insta::assert_snapshot!(checked(&sample));
}

#[test]
fn verdict_says_when_it_is_incomplete_or_never_fails() {
    let last = |sample: &Sample| checked(sample).lines().last().unwrap().to_owned();
    let mut sample = two_places_in_one_file();
    assert_eq!(last(&sample), "check: failed");
    sample.fail_on = None;
    assert_eq!(last(&sample), "check: passed (findings never fail it: --fail-on never)");
    let mut sample = every_mode();
    assert_eq!(last(&sample), "check: passed (incomplete: see \"Not judged\")");
    sample.strict = true;
    assert_eq!(last(&sample), "check: failed (--strict: what could not be judged fails it too)");
}

#[test]
fn nothing_affected_is_said_with_the_reason() {
    insta::assert_snapshot!(checked(&Sample::empty()));
}

#[test]
fn files_that_change_without_effect_are_told_with_the_applications_that_read_them() {
    let mut sample = Sample::empty();
    sample.same = ["orders", "web"].map(|name| crate::argocd::AppId::new("argocd", name)).to_vec();
    let text = checked(&sample);
    assert!(text.contains("What the change touches renders the same as before: argocd/orders, argocd/web."), "{text}");
}

#[test]
fn severities_are_told_apart_and_counted() {
    let mut sample = Sample::empty();
    let of = |severity, message: &str| Finding { severity, ..finding(message, "Do something.") };
    sample.findings =
        vec![of(Severity::Error, "One."), of(Severity::Warning, "Two."), of(Severity::Info, "Three."), of(Severity::Info, "Four.")];
    insta::assert_snapshot!(checked(&sample));
}

#[test]
fn hostile_text_cannot_disturb_the_terminal() {
    let evil = "x\u{1b}[2J\u{202e}\u{9b}31m\r\ny\u{200b}";
    let text = format!("a: b\nkey: {evil} end\nnext: 1\n");
    let mut finding = finding(&format!("Object {evil} goes."), evil);
    finding.rule = evil.into();
    finding.application = Some(evil.to_owned());
    finding.resource = Some(ResourceKey::new(evil, evil, evil, evil));
    finding.locations = vec![location(Side::Head, evil, &text, "key", evil)];
    let mut sample = Sample::of_finding(finding, &[(Side::Head, evil, &text)]);
    let mut change = change(1, Action::Update, "ConfigMap", evil, Reason::UnknownHook { value: evil.to_owned() });
    change.diff = vec![field(evil, Some(json!(evil)), Some(json!({evil: evil})))];
    change.diff[0].owner = Some(evil.to_owned());
    change.cascade = vec![dependent("Secret", evil, Tie::Owned, Some(evil))];
    change.cluster = Some(evil.into());
    let mut plan = plan(evil, SyncMode::Manual, vec![change]);
    plan.sync.reason = evil.to_owned();
    plan.server = evil.into();
    sample.plans = vec![plan];
    sample.unjudged = vec![Unjudged { application: Some(evil.to_owned()), what: evil.to_owned(), why: evil.to_owned() }];
    sample.notes = vec![evil.to_owned()];
    for all in [false, true] {
        sample.all = all;
        for text in [checked(&sample), planned(&sample)] {
            let harmful = text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{200b}'));
            assert_eq!(harmful, None, "{text}");
        }
        sample.findings[0].suppressed = Some(suppression());
    }
    let parsed = json_of(&sample);
    assert_eq!(parsed["findings"][0]["rule"], json!(evil));
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let colour = Style { color: true, ..Style::default() };
    let mut everything = every_mode();
    let with_findings = two_files();
    everything.findings = with_findings.findings;
    everything.texts = with_findings.texts;
    for sample in [everything, two_places_in_one_file()] {
        let report = sample.report();
        for write in [checked_with, planned_with] {
            let plain = write(&report, Style::default());
            let coloured = write(&report, colour);
            assert!(report.plans.is_empty() || coloured.contains("\u{1b}["));
            assert_eq!(without_colour(&coloured), plain);
        }
    }
}

#[test]
fn ascii_is_enough_where_it_must_be() {
    let ascii = Style { unicode: false, ..Style::default() };
    for sample in [every_mode(), two_files(), two_places_in_one_file()] {
        for text in [checked_with(&sample.report(), ascii), planned_with(&sample.report(), ascii)] {
            assert!(text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn lines_stay_within_the_width() {
    for width in [100, 140] {
        let style = Style { width, ..Style::default() };
        for sample in [every_mode(), two_files(), two_places_in_one_file()] {
            for text in [checked_with(&sample.report(), style), planned_with(&sample.report(), style)] {
                let long = text.lines().find(|line| line.chars().count() > width);
                assert_eq!(long, None, "{text}");
            }
        }
    }
}

proptest::proptest! {
    /// Whatever the text and wherever the places: something is drawn, and it is harmless.
    #[test]
    fn any_text_with_any_places_can_be_drawn(
        pieces in proptest::collection::vec("[a-z ]{0,6}|\r|\n|\r\n|\t|é|東|\u{1b}\\[1m|\u{202e}|x{150}", 0..40),
        spans in proptest::collection::vec((0usize..400, 0usize..40, 1u32..60), 1..5),
        unicode in proptest::bool::ANY,
    ) {
        let text = pieces.concat();
        let mut sample = two_places_in_one_file();
        let template = sample.findings[0].locations[0].clone();
        let place = |(start, length, line): &(usize, usize, u32)| crate::finding::Location {
            span: *start..start + length, line: *line, path: "any".into(), ..template.clone()
        };
        sample.findings[0].locations = spans.iter().map(place).collect();
        sample.texts.insert((Side::Head, "any".into()), text.into());
        let drawn = checked_with(&sample.report(), Style { unicode, ..Style::default() });
        proptest::prop_assert!(drawn.contains("replicas-owned-by-autoscaler") && drawn.contains("help: Remove replicas"));
        proptest::prop_assert!(!drawn.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{drawn:?}");
    }
}
