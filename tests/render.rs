//! What a user notices of rendering beyond the plan: where findings point, which programs run and how often, and what pins mean.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;
#[path = "support/tools.rs"]
#[allow(dead_code, reason = "the search path is for tests that run the program")]
mod tools;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use presync::check::{self, Head, Options, Outcome};
use presync::finding::Finding;
use presync::manifest::Side;
use presync::plan::Action;
use presync::render::Programs;
use tempfile::TempDir;

type Files<'a> = Vec<(&'a str, String)>;

/// A repository with these files on `main`, and with `head` put over them on `change`.
fn repository(base: &Files<'_>, head: &Files<'_>) -> TempDir {
    let (before, after) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(before.path(), base);
    write(after.path(), base);
    write(after.path(), head);
    support::lay_out(before.path(), after.path())
}

fn write(folder: &Path, files: &Files<'_>) {
    for (path, contents) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Nothing in a file means no file.
        if contents.is_empty() { fs::remove_file(path).unwrap() } else { fs::write(path, contents).unwrap() }
    }
}

fn check(repository: &TempDir, all: bool, programs: Programs) -> Outcome {
    let options = Options {
        repo: repository.path().to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots: Vec::new(),
        max_snapshot_age: None,
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        applications: Vec::new(),
        all,
        offline: true,
        programs,
        config: None,
        cache: None,
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    check::run(&options).unwrap()
}

fn pinned() -> Programs {
    Programs::in_folder(tools::folder())
}

fn application(name: &str, path: &str, revision: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  project: default\n  \
         source: {{repoURL: '{}', targetRevision: '{revision}', path: {path}}}\n  destination: {{server: 'https://kubernetes.default.svc', \
         namespace: shop}}\n  syncPolicy: {{automated: {{prune: true}}}}\n",
        support::REPOSITORY_URL
    )
}

fn config(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: {value}}}\n")
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
";
const AUTOSCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
";
const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: orders}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

fn finding<'a>(outcome: &'a Outcome, rule: &str) -> &'a Finding {
    outcome.findings.iter().find(|finding| &*finding.rule == rule).unwrap_or_else(|| panic!("no {rule} among {:?}", outcome.findings))
}

fn place(finding: &Finding) -> (Side, &str, u32) {
    let location = &finding.locations[0];
    (location.side, &location.path, location.line)
}

#[test]
fn findings_about_a_kustomization_point_at_the_base_or_at_the_patch_that_decides() {
    let base = vec![
        ("argocd/web.yaml", application("web", "overlays/prod", "main")),
        ("bases/web/kustomization.yaml", "resources: [web.yaml, storage.yaml]\n".to_owned()),
        ("bases/web/web.yaml", DEPLOYMENT.replace("  replicas: 1\n", "")),
        ("bases/web/storage.yaml", format!("{}---\n{CLAIM}", config("settings", "a"))),
        ("overlays/prod/kustomization.yaml", "namePrefix: prod-\nresources: [../../bases/web]\n".to_owned()),
    ];
    let patch = "# more of it\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n";
    let head = vec![
        ("bases/web/storage.yaml", config("settings", "a")),
        (
            "overlays/prod/kustomization.yaml",
            "namePrefix: prod-\nresources: [../../bases/web, hpa.yaml]\npatches: [{path: more.yaml}]\n".to_owned(),
        ),
        ("overlays/prod/more.yaml", patch.to_owned()),
        ("overlays/prod/hpa.yaml", AUTOSCALER.to_owned()),
    ];
    let outcome = check(&repository(&base, &head), false, pinned());
    assert_eq!(place(finding(&outcome, "prune-persistent-data")), (Side::Base, "bases/web/storage.yaml", 6));
    assert_eq!(place(finding(&outcome, "replicas-owned-by-autoscaler")), (Side::Head, "overlays/prod/more.yaml", 7));
}

