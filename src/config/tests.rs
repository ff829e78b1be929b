use std::fs;
use std::path::Path;

use super::*;
use strsim::levenshtein as distance;

fn parse(text: &str) -> Config {
    Config::parse(FILE, text).unwrap()
}

/// Message, the text that is pointed at, and help of a mistake.
fn mistake(text: &str) -> (String, Option<String>, Option<String>) {
    match Config::parse(FILE, text).unwrap_err() {
        ConfigError::Mistake { message, place, help, .. } => {
            let pointed = place.map(|place| text[place.offset()..place.offset() + place.len()].to_owned());
            (message, pointed, help)
        }
        ConfigError::Unreadable { .. } => panic!("a mistake is expected"),
    }
}

#[test]
fn an_empty_file_sets_nothing() {
    for text in [
        "",
        "# nothing\n",
        "---\n",
        "{}",
        "plugins:\n",
        "plugins: {}\n",
        "rules:\nseverity:\nwaivers: []\nroots:\nsnapshots:\nclusters:\nclones:\n",
    ] {
        assert_eq!(parse(text), Config::default(), "{text:?}");
    }
}

#[test]
fn plugins_are_commands_by_name() {
    let config = parse("plugins:\n  tanka: [tk, show, --dangerous-allow-redirect, .]\n  plain: [/usr/local/bin/plain]\n");
    assert_eq!(config.plugins["tanka"].0, ["tk", "show", "--dangerous-allow-redirect", "."]);
    assert_eq!(config.plugins["plain"].0, ["/usr/local/bin/plain"]);
}

