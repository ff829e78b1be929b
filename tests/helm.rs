//! Renders the chart layouts of `fixtures/helm` and holds the objects against what helm itself writes for them.
//!
//! A layout is a repository with `application.yaml`, and `golden.yaml` with the arguments that Argo CD would give helm, written by hand.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[allow(dead_code, reason = "other tests compare two sides")]
mod support;
#[path = "support/tools.rs"]
#[allow(dead_code, reason = "the search path is for tests that run the program")]
mod tools;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use presync::argocd::{Application, Settings};
use presync::manifest::Side;
use presync::manifest::reader::{self, Limits};
use presync::render::{Capabilities, Identity, Job, Programs, Reference, Rendered, Request, Stop, Workshop};
use presync::repo::{Repository, Tree};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

/// The arguments of helm that a layout stands for.
#[derive(Debug, Deserialize)]
struct Golden {
    /// The chart's folder.
    path: String,
    /// Whether its dependencies are built first.
    #[serde(default)]
    build: bool,
    /// Values of the Application itself; `INLINE` among the arguments is the file with them.
    #[serde(default)]
    inline: String,
    arguments: Vec<String>,
}

fn layouts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/helm");
    let mut found: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn layout(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/helm").join(name)
}

/// A repository with the files of a layout, and its tree.
fn repository(folder: &Path) -> (TempDir, Tree) {
    let repository = TempDir::new().unwrap();
    support::git(repository.path(), &["init", "--quiet", "--initial-branch=main"]);
    support::copy(folder, repository.path());
    support::commit(repository.path(), "files");
    let tree = tree(repository.path());
    (repository, tree)
}

fn tree(repository: &Path) -> Tree {
    let repository = Repository::discover(repository).unwrap();
    repository.commit_tree(&repository.resolve("HEAD").unwrap()).unwrap()
}

fn application(tree: &Tree) -> Application {
    let bytes = tree.read("application.yaml").unwrap();
    let documents = reader::read_stream(&reader::decode(&bytes).text, &Limits::default()).documents;
    Application::read(Arc::new(documents[0].value.clone()), "argocd").unwrap()
}

fn workshop(programs: Programs) -> Workshop {
    Workshop { programs, ..Workshop::new(Settings::default()) }
}

/// What the first source of the Application renders to.
fn render(tree: &Tree, workshop: &Workshop) -> Result<Rendered, Stop> {
    let application = application(tree);
    let identity = Identity::of(&application, &Settings::default());
    let sources = application.spec.sources();
    let named = sources.iter().filter(|source| !source.reference.is_empty());
    let references: BTreeMap<String, Reference<'_>> =
        named.map(|source| (source.reference.clone(), Reference { source, tree: Ok(tree.clone()), is_compared: true })).collect();
    let request = Request {
        workshop,
        identity: &identity,
        source: Cow::Borrowed(&sources[0]),
        is_multi_source: application.spec.is_multi_source(),
        tree: tree.clone(),
        side: Side::Head,
        path: sources[0].path.clone(),
        revision: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        references: &references,
        capabilities: &Capabilities::default(),
    };
    Job::new(request)?.run()
}

fn rendered(tree: &Tree) -> Rendered {
    render(tree, &workshop(Programs::in_folder(tools::folder()))).unwrap_or_else(|stop| panic!("{stop:?}"))
}

fn message(tree: &Tree) -> String {
    match render(tree, &workshop(Programs::in_folder(tools::folder()))) {
        Ok(rendered) => panic!("{} objects", rendered.manifests.len()),
        Err(Stop::Failed(error)) => error.message.clone(),
        Err(Stop::Unjudged { what, why }) => format!("unjudged: {what}: {why}"),
    }
}

