//! Tests of the formats for other programs and for pull requests.

use quick_xml::events::Event;
use serde_json::{Value, json};

use super::sample::{Sample, change, every_action, field, finding, location, plan, snapshot, suppression};
use super::{every_mode, json_of, schema, two_files};
use crate::finding::{Finding, Severity, Unjudged};
use crate::manifest::{ResourceKey, Side};
use crate::plan::reason::LiveCopy;
use crate::plan::{Action, Change, Dependent, Reason, SyncMode, Tie};
use crate::report::applications::Node;
use crate::report::{FileLinks, Report, RuleText, Setting, github, gitlab, html, junit, markdown, plan_text, sarif, text};

type Writer = fn(&Report<'_>, &mut dyn std::io::Write) -> std::io::Result<()>;

fn written(write: Writer, sample: &Sample) -> String {
    let mut out = Vec::new();
    write(&sample.report(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn parsed(write: Writer, sample: &Sample) -> Value {
    serde_json::from_str(&written(write, sample)).unwrap()
}

fn links() -> Setting {
    Setting {
        files: Some(FileLinks {
            repository: "https://github.test/platform/fleet".to_owned(),
            view: "blob",
            base: "b".repeat(40),
            head: Some("a".repeat(40)),
        }),
        complete: Some("https://github.test/platform/fleet/actions/runs/7".to_owned()),
        now: "2026-11-30T12:00:00Z".parse().ok(),
        elapsed: Some(std::time::Duration::from_millis(1234)),
    }
}

fn rule(id: &str) -> RuleText {
    RuleText {
        id: id.to_owned(),
        severity: Severity::Error,
        summary: "A claim is deleted".to_owned(),
        why: "Its data goes with it.".to_owned(),
        help: "Keep the manifest.".to_owned(),
        references: vec!["https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reclaiming".to_owned()],
    }
}

/// Findings of every severity, one suppressed, one without a place, one of a rule that nothing describes.
fn findings() -> Sample {
    let mut sample = two_files();
    let mut warning = finding("A warning.", "");
    warning.severity = Severity::Warning;
    warning.rule = "team/own".into();
    warning.application = None;
    warning.resource = None;
    let mut info = finding("An info.", "Read it.");
    (info.severity, info.assumed, info.introduced) = (Severity::Info, true, false);
    let mut suppressed = finding("A known one.", "");
    suppressed.suppressed = Some(suppression());
    sample.findings.extend([warning, info, suppressed]);
    sample.plans = every_mode().plans;
    sample.snapshots = vec![snapshot()];
    sample.notes = vec!["a note".to_owned()];
    sample.unjudged = every_mode().unjudged;
    sample.rules = vec![rule("another"), rule("prune-persistent-data"), rule("replicas-owned-by-autoscaler")];
    sample.setting = links();
    sample
}

fn many(count: usize, severity: Severity) -> Vec<Finding> {
    (0..count).map(|number| Finding { severity, ..finding(&format!("Finding {number} of many."), "Do something about it.") }).collect()
}

#[test]
fn annotations_have_place_title_and_message() {
    let lines = written(github::write, &two_files());
    assert_eq!(
        lines,
        "::error file=apps/shop/web.yaml,line=8,endLine=8,col=3,endColumn=14,title=presync%3A replicas-owned-by-autoscaler::Deployment \
         shop/web sets replicas: 2 in Git while HorizontalPodAutoscaler shop/web scales it (live 7) and bookshop self-heals: each scale-up is \
         reverted.%0ARemove replicas, or ignore /spec/replicas with RespectIgnoreDifferences=true.\n"
    );
}

#[test]
fn annotation_of_what_left_git_names_no_line_of_the_new_text() {
    let mut gone = finding("100% gone.", "");
    gone.locations = vec![location(Side::Base, "a,b:c.yaml", "kind: Pod\nname: x\n", "name", "")];
    let lines = written(github::write, &Sample::of_finding(gone, &[]));
    assert_eq!(lines, "::error file=a%2Cb%3Ac.yaml,title=presync%3A prune-persistent-data::100%25 gone.%0A(line 2 before the change)\n");
}

#[test]
fn no_more_annotations_than_github_shows_and_the_last_counts_the_rest() {
    let mut sample = findings();
    sample.findings.extend(many(30, Severity::Warning));
    let lines = written(github::write, &sample);
    let of = |command: &str| lines.lines().filter(|line| line.starts_with(&format!("::{command} "))).count();
    assert_eq!((of("error"), of("warning"), of("notice"), lines.lines().count()), (1, 10, 1, 12));
    assert!(lines.starts_with("::error "), "{lines}");
    assert!(lines.contains("::warning title=presync::22 more warnings are not annotated"), "{lines}");
    assert!(!lines.contains("A known one."));
}

#[test]
fn lines_between_are_no_commands_and_the_word_is_new_each_time() {
    let fenced = || {
        let mut out = Vec::new();
        github::write_fenced(&mut out, |out| writeln!(out, "::error::injected")).unwrap();
        String::from_utf8(out).unwrap()
    };
    let (one, two) = (fenced(), fenced());
    let word = one.lines().next().unwrap().strip_prefix("::stop-commands::").unwrap();
    assert_eq!(one, format!("::stop-commands::{word}\n::error::injected\n::{word}::\n"));
    assert!(word.len() > 30 && !two.contains(word));
}

#[test]
fn sarif_follows_the_official_schema() {
    let schema = schema::read("tests/data/sarif-schema-2.1.0.json");
    for sample in [findings(), every_mode(), Sample::empty(), hostile()] {
        let log = parsed(sarif::write, &sample);
        let found = schema::problems(&schema, &log, false);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn sarif_has_rules_places_suppressions_and_fingerprints() {
    let sample = findings();
    let log = parsed(sarif::write, &sample);
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: Vec<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["prune-persistent-data", "replicas-owned-by-autoscaler"]);
    assert!(rules[0]["helpUri"].as_str().unwrap().ends_with("/docs/rules/prune-persistent-data.md"));
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    let first = &results[0];
    assert_eq!((&first["ruleIndex"], &first["level"]), (&json!(1), &json!("error")));
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "apps/shop/web.yaml");
    assert_eq!(place["region"], json!({"startLine": 8, "startColumn": 3, "endLine": 8, "endColumn": 14}));
    assert_eq!(first["relatedLocations"][0]["message"]["text"], "at least 3 (before the change)");
    let fingerprint = sample.findings[0].fingerprint();
    assert_eq!(first["partialFingerprints"]["presync/v1"], fingerprint);
    assert_eq!(json_of(&sample)["findings"][0]["fingerprint"], fingerprint);
    assert_eq!(results[1].get("ruleIndex"), None);
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], ".");
    assert_eq!(results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "argocd/bookshop.yaml");
    assert_eq!(results[2]["level"], "note");
    assert_eq!(results[0]["suppressions"], json!([]));
    assert_eq!(results[3]["suppressions"][0], json!({"kind": "external", "status": "accepted", "justification": "test data only"}));
    assert_eq!(run["versionControlProvenance"][0]["revisionId"], "a".repeat(40));
    assert!(
        run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
            .as_str()
            .unwrap()
            .starts_with("not judged: Application argocd/charts")
    );
}

#[test]
fn json_follows_its_published_schema_which_names_every_member() {
    let schema = schema::read("docs/schema/report-v1.schema.json");
    let full = Sample { plans: vec![plan("all", SyncMode::Automated, tree())], ..every_mode() };
    for sample in [findings(), every_mode(), Sample::empty(), full, hostile()] {
        let report = json_of(&sample);
        let found = schema::problems(&schema, &report, true);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn junit_has_a_suite_for_each_application_and_a_failure_for_what_fails() {
    let (counts, text) = junit_counts(&findings());
    assert_eq!(
        counts,
        [("failure", 1), ("skipped", 3), ("system-out", 2), ("testcase", 14), ("testsuite", 10)]
            .map(|(name, count)| (name.to_owned(), count))
    );
    assert!(text.contains("<testsuites name=\"presync\" tests=\"14\" failures=\"1\" errors=\"0\">"), "{text}");
    assert!(text.contains("<testsuite name=\"repository\" tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\">"), "{text}");
    let strict = Sample { strict: true, fail_on: None, ..findings() };
    assert_eq!(junit_counts(&strict).0[0], ("failure".to_owned(), 2));
}

/// How often each element occurs, in well-formed XML.
fn junit_counts(sample: &Sample) -> (Vec<(String, usize)>, String) {
    let text = written(junit::write, sample);
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut counts = std::collections::BTreeMap::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(element) | Event::Empty(element) => {
                element.attributes().for_each(|attribute| assert!(attribute.is_ok()));
                let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
                *counts.entry(name).or_insert(0) += 1;
            }
            _ => {}
        }
    }
    counts.remove("testsuites");
    (counts.into_iter().collect(), text)
}

#[test]
fn gitlab_gets_a_path_a_line_and_a_fingerprint_of_its_own_for_each() {
    let mut sample = findings();
    sample.findings.push(finding("An info.", ""));
    let issues = parsed(gitlab::write, &sample);
    let issues = issues.as_array().unwrap();
    assert_eq!(issues.len(), 4);
    assert_eq!(issues[0]["location"], json!({"path": "apps/shop/web.yaml", "lines": {"begin": 8, "end": 8}}));
    assert_eq!(
        (&issues[0]["severity"], &issues[1]["severity"], &issues[2]["severity"]),
        (&json!("critical"), &json!("major"), &json!("info"))
    );
    assert_eq!(issues[0]["fingerprint"], sample.findings[0].fingerprint());
    let own: std::collections::BTreeSet<&str> = issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(own.len(), 4);
}

/// Every action, with a tree of two levels.
fn tree() -> Vec<Change> {
    let below = |depth, name: &str| Dependent { depth, ..Dependent::direct(ResourceKey::new("", "Pod", "shop", name), Tie::Owned, None) };
    let mut changes = every_action();
    changes[8].cascade = vec![below(1, "a"), below(2, "a1"), below(3, "a11"), below(2, "a2"), below(1, "b")];
    changes[8].stays = vec![below(1, "c")];
    changes
}

fn node(name: &str, children: Vec<Node>) -> Node {
    Node {
        kind: "Application",
        namespace: "argocd".to_owned(),
        name: name.to_owned(),
        change: "unchanged",
        reason: None,
        fields: Vec::new(),
        parameters: None,
        children,
    }
}

fn for_a_pull_request() -> Sample {
    let mut sample = findings();
    sample.plans.retain(|plan| &*plan.application.id.name != "bookshop");
    sample.plans.insert(0, plan("bookshop", SyncMode::Automated, tree()));
    let set = Node { kind: "ApplicationSet", ..node("tenants", vec![node("cart", Vec::new()), node("elsewhere", Vec::new())]) };
    sample.tree = vec![node("root", vec![node("bookshop", Vec::new()), set]), node("untouched", vec![node("other", Vec::new())])];
    sample
}

#[test]
fn markdown_for_a_pull_request_reads_like_this() {
    insta::assert_snapshot!(written(markdown::write, &for_a_pull_request()));
}

#[test]
fn markdown_turns_green_and_says_what_was_not_affected() {
    let text = written(markdown::write, &Sample::empty());
    assert!(text.starts_with("<!-- presync:report -->\n## ✅ presync passed\n"), "{text}");
    assert!(text.contains("No Application that presync found is affected"), "{text}");
}

#[test]
fn markdown_leaves_out_the_longest_diffs_and_says_so() {
    let mut sample = for_a_pull_request();
    let lines = |count: usize, word: &str| json!((0..count).map(|line| format!("{word} {line} {}\n", "x".repeat(100))).collect::<String>());
    let update = |order: usize, fields: usize| {
        let mut update = change(order, Action::Update, "ConfigMap", &format!("config-{order}"), Reason::Differs { fields });
        update.diff = (0..fields).map(|number| field(&format!("/data/{number}"), Some(lines(9, "old")), Some(lines(9, "new")))).collect();
        update
    };
    sample.plans.push(plan("large", SyncMode::Automated, (1..=29).map(|order| update(order, order)).collect()));
    let text = written(markdown::write, &sample);
    let length = text.encode_utf16().count();
    assert!((45_000..=65_000).contains(&length), "{length}");
    let left_out = text.matches("*(left out here)*").count();
    assert!(text.contains(&format!("{left_out} objects' differing fields and trees")), "{text}");
    assert!(text.contains("[complete report](https://github.test/platform/fleet/actions/runs/7)"), "{text}");
    assert!(text.contains("/data/0 @@") && !text.contains("/data/28 @@"), "the longest go first");
    for order in 1..=29 {
        assert!(text.contains(&format!("- **update** `ConfigMap shop/config-{order}`")), "{order}");
    }
    for finding in sample.findings.iter().filter(|finding| finding.suppressed.is_none()) {
        assert!(text.contains(finding.message.split(' ').next().unwrap()));
    }
}

#[test]
fn markdown_names_every_finding_of_hundreds_and_stays_short() {
    let mut sample = Sample { findings: many(300, Severity::Error), ..Sample::empty() };
    let text = written(markdown::write, &sample);
    assert!(text.encode_utf16().count() <= 65_000);
    assert!((0..300).all(|number| text.contains(&format!("Finding {number} of many."))));
    sample.findings = many(5000, Severity::Error);
    let text = written(markdown::write, &sample);
    assert!(text.encode_utf16().count() <= 65_000);
    assert!(text.contains("### ❌ 5000 errors") && text.contains("more, which there is no room for here"), "{text}");
}

#[test]
fn a_page_of_html_reads_like_this() {
    let page = written(html::write, &for_a_pull_request());
    let (head, body) = page.split_once("</style>").unwrap();
    assert!(head.contains("script-src 'sha256-") && !page.contains("http-equiv=\"refresh\""));
    let body = body.split_once("<script>").unwrap().0;
    insta::assert_snapshot!(body);
}

#[test]
fn html_takes_nothing_from_the_network() {
    let page = written(html::write, &for_a_pull_request());
    for element in ["<link", "<img", "<iframe", "src=", "@import", "url("] {
        assert!(!page.contains(element), "{element}");
    }
}

/// Text that tries to be something else in every format.
const HOSTILE: &str = "x\n::error::injected\r\n##[error]injected\n# injected\n</code></details><script>alert(1)</script><!-- --><img src=x onerror=alert(1)> ``` `` \
     \u{1b}[31m\u{9b}2J \u{202e}rtl\u{2066} \u{0} @team #1 [a](https://evil.test) ![b](https://evil.test) | *c* ]]> \" ' & %0A\\ $x$ www.evil.test";

/// A report in which every text is hostile.
fn hostile() -> Sample {
    let key = ResourceKey::new(HOSTILE, HOSTILE, HOSTILE, HOSTILE);
    let mut updated = change(1, Action::Update, HOSTILE, HOSTILE, Reason::Hook { live_copy: LiveCopy::DeletedFirst });
    updated.key = key.clone();
    updated.cluster = Some(HOSTILE.into());
    updated.version = HOSTILE.into();
    updated.diff = vec![
        field(HOSTILE, Some(json!(HOSTILE)), Some(json!({HOSTILE: [HOSTILE]}))),
        field(HOSTILE, Some(json!("a\nb")), Some(json!(HOSTILE))),
    ];
    updated.diff[0].owner = Some(HOSTILE.to_owned());
    updated.diff[0].owner_time = Some(HOSTILE.to_owned());
    let dependent = Dependent { cluster: Some(HOSTILE.into()), ..Dependent::direct(key.clone(), Tie::Owned, Some(HOSTILE.to_owned())) };
    updated.cascade = vec![dependent.clone()];
    updated.stays = vec![dependent];
    let mut finding = finding(HOSTILE, HOSTILE);
    finding.rule = HOSTILE.into();
    finding.application = Some(HOSTILE.to_owned());
    finding.resource = Some(key);
    finding.locations =
        vec![location(Side::Head, HOSTILE, HOSTILE, "injected", HOSTILE), location(Side::Base, HOSTILE, HOSTILE, "injected", HOSTILE)];
    let mut waived = finding.clone();
    waived.suppressed = Some(crate::finding::Suppression { by: "comment", reason: HOSTILE.to_owned(), expires: Some(HOSTILE.to_owned()) });
    let mut sample = Sample::of_finding(finding, &[(Side::Head, HOSTILE, HOSTILE), (Side::Base, HOSTILE, HOSTILE)]);
    sample.findings.push(waived);
    let mut hostile_plan = plan(HOSTILE, SyncMode::Manual, vec![updated]);
    hostile_plan.sync.reason = HOSTILE.to_owned();
    hostile_plan.server = HOSTILE.into();
    hostile_plan.conditions.push(crate::plan::Condition { kind: "Warning", message: HOSTILE.to_owned(), key: None, origin: None });
    sample.plans = vec![hostile_plan, plan("b", SyncMode::Automated, Vec::new()), plan("c", SyncMode::Automated, Vec::new())];
    sample.tree = vec![node(HOSTILE, vec![node("b", Vec::new())])];
    sample.unjudged = vec![Unjudged { application: Some(HOSTILE.to_owned()), what: HOSTILE.to_owned(), why: HOSTILE.to_owned() }];
    sample.notes = vec![HOSTILE.to_owned()];
    sample.snapshots =
        vec![crate::snapshot::SnapshotSource { source: HOSTILE.to_owned(), captured_at: Some(HOSTILE.to_owned()), ..snapshot() }];
    sample.rules = vec![rule("prune-persistent-data")];
    sample.setting = links();
    sample.all = true;
    sample
}

/// Nothing that a terminal or a reader's eye acts upon is left in a text.
fn assert_calm(text: &str) {
    let acting = text.chars().find(|c| {
        (c.is_control() && *c != '\n')
            || ('\u{200b}'..='\u{2069}').contains(c) && *c != '\u{2026}' && !('\u{2010}'..='\u{2027}').contains(c)
    });
    assert_eq!(acting, None, "{text}");
}

#[test]
fn hostile_text_stays_text_on_a_terminal() {
    let style = crate::report::Style::default();
    let mut out = Vec::new();
    text::write(&hostile().report(), style, &mut out).unwrap();
    plan_text::write(&hostile().report(), style, &mut out).unwrap();
    let printed = String::from_utf8(out).unwrap();
    assert_calm(&printed);
}

#[test]
fn hostile_text_stays_text_in_annotations() {
    let lines = written(github::write, &hostile());
    assert_calm(&lines);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let (properties, message) = lines.strip_prefix("::error ").unwrap().split_once("::").unwrap();
    assert!(
        properties.ends_with("%0A\\ $x$ www.evil.test") || properties.split(',').all(|property| property.contains('=')),
        "{properties}"
    );
    assert!(!properties.contains(':'), "{properties}");
    assert!(message.contains("%250A"), "{message}");
}

#[test]
fn hostile_text_stays_text_in_markdown() {
    let text = written(markdown::write, &hostile());
    assert_calm(&text);
    let visible = without_code(&text);
    for (at, _) in visible.match_indices("](").filter(|(at, _)| !visible[..*at].ends_with('\\')) {
        assert!(visible[at + 2..].starts_with("https://github."), "{visible}");
    }
    let targets = regex::Regex::new(r"\]\(https://github\.[^)\s]*\)").unwrap();
    let visible = targets.replace_all(&visible, "]");
    for markup in ["<script", "<img", "https://evil", "www.evil", "@team", "#1 ", "\n# ", "\n::", "*c*", "$x$"] {
        assert!(!visible.contains(markup), "{markup}: {visible}");
    }
    let count = |element: &str| visible.matches(element).count();
    assert_eq!(count("<details>"), count("</details>"), "{visible}");
    assert_eq!((count("<details>"), count("<summary>")), (5, 5), "{visible}");
}

/// Markdown without fenced blocks and code spans.
fn without_code(text: &str) -> String {
    let mut visible = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let run = &trimmed[..trimmed.len() - trimmed.trim_start_matches('`').len()];
        match fence {
            Some(open) if run.len() >= open.len() && trimmed == run => fence = None,
            Some(_) => {}
            None if run.len() >= 3 && !trimmed[run.len()..].contains('`') => fence = Some(run),
            // A line of HTML holds no Markdown; GitHub looks for mentions and links outside of `code` only.
            None if line.starts_with("<details>") => visible += &format!("{}\n", without_code_elements(line)),
            None => visible += &format!("{}\n", without_spans(line)),
        }
    }
    assert_eq!(fence, None, "a fence is left open: {text}");
    visible
}

fn without_code_elements(line: &str) -> String {
    let parts = line.split("<code>").enumerate().map(|(index, part)| if index == 0 { part } else { part.split_once("</code>").unwrap().1 });
    parts.collect()
}

fn without_spans(line: &str) -> String {
    let mut visible = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let escaped = rest[..at].ends_with('\\');
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        visible += &rest[..at];
        if escaped {
            rest = &rest[at + 1..];
            continue;
        }
        let after = &rest[at + run..];
        let mut from = 0;
        let end = loop {
            let Some(next) = after[from..].find('`').map(|next| from + next) else { break None };
            let length = after[next..].len() - after[next..].trim_start_matches('`').len();
            if length == run {
                break Some(next + length);
            }
            from = next + length;
        };
        let Some(end) = end else { panic!("a code span is left open: {line}") };
        rest = &after[end..];
    }
    visible + rest
}