#[test]
fn every_setting_is_read() {
    let config = parse(
        "rules: [./policies/]
severity: {pvc-unprotected: error, image-updater-override: off}
parameters: {mass-prune: {percent: 50}}
include: [{paths: 'clusters/**'}]
exclude: [{kinds: Event}]
environments:
  - {name: prod, match: {paths: clusters/prod/**}, severity: {mass-prune: warning}, parameters: {mass-prune: {atLeast: 1}}}
waivers:
  - {rules: pvc-unprotected, match: {applications: cache-*}, reason: ' a cache ', expires: 2027-01-31}
  - {rules: [a, b], match: {names: x}, reason: y}
suppressions: {ofThisChange: count}
roots: argocd/**
repositoryUrls: ['https://git.example.test/fleet']
snapshots: {sources: ['s3://state/eu'], maxAge: 7d}
clones: [{url: 'https://git.example.test/values', path: ../values}]
clusters: [{name: eu-1, server: 'https://eu-1.example.test', labels: {region: eu}}]
tools: {helm: helm3, kustomize: /opt/kustomize}
",
    );
    assert_eq!(config.rules, [RepoPath("policies".to_owned())]);
    assert_eq!(config.severity["pvc-unprotected"].severity(), Some(Severity::Error));
    assert_eq!(config.severity["image-updater-override"].severity(), None);
    assert_eq!(config.parameters["mass-prune"]["percent"], 50);
    assert_eq!((config.include.len(), config.exclude.len()), (1, 1));
    assert_eq!(config.environments[0].severity["mass-prune"], Level::Warning);
    assert_eq!(config.waivers[0].reason, "a cache");
    assert_eq!(config.waivers[0].expires.unwrap().to_string(), "2027-01-31");
    assert_eq!(config.waivers[1].rules.as_slice(), ["a", "b"]);
    assert_eq!(config.suppressions.of_this_change, OfThisChange::Count);
    assert!(config.roots.any(["argocd/prod/root.yaml"]) && !config.roots.any(["docs/example.yaml"]));
    assert_eq!(config.snapshots.max_age, Some(7 * 86_400));
    assert_eq!((config.clusters[0].name.as_str(), config.clusters[0].labels["region"].as_str()), ("eu-1", "eu"));
    assert_eq!(config.clones[0].path, "../values");
    assert_eq!(config.tools.helm, Some(Program("helm3".to_owned())));
}

#[test]
fn an_unknown_key_is_pointed_at_with_a_suggestion() {
    let (message, place, help) = mistake("# settings\npluigns: {}\n");
    assert_eq!(message, ".presync.yaml:2:1: there is no setting `pluigns`");
    assert_eq!((place.as_deref(), help.as_deref()), (Some("pluigns"), Some("Did you mean `plugins`?")));
    assert!(mistake("colour: {}\n").2.unwrap().starts_with("There are: rules, severity, "));
}

#[test]
fn an_unknown_key_further_down_is_pointed_at_too() {
    let (message, place, help) = mistake("waivers:\n  - rules: a\n    match: {names: x}\n    reason: b\n    expire: 2027-01-01\n");
    assert_eq!(message, ".presync.yaml:5:5: waivers[0]: there is no setting `expire`");
    assert_eq!((place.as_deref(), help.as_deref()), (Some("expire"), Some("Did you mean `expires`?")));
    let (message, place, help) = mistake("exclude:\n  - path: docs/**\n");
    assert!(message.contains("there is no setting `path`"), "{message}");
    assert_eq!((place.as_deref(), help.as_deref()), (Some("path"), Some("Did you mean `paths`?")));
}

#[test]
fn a_word_that_is_not_possible_is_pointed_at() {
    let (message, place, help) = mistake("severity:\n  mass-prune: warn\n");
    assert_eq!(message, ".presync.yaml:2:15: severity.mass-prune: `warn` is not possible here");
    assert_eq!((place.as_deref(), help.as_deref()), (Some("warn"), Some("There are: off, info, warning, error.")));
}

#[test]
fn a_waiver_needs_a_reason_and_something_to_match() {
    let (message, ..) = mistake("waivers:\n  - {rules: a, match: {names: x}}\n");
    assert!(message.ends_with("`reason` is missing"), "{message}");
    assert!(mistake("waivers:\n  - {rules: a, match: {names: x}, reason: ' '}\n").0.contains("the reason is empty"));
    assert!(mistake("waivers:\n  - {rules: a, match: {}, reason: b}\n").0.contains("nothing is selected"));
    assert!(mistake("waivers:\n  - {rules: a, match: {names: x}, reason: b, expires: tomorrow}\n").0.starts_with(".presync.yaml:2:"));
}

#[test]
fn a_program_is_no_file_of_the_repository() {
    let (message, ..) = mistake("plugins:\n  tanka: tk show .\n");
    assert!(message.contains("list of words"), "{message}");
    let (message, _, help) = mistake("plugins:\n  tanka: [./render.sh]\n");
    assert!(message.contains("./render.sh is a path in the repository") && help.is_some(), "{message}");
    assert!(mistake("plugins:\n  tanka: []\n").0.contains("empty"));
    assert!(mistake("tools:\n  helm: bin/helm\n").0.contains("bin/helm is a path in the repository"));
}

#[test]
fn clusters_have_a_server_and_a_name_of_their_own() {
    let (message, _, help) = mistake("clusters:\n  - {name: eu, server: https://a}\n  - {name: eu, server: https://b}\n");
    assert_eq!(message, ".presync.yaml:2:3: clusters: two clusters are named `eu`");
    assert!(help.unwrap().contains("one cluster for each name"));
    assert!(mistake("clusters:\n  - {name: eu}\n").0.contains("`server` is missing"));
    assert!(mistake("clusters:\n  - {name: '', server: https://a}\n").0.contains("not empty"));
    assert!(mistake("clusters: {eu: https://a}\n").0.contains("a list of clusters"));
}

#[test]
fn folders_of_rules_lie_inside_of_the_repository() {
    assert!(mistake("clones: [{url: 'https://a', path: .}]\n").0.contains("no folder of a clone"));
    for path in ["/etc", "../policies", "a/../../b", "./"] {
        assert!(mistake(&format!("rules: ['{path}']\n")).0.contains("leaves the repository"), "{path}");
    }
}

#[test]
fn what_is_no_yaml_is_a_mistake_too() {
    let (message, ..) = mistake("plugins: [\n");
    assert!(message.starts_with(".presync.yaml:"), "{message}");
    assert!(Config::parse(FILE, &" ".repeat(MAX_BYTES + 1)).is_err());
}

#[test]
fn letters_are_counted() {
    assert_eq!(distance("pluigns", "plugins"), 2);
    assert_eq!(distance("plugin", "plugins"), 1);
    assert_eq!(distance("", "plugins"), 7);
    assert_eq!(nearest("severe", ["plugins"]), None);
}

#[test]
fn durations_have_a_number_and_a_unit() {
    assert_eq!(duration("24h"), Ok(86_400));
    assert_eq!(duration("90m"), Ok(5_400));
    for bad in ["", "24", "h", "-1h", "1.5h", "99999999999999999999d"] {
        assert!(duration(bad).is_err(), "{bad}");
    }
}

/// With `PRESYNC_WRITE_DOCS=1` in the environment the schema is written instead of compared.
#[test]
fn the_published_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema/config-v1.schema.json");
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<Config>();
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    if std::env::var_os("PRESYNC_WRITE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text,
        "{} is not current; run the tests with PRESYNC_WRITE_DOCS=1",
        path.display()
    );
}