fn helm(folder: &Path, home: &Path, arguments: &[String]) -> String {
    let output = Command::new(tools::folder().join("helm"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", home)
        .env("TZ", "UTC")
        .output()
        .unwrap();
    assert!(output.status.success(), "helm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects that helm itself writes for a layout, lists taken apart.
fn of_helm(folder: &Path) -> Vec<Value> {
    let golden: Golden = serde_yaml::from_str(&std::fs::read_to_string(folder.join("golden.yaml")).unwrap()).unwrap();
    let (files, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    support::copy(folder, files.path());
    let chart = files.path().join(&golden.path);
    if golden.build {
        helm(&chart, home.path(), &["dependency".into(), "build".into()]);
    }
    let inline = home.path().join("inline.yaml");
    std::fs::write(&inline, &golden.inline).unwrap();
    let mut arguments = vec!["template".to_owned(), ".".to_owned()];
    arguments.extend(golden.arguments.iter().map(|one| if one == "INLINE" { inline.display().to_string() } else { one.clone() }));
    let text = helm(&chart, home.path(), &arguments);
    let documents = reader::read_stream(&text, &Limits::default()).documents;
    documents
        .into_iter()
        .flat_map(|document| match document.value.get("items") {
            Some(Value::Array(items)) => items.clone(),
            _ => vec![document.value],
        })
        .collect()
}

#[test]
fn every_layout_renders_to_what_helm_writes() {
    let layouts = layouts();
    assert!(layouts.len() >= 10, "only {} layouts", layouts.len());
    for folder in layouts {
        let (_repository, tree) = repository(&folder);
        let expected = of_helm(&folder);
        let found: Vec<Value> = rendered(&tree).manifests.iter().map(|manifest| Value::clone(&manifest.object)).collect();
        assert!(!expected.is_empty(), "{}", folder.display());
        assert_eq!(found, expected, "{}", folder.display());
    }
}

/// The file that each object of a layout points at, by name.
fn origins(name: &str) -> BTreeMap<String, String> {
    let (_repository, tree) = repository(&layout(name));
    let manifests = rendered(&tree).manifests;
    manifests.iter().map(|manifest| (manifest.key.named(), format!("{}:{}", manifest.origin.path, manifest.origin.line))).collect()
}

#[test]
fn objects_point_at_templates_also_of_charts_beside_and_below() {
    let umbrella = origins("umbrella-file-dependency");
    assert_eq!(umbrella["Deployment web-service"], "charts/service/templates/deployment.yaml:1");
    assert_eq!(umbrella["Deployment web-worker"], "charts/service/templates/deployment.yaml:1");
    assert_eq!(umbrella["ConfigMap web-page"], "charts/shop/templates/page.yaml:1");
    let vendored = origins("vendored-dependency");
    assert_eq!(vendored["PersistentVolumeClaim web-data"], "apps/wiki/charts/database/templates/claim.yaml:1");
    let definitions = origins("definitions-and-hooks");
    assert_eq!(definitions["CustomResourceDefinition books.shop.example.test"], "charts/operator/crds/all.yaml:17");
    assert_eq!(definitions["ServiceAccount operator"], "charts/operator/templates/hooks.yaml:18");
}

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: shop}\n  source:\n    \
    path: chart\n    repoURL: https://git.example.test/platform/fleet.git\n";

/// A tree with a chart `web` at `chart` and these files; `helm` is the block of the source.
fn chart(helm: &str, files: &[(&str, &str)]) -> (TempDir, Tree) {
    let folder = TempDir::new().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("application.yaml", &format!("{APPLICATION}    helm: {helm}\n"));
    write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    files.iter().for_each(|(path, text)| write(path, text));
    repository(folder.path())
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ .Values.x | quote }}}\n";

fn failure(tree: &Tree) -> (String, Option<String>) {
    match render(tree, &workshop(Programs::in_folder(tools::folder()))) {
        Err(Stop::Failed(error)) => {
            let place = error.place.as_ref().map(|(path, _, line, column)| format!("{path}:{line}:{column}"));
            (error.message.clone(), place)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_helm_the_source_is_not_judged_and_the_reason_says_what_to_install() {
    let (_repository, tree) = chart("{}", &[("chart/templates/a.yaml", CONFIG)]);
    let Err(Stop::Unjudged { what, why }) = render(&tree, &workshop(Programs::default())) else { panic!() };
    assert_eq!(what, "Helm chart chart");
    assert!(why.contains("install Helm 3 or 4"), "{why}");
}

#[test]
fn a_template_that_fails_is_named_with_line_and_column() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: {{ required \"x is needed\" .Values.x }}\n";
    let (_repository, tree) = chart("{}", &[("chart/templates/a.yaml", template)]);
    let (message, place) = failure(&tree);
    assert!(message.starts_with("helm cannot render the chart chart:") && message.contains("x is needed"), "{message}");
    assert_eq!(place.as_deref(), Some("chart/templates/a.yaml:5:9"));
    assert!(!message.contains("/tmp") && !message.contains("debug"), "{message}");
}

#[test]
fn output_that_is_no_yaml_is_named_with_its_template() {
    let (_repository, tree) = chart("{}", &[("chart/templates/a.yaml", CONFIG), ("chart/templates/b.yaml", "kind: A\n  b: [\n")]);
    let (message, place) = failure(&tree);
    assert!(message.contains("b.yaml"), "{message}");
    assert_eq!(place.as_deref(), Some("chart/templates/b.yaml:1:1"));
}

#[test]
fn an_object_without_kind_stops_the_application() {
    let (_repository, tree) = chart("{}", &[("chart/crds/a.yaml", "apiVersion: v1\nmetadata: {name: a}\n")]);
    assert!(failure(&tree).0.contains("a document without kind"), "{:?}", failure(&tree));
}

#[test]
fn an_annotation_that_is_no_string_stops_the_application() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {scrape: {{ .Values.scrape }}}\n";
    let (_repository, tree) = chart("{}", &[("chart/templates/a.yaml", template), ("chart/values.yaml", "scrape: true\n")]);
    let Err(Stop::Failed(error)) = render(&tree, &workshop(Programs::in_folder(tools::folder()))) else { panic!() };
    assert_eq!(error.rule, "non-string-metadata");
    assert!(error.message.starts_with("metadata.annotations[\"scrape\"] of ConfigMap a is a boolean"), "{}", error.message);
}

#[test]
fn values_are_held_against_the_schema_unless_that_is_skipped() {
    let schema = r#"{"type": "object", "properties": {"x": {"type": "integer"}}}"#;
    let files = [("chart/templates/a.yaml", CONFIG), ("chart/values.schema.json", schema)];
    let (_repository, tree) = chart("{valuesObject: {x: text}}", &files);
    assert!(failure(&tree).0.contains("schema"), "{:?}", failure(&tree));
    let (_repository, tree) = chart("{valuesObject: {x: text}, skipSchemaValidation: true}", &files);
    assert_eq!(rendered(&tree).manifests.len(), 1);
}

#[test]
fn a_schema_reads_nothing_from_elsewhere() {
    let folder = TempDir::new().unwrap();
    let secret = folder.path().join("secret.json");
    std::fs::write(&secret, r#"{"const": "canary"}"#).unwrap();
    let schema = format!(r#"{{"properties": {{"a": {{"$ref": "file://{}"}}}}}}"#, secret.display());
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let files = [("chart/values.yaml", "a: 1\n"), ("chart/values.schema.json", schema.as_str()), ("chart/templates/a.yaml", template)];
    let (_repository, tree) = chart("{}", &files);
    let rendered = rendered(&tree);
    assert_eq!(rendered.manifests.len(), 1);
    assert!(rendered.assumptions[0].contains("are not checked against its schema"), "{:?}", rendered.assumptions);
}

#[test]
fn s10_26_custom_resource_definitions_are_left_out_where_asked() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\n";
    let (_repository, tree) = chart("{}", &[("chart/crds/a.yaml", definition)]);
    assert_eq!(rendered(&tree).manifests.len(), 1);
    let (_repository, tree) = chart("{skipCrds: true}", &[("chart/crds/a.yaml", definition)]);
    assert_eq!(rendered(&tree).manifests.len(), 0);
}

#[test]
fn s10_25_the_release_name_replaces_the_applications() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-redis\"}\n";
    let (_repository, tree) = chart("{releaseName: my-release}", &[("chart/templates/a.yaml", template)]);
    assert_eq!(rendered(&tree).manifests[0].key.named(), "ConfigMap my-release-redis");
}

const DEPENDENT: &str =
    "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.0.0, repository: \"REPOSITORY\"}\n";

#[test]
fn a_dependency_outside_of_the_repository_is_refused() {
    for repository in ["file:///etc", "file://../../../db"] {
        let (_repository, tree) = chart("{}", &[("chart/Chart.yaml", &DEPENDENT.replace("REPOSITORY", repository))]);
        assert!(failure(&tree).0.contains("outside of the repository"), "{:?}", failure(&tree));
    }
}

#[test]
fn a_lock_that_does_not_fit_fails_as_in_argo_cd() {
    let lock = "dependencies:\n- {name: db, repository: file://../db, version: 0.9.0}\ndigest: sha256:0000\n\
        generated: \"2026-01-01T00:00:00Z\"\n";
    let files = [
        ("chart/Chart.yaml", &*DEPENDENT.replace("REPOSITORY", "file://../db")),
        ("chart/Chart.lock", lock),
        ("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"),
    ];
    let (_repository, tree) = chart("{}", &files);
    assert!(failure(&tree).0.contains("out of sync"), "{:?}", failure(&tree));
}

#[test]
fn charts_that_must_be_fetched_are_not_judged_offline() {
    let (_repository, tree) = chart("{}", &[("chart/Chart.yaml", &DEPENDENT.replace("REPOSITORY", "https://charts.example.test"))]);
    let text = message(&tree);
    assert!(text.starts_with("unjudged: dependencies of the Helm chart chart: db from https://charts.example.test"), "{text}");
}