#[test]
fn hostile_text_stays_text_in_the_formats_of_programs() {
    for write in [crate::report::json::write as Writer, sarif::write, gitlab::write] {
        let text = written(write, &hostile());
        assert_calm(&text);
        assert!(!text.contains("</script") && !text.contains("<!--"), "{text}");
        serde_json::from_str::<Value>(&text).unwrap();
    }
    assert_eq!(json_of(&hostile())["findings"][0]["message"], HOSTILE);
    let log = parsed(sarif::write, &hostile());
    let message = log["runs"][0]["results"][0]["message"]["text"].as_str().unwrap();
    assert!(message.contains(r"\[a\](https://evil.test)") && !message.contains('\n'), "{message}");
}

#[test]
fn hostile_text_stays_text_in_xml() {
    let (counts, text) = junit_counts(&hostile());
    assert_calm(&text);
    assert_eq!(counts, [("failure", 1), ("skipped", 2), ("testcase", 6), ("testsuite", 4)].map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn hostile_text_stays_text_in_html() {
    let page = written(html::write, &hostile());
    let body = page.split_once("</style>").unwrap().1;
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert!(!body.contains("<img") && !body.contains("<!--"));
    let (content, _) = body.split_once("<script>").unwrap();
    assert_calm(&content.replace('\t', " "));
    for element in ["details", "section", "article", "summary", "pre", "code", "table", "li", "p", "span", "a"] {
        let count = |start: String| content.matches(&start).count();
        assert_eq!(count(format!("<{element}>")) + count(format!("<{element} ")), count(format!("</{element}>")), "{element}");
    }
    // Attributes are quoted, and no quote of a value ends them.
    assert!(!content.contains("onerror=alert(1)>"), "{content}");
}
