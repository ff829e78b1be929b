use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::manifest::Manifest;
use crate::render::Job;
use crate::render::fixture::{Setup, source, tools, tree};

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {foo: bar}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx:1.0
        envFrom: [{configMapRef: {name: env}}]
";
const BASE: &str = "resources: [deployment.yaml, services.yaml]\nconfigMapGenerator:\n- name: env\n  literals: [A=b]\n";
const SERVICES: &str = "# two of them
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web-admin}
spec: {ports: [{port: 81}]}
";

/// A base and an overlay over it.
fn layout<'a>(overlay: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut files = vec![
        ("base/kustomization.yaml", BASE),
        ("base/deployment.yaml", DEPLOYMENT),
        ("base/services.yaml", SERVICES),
        ("overlay/kustomization.yaml", overlay),
    ];
    files.extend(more);
    files
}

fn render(files: &[(&str, &str)], settings: Value) -> Result<Rendered, Stop> {
    Setup::new("test-app").render(&tree(files, &[]), json!({"path": "overlay", "kustomize": settings}))
}

fn find<'a>(rendered: &'a Rendered, key: &str) -> &'a Manifest {
    let found = rendered.manifests.iter().find(|manifest| manifest.key.to_string() == key);
    found.unwrap_or_else(|| panic!("no {key} among {:?}", rendered.manifests.iter().map(|m| m.key.to_string()).collect::<Vec<_>>()))
}