/// kubectl and helm, with a note of each run.
fn counted(folder: &Path) -> Programs {
    for name in ["kubectl", "helm"] {
        let (program, notes) = (folder.join(name), folder.join("runs"));
        let script = format!("#!/bin/sh\necho {name} $1 >> {}\nexec {}/{name} \"$@\"\n", notes.display(), tools::folder().display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    Programs::in_folder(folder)
}

fn runs(folder: &Path) -> usize {
    fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
}

#[test]
fn equal_inputs_are_built_once_and_what_the_change_does_not_touch_is_not_built() {
    let base = vec![
        ("argocd/a.yaml", application("a", "overlays/prod", "main")),
        ("argocd/b.yaml", application("b", "overlays/prod", "main").replace("namespace: shop", "namespace: other")),
        ("argocd/c.yaml", application("c", "overlays/test", "main")),
        ("bases/web/kustomization.yaml", "resources: [web.yaml]\n".to_owned()),
        ("bases/web/web.yaml", config("web", "one")),
        ("bases/api/kustomization.yaml", "resources: [api.yaml]\n".to_owned()),
        ("bases/api/api.yaml", config("api", "one")),
        ("overlays/prod/kustomization.yaml", "resources: [../../bases/web]\n".to_owned()),
        ("overlays/test/kustomization.yaml", "resources: [../../bases/api]\n".to_owned()),
    ];
    let count = |head: &Files<'_>, all: bool| {
        let folder = TempDir::new().unwrap();
        let outcome = check(&repository(&base, head), all, counted(folder.path()));
        assert!(outcome.unjudged.is_empty(), "{:?}", outcome.unjudged);
        (runs(folder.path()), outcome.plans.len())
    };
    let elsewhere = vec![("README.md", "hello".to_owned())];
    // Without a snapshot the base of every Application stands in for the cluster.
    assert_eq!(count(&elsewhere, true), (2, 3));
    assert_eq!(count(&vec![("bases/web/web.yaml", config("web", "two"))], true), (3, 3));
    assert_eq!(count(&vec![("bases/web/web.yaml", config("web", "two"))], false).1, 2);
}

#[test]
fn each_chart_is_rendered_once_for_all_that_makes_a_difference_and_never_twice() {
    let of_chart = |name: &str| {
        application(name, "chart", "main").replace("path: chart}", &format!("path: chart, helm: {{valueFiles: [/{name}.yaml]}}}}"))
    };
    // The chart of the parent makes the other Applications, so that it is looked at on several occasions.
    let children = ["a", "b"].map(of_chart).join("---\n");
    let base = vec![
        ("argocd/parent.yaml", application("parent", "parent", "main").replace("namespace: shop", "namespace: argocd")),
        ("parent/Chart.yaml", CHART.replace("web", "parent")),
        ("parent/templates/children.yaml", children),
        ("chart/Chart.yaml", CHART.to_owned()),
        ("chart/templates/config.yaml", config("web", "{{ .Values.x }}")),
        ("a.yaml", "x: 1\n".to_owned()),
        ("b.yaml", "x: 1\n".to_owned()),
    ];
    let count = |head: &Files<'_>, all: bool| {
        let folder = TempDir::new().unwrap();
        let outcome = check(&repository(&base, head), all, counted(folder.path()));
        assert!(outcome.unjudged.is_empty(), "{:?}", outcome.unjudged);
        runs(folder.path())
    };
    assert_eq!(count(&vec![("README.md", "hello".to_owned())], true), 3, "the parent and its two children, for both sides");
    assert_eq!(count(&vec![("a.yaml", "x: 2\n".to_owned())], true), 4, "one child at both sides");
    assert_eq!(count(&vec![("a.yaml", "x: 2\n".to_owned())], false), 4, "what is not affected stands in for the cluster");
    assert_eq!(count(&vec![("chart/templates/config.yaml", config("web", "y{{ .Values.x }}"))], false), 5);
}