fn failure(result: Result<Rendered, Stop>) -> Arc<RenderError> {
    match result {
        Err(Stop::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn unjudged(result: Result<Rendered, Stop>) -> (String, String) {
    match result {
        Err(Stop::Unjudged { what, why }) => (what, why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn s10_33_the_settings_of_the_application_are_applied() {
    let settings = json!({
        "namePrefix": "namePrefix-", "nameSuffix": "-nameSuffix", "images": ["nginx:1.15.5"], "namespace": "custom-namespace",
        "replicas": [{"name": "web", "count": "4"}], "commonLabels": {"part-of": "argo-cd-tests", "app": "${ARGOCD_APP_NAME}"},
    });
    let rendered = render(&layout("resources: [../base]\n", &[]), settings).unwrap();
    let web = &find(&rendered, "apps/Deployment custom-namespace/namePrefix-web-nameSuffix").object;
    assert_eq!(web["spec"]["replicas"], 4);
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1.15.5");
    assert_eq!(web["spec"]["selector"]["matchLabels"], json!({"app": "test-app", "part-of": "argo-cd-tests"}));
    assert_eq!(web["metadata"]["annotations"], Value::Null);
}

#[test]
fn s10_34_a_common_label_that_is_in_the_file_needs_force() {
    let files = layout("resources: [../base]\ncommonLabels: {foo: bar}\n", &[]);
    let error = failure(render(&files, json!({"commonLabels": {"foo": "edited"}})));
    assert!(error.message.contains("label foo is in the kustomization already"), "{error}");
    let rendered = render(&files, json!({"commonLabels": {"foo": "edited"}, "forceCommonLabels": true})).unwrap();
    assert_eq!(find(&rendered, "Service web").object["metadata"]["labels"]["foo"], "edited");
}

#[test]
fn s10_35_labels_without_selector_stay_out_of_selectors() {
    let settings =
        |templates: bool| json!({"commonLabels": {"team": "a"}, "labelWithoutSelector": true, "labelIncludeTemplates": templates});
    for templates in [false, true] {
        let rendered = render(&layout("resources: [../base]\n", &[]), settings(templates)).unwrap();
        let web = &find(&rendered, "apps/Deployment web").object;
        assert_eq!(web["metadata"]["labels"]["team"], "a");
        assert_eq!(web["spec"]["selector"]["matchLabels"], json!({"app": "web"}));
        assert_eq!(web["spec"]["template"]["metadata"]["labels"].get("team").is_some(), templates);
    }
}

#[test]
fn s10_36_patches_are_appended() {
    let patch = "- {op: replace, path: /spec/template/spec/containers/0/name, value: test}\n\
                 - {op: add, path: /spec/template/spec/containers/0/ports, value: [{containerPort: 443}]}";
    let rendered = render(&layout("resources: [../base]\n", &[]), json!({"patches": [{"target": {"kind": "Deployment"}, "patch": patch}]}));
    let container = find(&rendered.unwrap(), "apps/Deployment web").object["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!((container["name"].clone(), container["ports"][0]["containerPort"].clone()), (json!("test"), json!(443)));
    let bad = json!({"patches": [{"target": {"kind": "Deployment"}, "patch": "- {op: replace, path: /spec/nothing/here, value: 1}"}]});
    assert!(failure(render(&layout("resources: [../base]\n", &[]), bad)).message.contains("Kustomize cannot build overlay"));
}

#[test]
fn s10_38_missing_components_are_ignored_where_the_application_says_so() {
    let files = layout(
        "resources: [../base]\n",
        &[("component/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c-\n")],
    );
    let settings = |ignore: bool, components: &[&str]| json!({"components": components, "ignoreMissingComponents": ignore});
    assert_eq!(render(&files, settings(true, &["../missing"])).unwrap().manifests.len(), 4);
    let rendered = render(&files, settings(true, &["../missing", "../component"])).unwrap();
    find(&rendered, "Service c-web");
    assert!(failure(render(&files, settings(false, &["../missing"]))).message.contains("missing"));
}

#[test]
fn objects_come_from_the_file_and_document_that_define_them() {
    let overlay = "namePrefix: prod-\nresources: [../base]\npatches:\n- path: patch.yaml\n";
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n";
    let rendered = render(&layout(overlay, &[("overlay/patch.yaml", patch)]), json!({})).unwrap();
    let place = |key: &str| {
        let origin = &find(&rendered, key).origin;
        (origin.path.to_string(), origin.line, origin.within.clone())
    };
    assert_eq!(place("Service prod-web"), ("base/services.yaml".to_owned(), 2, String::new()));
    assert_eq!(place("Service prod-web-admin"), ("base/services.yaml".to_owned(), 7, String::new()));
    let config = rendered.manifests.iter().find(|manifest| &*manifest.key.kind == "ConfigMap").unwrap();
    assert_eq!((&*config.origin.path, &*config.origin.within), ("base/kustomization.yaml", "/configMapGenerator/0"));
    let others = &find(&rendered, "apps/Deployment prod-web").origin.rendered.as_ref().unwrap().others;
    assert_eq!(others.iter().map(|origin| &*origin.path).collect::<Vec<_>>(), ["overlay/patch.yaml"]);
    assert!(find(&rendered, "Service prod-web").origin.rendered.as_ref().unwrap().others.is_empty());
}

#[test]
fn notes_about_origins_stay_only_where_the_user_wants_them() {
    let annotations = |overlay: &str| {
        let rendered = render(&layout(overlay, &[]), json!({})).unwrap();
        find(&rendered, "Service web").object["metadata"].get("annotations").cloned()
    };
    assert_eq!(annotations("resources: [../base]\n"), None);
    let kept = annotations("resources: [../base]\nbuildMetadata: [originAnnotations]\n").unwrap();
    assert_eq!(kept, json!({"config.kubernetes.io/origin": "path: ../base/services.yaml\n"}));
}

#[test]
fn the_inputs_are_what_the_build_reads_and_no_more() {
    let overlay = "resources: [../base]\ncomponents: [../parts/a]\nconfigMapGenerator:\n- name: x\n  files: [k=../overlay/x.txt]\n  envs: [x.env]\n\
                   patchesStrategicMerge: [p.yaml]\nreplacements: [{path: r.yaml}]\n";
    let files = layout(
        overlay,
        &[
            ("parts/a/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [c.yaml]\n"),
            ("parts/a/c.yaml", SERVICES),
            ("parts/b/kustomization.yaml", ""),
            ("overlay/README.md", ""),
        ],
    );
    let (tree, source) = (tree(&files, &[]), source(json!({"path": "overlay"})));
    let setup = Setup::new("a");
    let job = Job::new(setup.request(&tree, &source)).unwrap();
    for path in [
        "overlay/kustomization.yaml",
        "overlay/Kustomization",
        "base/kustomization.yml",
        "base/services.yaml",
        "parts/a/c.yaml",
        "overlay/x.txt",
        "overlay/x.env",
        "overlay/p.yaml",
        "overlay/r.yaml",
        "overlay/.argocd-source.yaml",
    ] {
        assert!(job.inputs().contains(path), "{path}");
    }
    for path in ["overlay/README.md", "parts/b/kustomization.yaml", "base/other.yaml"] {
        assert!(!job.inputs().contains(path), "{path}");
    }
}

#[test]
fn equal_inputs_have_equal_keys_wherever_else_the_trees_differ() {
    let key = |files: &[(&str, &str)], settings: Value| {
        let (tree, source, setup) = (tree(files, &[]), source(json!({"path": "overlay", "kustomize": settings})), Setup::new("a"));
        Job::new(setup.request(&tree, &source)).unwrap().key().unwrap()
    };
    let plain = layout("resources: [../base]\n", &[]);
    let first = key(&plain, json!({}));
    assert_eq!(first, key(&layout("resources: [../base]\n", &[("other/file.yaml", "x")]), json!({})));
    assert_ne!(first, key(&plain, json!({"namePrefix": "p-"})));
    assert_ne!(first, key(&layout("resources: [../base]\nnamePrefix: p-\n", &[]), json!({})));
}

#[test]
fn what_is_elsewhere_is_not_judged_offline() {
    let (what, why) = unjudged(render(&layout("resources: [../base, 'https://git.example.test/org/repo//base?ref=v1']\n", &[]), json!({})));
    assert_eq!(what, "https://git.example.test/org/repo//base?ref=v1 named by overlay/kustomization.yaml");
    assert!(why.contains("--offline"), "{why}");
    let address = "https://git.example.test/patch.yaml";
    let inline = format!("- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {{name: a}}\n  path: {address}\n");
    for fields in [
        format!("patches: [{{path: '{address}'}}]\n"),
        format!("patchesStrategicMerge: ['{address}']\n"),
        format!("transformers:\n{inline}"),
        "transformers: [t.yaml]\n".to_owned(),
    ] {
        let overlay = format!("resources: [../base]\n{fields}");
        let file = format!("apiVersion: builtin\nkind: PatchTransformer\nmetadata: {{name: a}}\npath: {address}\n");
        let (what, _) = unjudged(render(&layout(&overlay, &[("overlay/t.yaml", file.as_str())]), json!({})));
        assert!(what.starts_with(address), "{fields}: {what}");
    }
    let mut online = Setup::new("a");
    online.workshop.offline = false;
    let files = layout("resources: ['http://127.0.0.1:9/x.yaml']\n", &[]);
    let (_, why) = unjudged(online.render(&tree(&files, &[]), json!({"path": "overlay"})));
    assert!(why.contains("http://127.0.0.1:9/x.yaml named by overlay/kustomization.yaml cannot be fetched"), "{why}");
}

#[test]
fn a_path_out_of_the_repository_fails_without_a_build() {
    for path in ["../../etc", "/etc"] {
        let overlay = format!("resources: [{path}]\n");
        let error = failure(render(&layout(&overlay, &[]), json!({})));
        assert!(error.message.contains(path) && error.message.contains("not in the repository"), "{error}");
        assert_eq!(&*error.place.as_ref().unwrap().0, "overlay/kustomization.yaml");
    }
}

#[test]
fn what_lies_on_the_machine_that_builds_is_never_read() {
    for base in ["file:///srv/other.git//base?ref=main", "git::file:///srv/other.git//base", "/srv/other//base?ref=main", "FILE:///srv/x"] {
        let overlay = format!("resources:\n- {base}\n");
        let error = failure(render(&layout(&overlay, &[]), json!({})));
        assert!(error.message.contains("which is not in the repository"), "{}", error.message);
    }
    let file = "configMapGenerator:\n- name: a\n  files: ['file:///etc/hostname']\n";
    assert!(failure(render(&layout(file, &[]), json!({}))).message.contains("which is not in the repository"));
}

#[test]
fn a_failure_shows_nothing_that_may_become_a_secret() {
    let literal = "resources: [../base]\nsecretGenerator:\n- name: a\n  literals: [canary]\n";
    let patch = "resources: [../base]\npatches:\n- patch: |\n    kind: Secret\n    metadata: {name: a}\n    stringData: {a: canary}\n";
    for overlay in [literal, patch] {
        let error = failure(render(&layout(overlay, &[]), json!({})));
        assert!(!error.message.contains("canary"), "{}", error.message);
        assert!(!error.message.contains("run.go"), "{}", error.message);
    }
}

#[test]
fn a_failure_names_the_file_and_shows_paths_of_the_repository() {
    let error = failure(render(&layout("resources: [../base, missing.yaml]\n", &[]), json!({})));
    assert!(error.message.contains("overlay/missing.yaml") && !error.message.contains("/tmp/"), "{error}");
    let error = failure(render(&layout("resources: [../base]\nnosuchfield: 1\n", &[]), json!({})));
    assert!(error.message.contains("unknown field \"nosuchfield\""), "{error}");
    assert_eq!(&*error.place.as_ref().unwrap().0, "overlay/kustomization.yaml");
}

#[test]
fn aliases_that_multiply_fail_at_once() {
    let mut bomb = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx:\n  a: &a [x,x,x,x,x,x,x,x,x]\n");
    for pair in ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"] {
        let (from, to) = pair.split_at(1);
        bomb.push_str(&format!("  {to}: &{to} [{}]\n", vec![format!("*{from}"); 9].join(",")));
    }
    let error = failure(render(&[("overlay/kustomization.yaml", "resources: [bomb.yaml]\n"), ("overlay/bomb.yaml", &bomb)], json!({})));
    assert!(error.message.starts_with("overlay/bomb.yaml cannot be read"), "{error}");
}

#[test]
fn charts_are_inflated_where_argo_cd_says_so_or_says_nothing() {
    let files = layout(
        "helmCharts:\n- name: demo\n  releaseName: rel\n",
        &[
            ("overlay/charts/demo/Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n"),
            ("overlay/charts/demo/values.yaml", "a: 1\n"),
            ("overlay/charts/demo/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-a}\n"),
        ],
    );
    let tree = tree(&files, &[]);
    let guessed = Setup::new("a").render(&tree, json!({"path": "overlay"})).unwrap();
    assert!(guessed.assumptions[0].contains("--enable-helm"), "{:?}", guessed.assumptions);
    assert_eq!(&*find(&guessed, "ConfigMap rel-a").origin.within, "/helmCharts/0");
    let generator = "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: g}\nname: demo\nreleaseName: rel\n";
    let mut by_generator = files.clone();
    by_generator[3].1 = "generators: [g.yaml]\n";
    by_generator.push(("overlay/g.yaml", generator));
    let by_generator = Setup::new("a").render(&self::tree(&by_generator, &[]), json!({"path": "overlay"})).unwrap();
    assert!(by_generator.assumptions[0].contains("--enable-helm"), "{:?}", by_generator.assumptions);
    let said =
        Setup::new("a").with_entries(&[("kustomize.buildOptions", "--enable-helm")]).render(&tree, json!({"path": "overlay"})).unwrap();
    assert!(said.assumptions.is_empty());
    let off = Setup::new("a").with_entries(&[]).render(&tree, json!({"path": "overlay"}));
    assert!(failure(off).message.contains("must specify --enable-helm"));
}

#[test]
fn what_a_chart_in_a_kustomization_makes_anew_each_time_is_noticed() {
    let files = |template: &'static str| {
        let chart = [
            ("overlay/charts/demo/Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n"),
            ("overlay/charts/demo/values.yaml", "{}\n"),
            ("overlay/charts/demo/templates/a.yaml", template),
        ];
        tree(&layout("helmCharts:\n- name: demo\n  releaseName: rel\n", &chart), &[])
    };
    let random = files("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: {{ randAlphaNum 12 | quote }}}\n");
    let rendered = Setup::new("a").render(&random, json!({"path": "overlay"})).unwrap();
    assert_eq!(rendered.unstable.iter().map(|one| one.pointers.clone()).collect::<Vec<_>>(), [["/stringData/p"]]);
    let fixed = files("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: x}\n");
    assert!(Setup::new("a").render(&fixed, json!({"path": "overlay"})).unwrap().unstable.is_empty());
}

#[test]
fn a_version_that_is_not_registered_fails() {
    let tree = tree(&layout("resources: [../base]\n", &[]), &[]);
    let settings = || json!({"path": "overlay", "kustomize": {"version": "v4.0.0"}});
    let error = failure(Setup::new("a").with_entries(&[]).render(&tree, settings()));
    assert!(error.message.contains("Kustomize v4.0.0 is not registered"), "{error}");
    let known = Setup::new("a").with_entries(&[("kustomize.path.v4.0.0", "/usr/local/bin/kustomize-4")]);
    assert!(known.render(&tree, settings()).unwrap().assumptions[0].contains("v4.0.0"));
}

#[test]
fn a_program_that_is_missing_is_said_once_with_what_to_install() {
    let mut setup = Setup::new("a");
    setup.workshop.programs = crate::render::Programs::default();
    let (_, why) = unjudged(setup.render(&tree(&layout("resources: [../base]\n", &[]), &[]), json!({"path": "overlay"})));
    assert!(why.contains("neither kustomize nor kubectl is installed"), "{why}");
}

/// Layouts as public repositories have them: presync's objects are those of the program itself on the same files.
#[test]
fn builds_of_usual_layouts_equal_the_programs_own() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let layouts: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::from([
        ("overlay on overlay", vec![
            ("overlay/kustomization.yaml", "namespace: eu\nresources: [../stage]\nnameSuffix: -eu\nimages: [{name: nginx, newTag: '2'}]\n".to_owned()),
            ("stage/kustomization.yaml", "resources: [../base]\ncommonAnnotations: {stage: prod}\nreplicas: [{name: web, count: 5}]\n".to_owned()),
        ]),
        ("components", vec![
            ("overlay/kustomization.yaml", "resources: [../base]\ncomponents: [../parts/debug, ../parts/label]\n".to_owned()),
            ("parts/debug/kustomization.yaml", format!("{component}patches:\n- target: {{kind: Deployment}}\n  patch: |-\n    - {{op: add, path: /spec/paused, value: true}}\n")),
            ("parts/label/kustomization.yaml", format!("{component}labels: [{{pairs: {{tier: front}}, includeSelectors: true}}]\n")),
        ]),
        ("hash suffixes", vec![
            ("overlay/kustomization.yaml", "resources: [../base]\nconfigMapGenerator:\n- name: env\n  behavior: merge\n  literals: [B=c]\nsecretGenerator:\n- name: token\n  literals: [t=1]\n  options: {annotations: {}}\n".to_owned()),
        ]),
        ("replacements and order", vec![
            ("overlay/kustomization.yaml", "resources: [../base]\nsortOptions: {order: fifo}\nreplacements:\n- source: {kind: Service, name: web, fieldPath: metadata.name}\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: ['spec.template.spec.containers.[name=main].env.[name=SVC].value']\n    options: {create: true}\n".to_owned()),
        ]),
        ("old fields", vec![
            ("overlay/Kustomization", "bases: [../base]\nnamePrefix: x-\npatchesStrategicMerge:\n- |-\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web}\n  spec: {strategy: {type: Recreate}}\n".to_owned()),
        ]),
        ("a chart inside", vec![
            ("overlay/kustomization.yaml", "namespace: shop\nresources: [../base]\nhelmCharts:\n- name: cache\n  releaseName: hot\n  valuesFile: cache.yaml\n  valuesInline: {size: 2}\n  valuesMerge: override\n".to_owned()),
            ("overlay/cache.yaml", "size: 1\nmode: fast\n".to_owned()),
            ("overlay/charts/cache/Chart.yaml", "apiVersion: v2\nname: cache\nversion: 1.0.0\n".to_owned()),
            ("overlay/charts/cache/templates/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-cache\ndata:\n  size: {{ .Values.size | quote }}\n  mode: {{ .Values.mode }}\n".to_owned()),
        ]),
        ("one folder with a namespace", vec![
            ("overlay/kustomization.yml", "namespace: shop\nresources: [ns.yaml, ../base]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: f, files: [a.txt]}]\n".to_owned()),
            ("overlay/ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n".to_owned()),
            ("overlay/a.txt", "yes\n".to_owned()),
        ]),
    ]);
    assert!(layouts.len() >= 7, "only {} layouts", layouts.len());
    for (name, more) in layouts {
        let mut files = vec![("base/kustomization.yaml", BASE), ("base/deployment.yaml", DEPLOYMENT), ("base/services.yaml", SERVICES)];
        files.extend(more.iter().map(|(path, contents)| (*path, contents.as_str())));
        let rendered =
            Setup::new("a").render(&tree(&files, &[]), json!({"path": "overlay"})).unwrap_or_else(|stop| panic!("{name}: {stop:?}"));
        let folder = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, contents).unwrap();
        }
        let mut command = std::process::Command::new(tools::folder().join("kubectl"));
        command.arg("kustomize").arg(folder.path().join("overlay")).args(["--enable-helm", "--helm-command"]);
        let output = command.arg(tools::folder().join("helm")).env("HOME", folder.path()).output().unwrap();
        let expected: Vec<Value> = ParsedFile::of_output(&output.stdout).objects.iter().map(|object| (*object.object).clone()).collect();
        assert!(!expected.is_empty(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let found: Vec<Value> = rendered.manifests.iter().map(|manifest| (*manifest.object).clone()).collect();
        assert_eq!(found, expected, "{name}");
    }
}