#[test]
fn a_pinned_revision_is_rendered_where_the_clone_has_it_and_a_moved_pin_is_a_change() {
    let base = vec![
        ("argocd/pinned.yaml", application("pinned", "apps/web", "v1.0.0")),
        ("argocd/moved.yaml", application("moved", "apps/api", "v1.0.0")),
        ("apps/web/web.yaml", config("web", "released")),
        ("apps/api/api.yaml", config("api", "released")),
    ];
    let head = vec![("argocd/moved.yaml", application("moved", "apps/api", "v2.0.0")), ("apps/web/web.yaml", config("web", "new"))];
    let repository = repository(&base, &head);
    support::git(repository.path(), &["tag", "v1.0.0", "main"]);
    support::git(repository.path(), &["checkout", "--quiet", "-b", "release", "main"]);
    fs::write(repository.path().join("apps/api/api.yaml"), config("api", "next")).unwrap();
    support::commit(repository.path(), "next");
    support::git(repository.path(), &["tag", "v2.0.0"]);
    support::git(repository.path(), &["checkout", "--quiet", "change"]);
    let outcome = check(&repository, false, pinned());
    let finding = finding(&outcome, "revision-not-tracked");
    assert_eq!(finding.application.as_deref(), Some("argocd/pinned"));
    let changes = |name: &str| {
        let plan = outcome.plans.iter().find(|plan| &*plan.application.id.name == name).unwrap();
        plan.changes.iter().filter(|change| change.action != Action::None).map(|change| change.key.to_string()).collect::<Vec<_>>()
    };
    assert!(changes("pinned").is_empty());
    assert_eq!(changes("moved"), ["ConfigMap shop/api"]);
}

#[test]
fn without_a_program_each_application_says_what_to_install() {
    let base = vec![
        ("argocd/web.yaml", application("web", "apps/web", "main")),
        ("apps/web/kustomization.yaml", "resources: [web.yaml]\n".to_owned()),
        ("apps/web/web.yaml", config("web", "one")),
    ];
    let outcome = check(&repository(&base, &vec![("apps/web/web.yaml", config("web", "two"))]), false, Programs::default());
    assert_eq!(outcome.unjudged.len(), 1);
    assert!(outcome.unjudged[0].why.contains("PRESYNC_KUSTOMIZE"), "{:?}", outcome.unjudged);
}

fn with_values_of(name: &str, revision: &str) -> String {
    let url = support::REPOSITORY_URL;
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  project: default\n  sources:\n  \
         - {{repoURL: {url}, targetRevision: {revision}, ref: vals}}\n  - {{repoURL: {url}, targetRevision: main, path: chart, helm: {{valueFiles: \
         [$vals/envs/web.yaml]}}}}\n  destination: {{server: https://kubernetes.default.svc, namespace: shop}}\n  syncPolicy: {{automated: {{prune: \
         true}}}}\n"
    )
}

#[test]
fn value_files_of_another_revision_of_the_same_repository_are_refused() {
    let base = vec![
        ("argocd/web.yaml", with_values_of("web", "main")),
        ("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n".to_owned()),
        ("chart/templates/web.yaml", config("web", "one")),
        ("envs/web.yaml", "a: 1\n".to_owned()),
    ];
    let old = |name: &str| ("argocd/web.yaml", with_values_of("web", name));
    let repository = repository(&base, &vec![old("v1.0.0"), ("envs/web.yaml", "a: 2\n".to_owned())]);
    support::git(repository.path(), &["tag", "v1.0.0", "main"]);
    let outcome = check(&repository, false, pinned());
    assert!(finding(&outcome, "render-failed").message.contains("$vals names the revision v1.0.0"), "{:?}", outcome.findings);
}

#[test]
fn a_generator_at_a_pinned_revision_lists_the_folders_of_that_revision() {
    let set = |exclude: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: apps, namespace: argocd}}\nspec:\n  generators:\n  - git: {{repoURL: \
             {url}, revision: v1.0.0, directories: [{{path: apps/*}}{exclude}]}}\n  template:\n    metadata: {{name: '{{{{path.basename}}}}'}}\n    spec:\n      \
             project: default\n      source: {{repoURL: {url}, targetRevision: main, path: '{{{{path}}}}'}}\n      destination: {{server: \
             https://kubernetes.default.svc, namespace: shop}}\n",
            url = support::REPOSITORY_URL
        )
    };
    let base =
        vec![("argocd/apps.yaml", set("")), ("apps/web/web.yaml", config("web", "one")), ("apps/api/api.yaml", config("api", "one"))];
    let head = vec![("argocd/apps.yaml", set(", {path: apps/api, exclude: true}")), ("apps/new/new.yaml", config("new", "one"))];
    let repository = repository(&base, &head);
    support::git(repository.path(), &["tag", "v1.0.0", "main"]);
    let outcome = check(&repository, false, pinned());
    let names = |at_head: bool| -> Vec<String> {
        let entries = outcome.inventory.entries.values();
        let defined = entries.filter(|entry| if at_head { entry.head.is_some() } else { entry.base.is_some() });
        defined.map(|entry| entry.id.name.to_string()).collect()
    };
    assert_eq!((names(false), names(true)), (vec!["api".to_owned(), "web".to_owned()], vec!["web".to_owned()]));
    assert!(outcome.unjudged.is_empty(), "{:?}", outcome.unjudged);
}

#[test]
fn a_link_to_a_folder_is_a_source_path_and_moving_it_is_a_change() {
    let base = vec![
        ("argocd/web.yaml", application("web", "current", "main")),
        ("apps/old/web.yaml", config("web", "old")),
        ("apps/new/web.yaml", config("web", "new")),
    ];
    let (before, after) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (folder, target) in [(before.path(), "apps/old"), (after.path(), "apps/new")] {
        write(folder, &base);
        std::os::unix::fs::symlink(target, folder.join("current")).unwrap();
    }
    let outcome = check(&support::lay_out(before.path(), after.path()), false, pinned());
    let actions: Vec<Action> = outcome.plans.iter().flat_map(|plan| &plan.changes).map(|change| change.action).collect();
    assert_eq!(actions, [Action::Update], "{:?}", outcome.findings);
}

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const CLAIM_TEMPLATE: &str = "{{- if .Values.persistence.enabled }}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .Release.Name }}-data
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
{{- end }}
";

/// All places of a finding, those of base marked.
fn places(finding: &Finding) -> Vec<String> {
    let mark = |side: Side| if side == Side::Base { " of base" } else { "" };
    finding.locations.iter().map(|location| format!("{}:{}{}", location.path, location.line, mark(location.side))).collect()
}

/// A chart whose Application has this `helm` block, with a claim that the value `persistence.enabled` decides.
fn charted(helm: &str, values: &str, prod: &str) -> Files<'static> {
    let application = application("web", "apps/web", "main").replace("path: apps/web}", &format!("path: apps/web, helm: {helm}}}"));
    vec![
        ("argocd/web.yaml", application),
        ("apps/web/Chart.yaml", CHART.to_owned()),
        ("apps/web/values.yaml", values.to_owned()),
        ("apps/web/prod.yaml", prod.to_owned()),
        ("apps/web/templates/claim.yaml", CLAIM_TEMPLATE.to_owned()),
        ("apps/web/templates/config.yaml", config("other", "one")),
    ]
}

/// The finding about the claim that goes, when one chart becomes the other.
fn claim_goes(base: &Files<'_>, head: &Files<'_>) -> Finding {
    let outcome = check(&repository(base, head), false, pinned());
    finding(&outcome, "prune-persistent-data").clone()
}

#[test]
fn a_claim_that_a_value_switches_off_points_at_the_line_of_the_value_and_at_the_template() {
    let (on, off) = ("persistence:\n  size: 1Gi\n  enabled: true\n", "persistence:\n  size: 1Gi\n  enabled: false\n");
    let found = claim_goes(&charted("{}", on, "a: 1\n"), &charted("{}", off, "a: 1\n"));
    assert_eq!(places(&found), ["apps/web/values.yaml:3", "apps/web/templates/claim.yaml:2 of base"]);
    assert!(found.help.ends_with("The chart's value `persistence.enabled` decides this."), "{}", found.help);
}

#[test]
fn a_value_that_left_a_value_file_points_at_the_line_that_is_gone() {
    let with = charted("{valueFiles: [prod.yaml]}", "persistence: {enabled: false}\n", "x: 1\npersistence:\n  enabled: true\n");
    let without = charted("{valueFiles: [prod.yaml]}", "persistence: {enabled: false}\n", "x: 1\n");
    assert_eq!(places(&claim_goes(&with, &without))[0], "apps/web/prod.yaml:3 of base");
}

#[test]
fn a_value_of_the_application_itself_points_at_its_line_there() {
    let with = |helm: &str| {
        let block = format!("\n    path: apps/web\n{helm}  destination");
        let mut files = charted("{}", "persistence: {enabled: true}\n", "a: 1\n");
        let url = support::REPOSITORY_URL;
        files[0].1 = application("web", "apps/web", "main").replace(
            &format!("source: {{repoURL: '{url}', targetRevision: 'main', path: apps/web}}\n  destination"),
            &format!("source:\n    repoURL: {url}\n    targetRevision: main{block}"),
        );
        files
    };
    for helm in [
        "    helm:\n      valuesObject:\n        persistence:\n          enabled: false\n",
        "    helm:\n      parameters:\n      - name: persistence.enabled\n        value: 'false'\n",
        "    helm:\n      values: |\n        # switched off\n        persistence:\n          enabled: false\n      releaseName: web\n",
    ] {
        let head = with(helm);
        let wanted = head[0].1.lines().position(|line| line.contains("false")).unwrap() + 1;
        assert_eq!(places(&claim_goes(&with(""), &head))[0], format!("argocd/web.yaml:{wanted}"), "{helm}");
    }
}

#[test]
fn the_replicas_of_a_chart_name_their_value_and_where_it_is_set() {
    let deployment = DEPLOYMENT.replace("replicas: 1", "replicas: {{ .Values.replicaCount }}");
    let autoscaler = format!("{{{{- if .Values.autoscaling.enabled }}}}\n{AUTOSCALER}{{{{- end }}}}\n");
    let chart = |autoscaling: &str| {
        vec![
            ("argocd/web.yaml", application("web", "apps/web", "main")),
            ("apps/web/Chart.yaml", CHART.to_owned()),
            ("apps/web/values.yaml", format!("replicaCount: 3\nautoscaling:\n  enabled: {autoscaling}\n")),
            ("apps/web/templates/deployment.yaml", deployment.clone()),
            ("apps/web/templates/hpa.yaml", autoscaler.clone()),
        ]
    };
    let outcome = check(&repository(&chart("false"), &chart("true")), false, pinned());
    let found = finding(&outcome, "replicas-owned-by-autoscaler");
    assert_eq!(
        places(found),
        ["apps/web/templates/deployment.yaml:6", "apps/web/values.yaml:1", "apps/web/values.yaml:3", "apps/web/templates/hpa.yaml:2"]
    );
    assert!(found.help.ends_with("The chart's values `replicaCount` and `autoscaling.enabled` decide this."), "{}", found.help);
}

#[test]
fn a_chart_below_that_its_condition_switches_off_points_at_the_value_of_the_parent() {
    let umbrella = |enabled: &str| {
        let dependency = "dependencies:\n- {name: db, version: 1.0.0, repository: 'file://../db', condition: db.enabled}\n";
        vec![
            ("argocd/web.yaml", application("web", "charts/web", "main")),
            ("charts/web/Chart.yaml", format!("{CHART}{dependency}")),
            ("charts/web/values.yaml", format!("db:\n  enabled: {enabled}\n")),
            ("charts/web/templates/config.yaml", config("other", "one")),
            ("charts/db/Chart.yaml", CHART.replace("web", "db")),
            ("charts/db/templates/claim.yaml", CLAIM.to_owned()),
        ]
    };
    let found = claim_goes(&umbrella("true"), &umbrella("false"));
    assert_eq!(places(&found), ["charts/web/values.yaml:2", "charts/db/templates/claim.yaml:1 of base"]);
}

#[test]
fn what_an_overlay_leaves_out_points_at_the_overlay_and_not_at_the_base_alone() {
    let base = vec![
        ("argocd/web.yaml", application("web", "overlays/prod", "main")),
        ("bases/data/kustomization.yaml", "resources: [claim.yaml]\n".to_owned()),
        ("bases/data/claim.yaml", CLAIM.to_owned()),
        ("bases/web/kustomization.yaml", "resources: [web.yaml]\n".to_owned()),
        ("bases/web/web.yaml", config("web", "one")),
        ("overlays/prod/kustomization.yaml", "resources:\n- ../../bases/web\n- ../../bases/data\n".to_owned()),
    ];
    let without = vec![("overlays/prod/kustomization.yaml", "resources:\n- ../../bases/web\n".to_owned())];
    let found = claim_goes(&base, &without);
    assert_eq!(places(&found), ["overlays/prod/kustomization.yaml:3 of base", "bases/data/claim.yaml:1 of base"]);
    let removes = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: orders}\n$patch: delete\n";
    let kustomization = "resources:\n- ../../bases/web\n- ../../bases/data\npatches:\n- path: without.yaml\n";
    let patched = vec![("overlays/prod/kustomization.yaml", kustomization.to_owned()), ("overlays/prod/without.yaml", removes.to_owned())];
    assert_eq!(places(&claim_goes(&base, &patched))[0], "overlays/prod/without.yaml:1");
    let renamed = kustomization.replace("patches:\n- path: without.yaml\n", "nameSuffix: -new\n");
    let found = claim_goes(&base, &vec![("overlays/prod/kustomization.yaml", renamed)]);
    assert_eq!(places(&found)[0], "overlays/prod/kustomization.yaml:4");
}

#[test]
fn build_options_come_from_the_configuration_where_no_snapshot_tells_them() {
    let base = vec![
        ("argocd/web.yaml", application("web", "overlays/prod", "main")),
        ("shared/settings.txt", "one\n".to_owned()),
        ("overlays/prod/kustomization.yaml", "configMapGenerator: [{name: web, files: [../../shared/settings.txt]}]\n".to_owned()),
    ];
    let head = vec![("shared/settings.txt", "two\n".to_owned())];
    let outcome = check(&repository(&base, &head), true, pinned());
    assert!(finding(&outcome, "render-failed").message.contains("is not in or below"), "{:?}", outcome.findings);
    let mut configured = base.clone();
    configured.push((".presync.yaml", "kustomize: {buildOptions: --load-restrictor LoadRestrictionsNone}\n".to_owned()));
    let outcome = check(&repository(&configured, &head), false, pinned());
    let actions: Vec<Action> = outcome.plans.iter().flat_map(|plan| &plan.changes).map(|change| change.action).collect();
    assert_eq!(actions, [Action::Prune, Action::Create], "{:?}", outcome.findings);
}

#[test]
fn what_an_edit_of_the_application_brings_about_points_at_the_edit() {
    let base = vec![
        ("argocd/web.yaml", application("web", "apps/web", "main")),
        ("apps/web/claim.yaml", CLAIM.to_owned()),
        ("apps/web/config.yaml", config("web", "one")),
        ("apps/new/config.yaml", config("web", "one")),
    ];
    let found = claim_goes(&base, &vec![("argocd/web.yaml", application("web", "apps/new", "main"))]);
    assert_eq!(places(&found), ["argocd/web.yaml:6", "apps/web/claim.yaml:1 of base"]);
    let kustomization = ("apps/web/kustomization.yaml", "resources: [claim.yaml, config.yaml]\n".to_owned());
    let kustomized = base.iter().cloned().chain([kustomization]).collect();
    let suffixed = application("web", "apps/web", "main").replace("path: apps/web}", "path: apps/web, kustomize: {nameSuffix: -new}}");
    let found = claim_goes(&kustomized, &vec![("argocd/web.yaml", suffixed)]);
    assert_eq!(places(&found), ["argocd/web.yaml:6", "apps/web/claim.yaml:1 of base"]);
}
