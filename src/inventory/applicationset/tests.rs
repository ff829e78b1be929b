//! What Argo CD's own tests say about generators, and what follows from its source.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use super::*;
use crate::repo::Repository;

const URL: &str = "https://git.example.test/platform/fleet.git";

/// A repository with these files.
fn files(paths: &[(&str, &str)]) -> (tempfile::TempDir, GitFiles) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in paths {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(folder.path()).args(["-c", "user.name=t", "-c", "user.email=t@example.test"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "--allow-empty", "-m", "files"]);
    let repository = Repository::discover(folder.path()).unwrap();
    let commit = repository.resolve("HEAD").unwrap();
    let tree = repository.commit_tree(&commit).unwrap();
    (folder, GitFiles::new(&tree))
}

fn clusters() -> Clusters {
    let cluster = |name: &str, environment: &str| Cluster {
        name: name.to_owned(),
        server: format!("https://{}.example.test", name.replace(['/', '_'], "-")),
        labels: [("argocd.argoproj.io/secret-type", "cluster"), ("environment", environment), ("org", "bar")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        annotations: [("foo.argoproj.io".to_owned(), environment.to_owned())].into(),
        ..Cluster::default()
    };
    Clusters::Known(vec![cluster("production_01/west", "production"), cluster("staging-01", "staging")])
}

/// Everything that an expansion needs, with the given files.
struct World {
    files: Arc<GitFiles>,
    clusters: Clusters,
    doublestar: bool,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(paths: &[(&str, &str)]) -> Self {
        let (folder, files) = files(paths);
        Self { files: Arc::new(files), clusters: clusters(), doublestar: false, _folder: folder }
    }

    fn expand(&self, spec: Value) -> Expansion {
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "set", "namespace": "argocd"},
            "spec": spec});
        let set = ApplicationSet::read(object.into(), "argocd").unwrap();
        let files = |url: &str, _: &str| if url == URL { Ok(Arc::clone(&self.files)) } else { Err("it is another repository".to_owned()) };
        expand(
            &set,
            &Surroundings { files: &files, clusters: &self.clusters, live: None, control_namespace: "argocd", doublestar: self.doublestar },
        )
    }

    /// The parameters of a set with these generators; `go` says in which language.
    fn parameters(&self, go: bool, generators: Value) -> Result<Vec<Value>, String> {
        self.parameters_with(json!({"goTemplate": go, "generators": generators}))
    }

    fn parameters_with(&self, spec: Value) -> Result<Vec<Value>, String> {
        let mut spec = spec;
        spec["template"] = json!({"metadata": {"name": "fixed"}, "spec": {"project": "default", "source": {}, "destination": {}}});
        match self.expand(spec) {
            Expansion::Applications(applications) => Ok(applications.into_iter().map(|one| one.parameters).collect()),
            Expansion::Fails(message) => Err(message),
            Expansion::Unjudged { what, why } => Err(format!("unjudged {what}: {why}")),
        }
    }

    fn of_go(&self, generators: Value) -> Vec<Value> {
        self.parameters(true, generators).unwrap()
    }

    fn of_fast(&self, generators: Value) -> Vec<Value> {
        self.parameters(false, generators).unwrap()
    }
}

fn pick<'v>(sets: &'v [Value], key: &str) -> Vec<&'v str> {
    sets.iter().map(|set| set.pointer(key).or_else(|| set.get(key)).and_then(Value::as_str).unwrap_or("?")).collect()
}

const DIRECTORIES: [(&str, &str); 5] = [("app1/a", ""), ("app2/a", ""), ("app_3/a", ""), ("p1/app4/a", ""), (".hidden/deep/a", "")];

#[test]
fn s10_46_a_list_gives_its_elements_with_values_flattened() {
    let world = World::new(&[]);
    let elements = json!([{"list": {"elements": [{"cluster": "c", "url": "u", "values": {"foo": "bar"}}]}}]);
    assert_eq!(world.of_fast(elements.clone()), [json!({"cluster": "c", "url": "u", "values.foo": "bar"})]);
    assert_eq!(world.of_go(elements), [json!({"cluster": "c", "url": "u", "values": {"foo": "bar"}})]);
    let number = json!([{"list": {"elements": [{"replicas": 3}]}}]);
    assert!(world.parameters(false, number.clone()).unwrap_err().contains("as string"));
    assert_eq!(world.of_go(number), [json!({"replicas": 3})]);
}

#[test]
fn elements_as_yaml_follow_the_others_and_are_not_flattened() {
    let world = World::new(&[]);
    let generators = json!([{"list": {"elements": [{"a": "1"}], "elementsYaml": "- a: two\n  number: 3\n- a: three\n"}}]);
    assert_eq!(world.of_fast(generators), [json!({"a": "1"}), json!({"a": "two", "number": 3}), json!({"a": "three"})]);
    assert!(world.parameters(true, json!([{"list": {"elementsYaml": "a: b"}}])).is_err());
}

#[test]
fn s10_47_directories_give_their_path_and_its_parts() {
    let world = World::new(&DIRECTORIES);
    let git = |directories: Value| json!([{"git": {"repoURL": URL, "revision": "main", "directories": directories}}]);
    let all = world.of_fast(git(json!([{"path": "*"}])));
    assert_eq!(pick(&all, "path"), ["app1", "app2", "app_3", "p1"]);
    assert_eq!(all[2], json!({"path": "app_3", "path.basename": "app_3", "path.basenameNormalized": "app-3", "path[0]": "app_3"}));
    for directories in [json!([{"path": "*"}, {"path": "p1", "exclude": true}]), json!([{"path": "p1", "exclude": true}, {"path": "*"}])] {
        assert_eq!(pick(&world.of_fast(git(directories)), "path"), ["app1", "app2", "app_3"]);
    }
    let prefixed = json!([{"git": {"repoURL": URL, "revision": "main", "directories": [{"path": "p1/*"}], "pathParamPrefix": "myRepo"}}]);
    assert_eq!(
        world.of_fast(prefixed.clone()),
        [json!({"myRepo.path": "p1/app4", "myRepo.path.basename": "app4", "myRepo.path.basenameNormalized": "app4",
            "myRepo.path[0]": "p1", "myRepo.path[1]": "app4"})]
    );
    assert_eq!(world.of_go(prefixed)[0]["myRepo"]["path"]["basename"], json!("app4"));
}

#[test]
fn s10_48_directories_for_go_templates_are_maps() {
    let world = World::new(&DIRECTORIES);
    let sets = world.of_go(json!([{"git": {"repoURL": URL, "revision": "main", "directories": [{"path": "p1/*"}]}}]));
    let path = json!({"path": "p1/app4", "basename": "app4", "basenameNormalized": "app4", "segments": ["p1", "app4"]});
    assert_eq!(sets, [json!({"path": path})]);
}

#[test]
fn s10_49_hidden_directories_are_not_listed_and_all_levels_are() {
    let world = World::new(&[("app/bar/x", ""), ("app/foo/bar/x", ""), ("somedir/.x/y", ""), (".git2/x", ""), ("root.yaml", "")]);
    assert_eq!(world.files.directories(), ["app", "app/bar", "app/foo", "app/foo/bar", "somedir"]);
}

#[test]
fn s10_50_files_give_their_content_and_their_path() {
    let world = World::new(&[
        ("path/dir/file_name.yaml", ""),
        ("data/a.json", r#"{"foo": {"bar": "baz"}, "list": [1, true]}"#),
        ("broken/a.yaml", "this is not json or yaml"),
        ("lists/a.yaml", "- a: 1\n- a: 2\n"),
    ]);
    let git = |path: &str| json!([{"git": {"repoURL": URL, "revision": "main", "files": [{"path": path}], "values": {"somekey": "{{path.basename}}"}}}]);
    assert_eq!(
        world.of_fast(git("path/dir/file_name.yaml")),
        [json!({"path": "path/dir", "path.basename": "dir", "path.basenameNormalized": "dir", "path.filename": "file_name.yaml",
            "path.filenameNormalized": "file-name.yaml", "path[0]": "path", "path[1]": "dir", "values.somekey": "dir"})]
    );
    let flat = world.of_fast(git("data/*.json"));
    assert_eq!((&flat[0]["foo.bar"], &flat[0]["list.0"], &flat[0]["list.1"]), (&json!("baz"), &json!("1"), &json!("true")));
    assert!(world.parameters(false, git("broken/a.yaml")).unwrap_err().contains("unable to process file 'broken/a.yaml'"));
    assert_eq!(pick(&world.of_fast(git("lists")), "a"), ["1", "2"]);
    let go = json!([{"git": {"repoURL": URL, "revision": "main", "files": [{"path": "data/a.json"}]}}]);
    assert_eq!(world.of_go(go)[0]["foo"], json!({"bar": "baz"}));
}

#[test]
fn s10_51_excluded_files_are_left_out_wherever_they_stand() {
    let mut world = World::new(&[("e/a/config.json", "{}"), ("e/b/config.json", "{}"), ("e/config.json", "{}")]);
    let git = json!([{"git": {"repoURL": URL, "revision": "main", "files": [{"path": "e/b/**", "exclude": true}, {"path": "e/**/config.json"}]}}]);
    assert_eq!(pick(&world.of_fast(git.clone()), "path"), ["e/a"]);
    world.doublestar = true;
    assert_eq!(pick(&world.of_fast(git), "path"), ["e/a", "e"]);
}

#[test]
fn s10_52_clusters_come_from_secrets_and_the_local_one_without_a_selector() {
    let world = World::new(&[]);
    let values = json!({"lol1": "lol", "lol2": "{{values.lol1}}", "env": "{{ metadata.labels.environment }}"});
    let all = world.of_fast(json!([{"clusters": {"values": values}}]));
    assert_eq!(pick(&all, "name"), ["production_01/west", "staging-01", "in-cluster"]);
    assert_eq!(pick(&all, "nameNormalized"), ["production-01-west", "staging-01", "in-cluster"]);
    assert_eq!(pick(&all, "values.lol2"), ["{{values.lol1}}"; 3]);
    assert_eq!(pick(&all, "values.env"), ["production", "staging", "{{ metadata.labels.environment }}"]);
    assert_eq!(all[2]["server"], json!("https://kubernetes.default.svc"));
    assert_eq!(all[0]["metadata.annotations.foo.argoproj.io"], json!("production"));
    let selected = json!([{"clusters": {"selector": {"matchLabels": {"environment": "production"}}}}]);
    assert_eq!(pick(&world.of_fast(selected), "name"), ["production_01/west"]);
    let flat = world.of_go(json!([{"clusters": {"flatList": true}}]));
    assert_eq!(flat.len(), 1);
    assert_eq!(flat[0]["clusters"].as_array().map(Vec::len), Some(3));
    assert_eq!(flat[0]["clusters"][1]["metadata"]["labels"]["environment"], json!("staging"));
    assert!(flat[0]["clusters"][2].get("metadata").is_none());
}

#[test]
fn clusters_that_nobody_captured_are_not_guessed() {
    let mut world = World::new(&[]);
    world.clusters = Clusters::Unknown("no Secrets".to_owned());
    assert_eq!(world.parameters(false, json!([{"clusters": {}}])).unwrap_err(), "unjudged generator generators[0].clusters: no Secrets");
}

#[test]
fn s10_53_a_matrix_combines_each_with_each_in_order() {
    let world = World::new(&[("app1/a", ""), ("app2/a", "")]);
    let git = json!({"git": {"repoURL": URL, "revision": "main", "directories": [{"path": "*"}]}});
    let list = json!({"list": {"elements": [{"templated": "test-{{path.basenameNormalized}}"}]}});
    let sets = world.of_fast(json!([{"matrix": {"generators": [git, list]}}]));
    assert_eq!(pick(&sets, "templated"), ["test-app1", "test-app2"]);
    let elements = |name: &str| json!({"list": {"elements": [{name: "1"}, {name: "2"}]}});
    let sets = world.of_fast(json!([{"matrix": {"generators": [elements("a"), elements("b")]}}]));
    let pairs: Vec<String> = sets.iter().map(|set| format!("{}{}", set["a"], set["b"]).replace('"', "")).collect();
    assert_eq!(pairs, ["11", "12", "21", "22"]);
    for generators in [json!([elements("a")]), json!([elements("a"), elements("b"), elements("c")])] {
        assert!(world.parameters(false, json!([{"matrix": {"generators": generators}}])).unwrap_err().contains("exactly two"));
    }
    let two = json!({"list": {"elements": []}, "clusters": {}});
    assert!(world.parameters(false, json!([{"matrix": {"generators": [two, elements("a")]}}])).unwrap_err().contains("more than one"));
}

#[test]
fn a_matrix_fails_where_both_name_a_key_with_different_values_unless_for_go() {
    let world = World::new(&[]);
    let elements = |value: &str| json!({"list": {"elements": [{"a": value, "b": {"x": value}}]}});
    let go = json!([{"matrix": {"generators": [elements("1"), elements("2")]}}]);
    assert_eq!(world.of_go(go), [json!({"a": "1", "b": {"x": "1"}})]);
    let texts = |value: &str| json!({"list": {"elements": [{"a": value}]}});
    let fast = json!([{"matrix": {"generators": [texts("1"), texts("2")]}}]);
    assert!(world.parameters(false, fast).unwrap_err().contains("found duplicate key a with different value"));
}

#[test]
fn s10_54_a_selector_in_a_matrix_is_a_template() {
    let mut world = World::new(&[("envs/dev/config.json", "{}"), ("envs/prod/config.json", "{}")]);
    let cluster = |name: &str, environment: &str| Cluster {
        name: name.to_owned(),
        labels: [("environment".to_owned(), environment.to_owned())].into(),
        ..Cluster::default()
    };
    world.clusters = Clusters::Known(vec![cluster("dev-01", "dev"), cluster("prod-01", "prod")]);
    let generators = json!([{"matrix": {"generators": [
        {"git": {"repoURL": URL, "revision": "main", "files": [{"path": "envs/**/config.json"}]}},
        {"clusters": {"selector": {"matchLabels": {"environment": "{{path.basename}}"}}}}]}}]);
    let sets = world.of_fast(generators);
    assert_eq!((pick(&sets, "path.basename"), pick(&sets, "name")), (vec!["dev", "prod"], vec!["dev-01", "prod-01"]));
}

#[test]
fn s10_55_elements_of_a_file_become_a_list() {
    let world = World::new(&[("config.yaml", "foo:\n  bar:\n  - a: 1\n    b: text\n  - a: 2\n    b: other\n")]);
    let generators = json!([{"matrix": {"generators": [
        {"git": {"repoURL": URL, "revision": "main", "files": [{"path": "config.yaml"}]}},
        {"list": {"elements": [], "elementsYaml": "{{ .foo.bar | toJson }}"}}]}}]);
    let sets = world.of_go(generators);
    assert_eq!(
        sets.iter().map(|set| (&set["a"], &set["b"])).collect::<Vec<_>>(),
        [(&json!(1), &json!("text")), (&json!(2), &json!("other"))]
    );
}

#[test]
fn s10_56_values_in_a_matrix_are_rendered_as_far_as_they_can_be() {
    let world = World::new(&[("apps/guestbook/a", "")]);
    let generators = json!([{"matrix": {"generators": [
        {"git": {"repoURL": URL, "revision": "main", "directories": [{"path": "apps/*"}]}},
        {"clusters": {"selector": {"matchLabels": {"environment": "staging"}}, "values": {"env": "{{.path.basename}}", "clusterName": "{{.name}}"}}}]}}]);
    let spec = json!({"goTemplate": true, "goTemplateOptions": ["missingkey=error"], "generators": generators});
    let sets = world.parameters_with(spec).unwrap();
    assert_eq!(sets[0]["values"], json!({"env": "guestbook", "clusterName": "staging-01"}));
}

#[test]
fn s10_57_a_merge_lays_later_sets_over_the_base() {
    let world = World::new(&[]);
    let list = |elements: Value| json!({"list": {"elements": elements}});
    let merged =
        |generators: Value, keys: Value| world.parameters(false, json!([{"merge": {"mergeKeys": keys, "generators": generators}}]));
    let base = list(json!([{"a": "1_1", "b": "same", "c": "1_3"}]));
    let generators = json!([base, list(json!([{"a": "2_1", "b": "same"}])), list(json!([{"a": "3_1", "b": "different"}]))]);
    assert_eq!(merged(generators, json!(["b"])).unwrap(), [json!({"a": "2_1", "b": "same", "c": "1_3"})]);
    let absent = json!([list(json!([{"a": "a"}])), list(json!([{"a": "a"}]))]);
    assert_eq!(merged(absent, json!(["b"])).unwrap(), [json!({"a": "a"})]);
    let elements = |name: &str| list(json!([{name: "1"}, {name: "2"}]));
    let nested = json!([{"matrix": {"generators": [elements("a"), elements("b")]}}, list(json!([{"a": "1", "b": "1", "c": "added"}]))]);
    let sets = merged(nested, json!(["a", "b"])).unwrap();
    assert_eq!(sets[0], json!({"a": "1", "b": "1", "c": "added"}));
    assert_eq!(sets.len(), 4);
    let twice = json!([list(json!([{"a": "1"}, {"a": "1"}])), elements("a")]);
    assert!(merged(twice, json!(["a"])).unwrap_err().contains("not unique by the given mergeKeys"));
    assert!(merged(json!([elements("a"), elements("a")]), json!([])).unwrap_err().contains("no merge keys"));
    assert!(merged(json!([elements("a")]), json!(["a"])).unwrap_err().contains("less than two"));
}

#[test]
fn s10_58_a_post_selector_sees_flattened_parameters() {
    let world = World::new(&[]);
    let with = |selector: Value| {
        let generators = json!([{"list": {"elements": [{"values": {"foo": "bar"}}]}, "selector": selector}]);
        world.parameters(true, generators).map(|sets| sets.len())
    };
    assert_eq!(with(json!({"matchLabels": {"values.foo": "foo"}})), Ok(0));
    assert_eq!(with(json!({"matchLabels": {"values.foo": "bar"}})), Ok(1));
    assert_eq!(with(json!({})), Ok(1));
    assert_eq!(with(Value::Null), Ok(1));
    assert!(with(json!({"matchLabels": {"path[0]": "x"}})).is_err());
    let labels = json!([{"clusters": {}, "selector": {"matchLabels": {"metadata.labels.environment": "staging"}}}]);
    assert_eq!(pick(&world.of_go(labels), "name"), ["staging-01"]);
}

fn application(world: &World, spec: Value) -> Value {
    match world.expand(spec) {
        Expansion::Applications(applications) => applications.into_iter().next().unwrap().object,
        other => panic!("{other:?}"),
    }
}

#[test]
fn s10_60_and_63_empty_parameters_leave_the_template_as_it_is() {
    let world = World::new(&[]);
    let template = json!({"metadata": {"name": "{{.data}}"}, "spec": {}});
    let app = application(&world, json!({"goTemplate": true, "generators": [{"list": {"elements": [{}]}}], "template": template}));
    assert_eq!(app["metadata"], json!({"name": "{{.data}}", "namespace": "argocd"}));
}

#[test]
fn s10_61_keys_are_templates_too() {
    let world = World::new(&[]);
    let template = json!({"metadata": {"name": "x", "annotations": {"annotation-{{key}}": "{{value}}"}}, "spec": {}});
    let app = application(&world, json!({"generators": [{"list": {"elements": [{"key": "k", "value": "v"}]}}], "template": template}));
    assert_eq!(app["metadata"]["annotations"], json!({"annotation-k": "v"}));
}

#[test]
fn s10_62_texts_inside_of_helm_values_are_rendered_and_stay_texts() {
    let world = World::new(&[]);
    let values = json!({"replicas": "{{.n}}", "nested": {"list": ["{{.name}}", 1, true]}});
    let template = json!({"metadata": {"name": "{{.name}}"}, "spec": {"source": {"helm": {"valuesObject": values}}}});
    let app = application(
        &world,
        json!({"goTemplate": true, "generators": [{"list": {"elements": [{"name": "a", "n": 3}]}}], "template": template}),
    );
    assert_eq!(app["spec"]["source"]["helm"]["valuesObject"], json!({"replicas": "3", "nested": {"list": ["a", 1, true]}}));
}

#[test]
fn s10_63_the_finalizer_is_added_unless_there_is_one_or_the_set_preserves() {
    let world = World::new(&[]);
    let finalizers = |own: Value, policy: Value| {
        let template = json!({"metadata": {"name": "x", "finalizers": own}, "spec": {}});
        let spec = json!({"generators": [{"list": {"elements": [{"a": "b"}]}}], "template": template, "syncPolicy": policy});
        application(&world, spec)["metadata"]["finalizers"].clone()
    };
    assert_eq!(finalizers(Value::Null, Value::Null), json!(["resources-finalizer.argocd.argoproj.io"]));
    assert_eq!(finalizers(Value::Null, json!({"preserveResourcesOnDeletion": true})), Value::Null);
    assert_eq!(finalizers(json!(["own"]), json!({"preserveResourcesOnDeletion": true})), json!(["own"]));
    assert_eq!(finalizers(json!(["own"]), Value::Null), json!(["own"]));
}

#[test]
fn s10_65_the_patch_is_a_template_and_comes_after_the_finalizer() {
    let world = World::new(&[]);
    let patch = "{{- if .auto }}\nspec:\n  project: evil\n  syncPolicy:\n    automated:\n      prune: {{ .auto }}\n{{- end }}\n";
    let spec = |auto: bool| {
        json!({"goTemplate": true, "generators": [{"list": {"elements": [{"name": "a", "auto": auto}]}}], "templatePatch": patch,
            "template": {"metadata": {"name": "{{.name}}"}, "spec": {"project": "default"}}})
    };
    let patched = application(&world, spec(true));
    assert_eq!(patched["spec"], json!({"project": "default", "syncPolicy": {"automated": {"prune": true}}}));
    assert_eq!(application(&world, spec(false))["spec"], json!({"project": "default"}));
}

#[test]
fn s10_66_a_generators_own_template_wins_and_maps_are_joined() {
    let world = World::new(&[]);
    let own = json!({"metadata": {"name": "test", "labels": {"foo": "bar"}}, "spec": {"source": {"path": "own"}}});
    let template = json!({"metadata": {"name": "name", "labels": {"label_name": "label_value"}},
        "spec": {"project": "p", "source": {"path": "set", "repoURL": "r"}}});
    let app = application(&world, json!({"generators": [{"list": {"elements": [{"a": "b"}], "template": own}}], "template": template}));
    assert_eq!(app["metadata"]["name"], json!("test"));
    assert_eq!(app["metadata"]["labels"], json!({"foo": "bar", "label_name": "label_value"}));
    assert_eq!(app["spec"], json!({"project": "p", "source": {"path": "own", "repoURL": "r"}}));
}

#[test]
fn s10_67_equal_names_are_told_and_a_mistyped_generator_gives_nothing() {
    let world = World::new(&[]);
    let template = json!({"metadata": {"name": "{{name}}"}, "spec": {}});
    let elements = json!([{"name": "a"}, {"name": "b"}, {"name": "a"}]);
    let Expansion::Applications(applications) =
        world.expand(json!({"generators": [{"list": {"elements": elements}}], "template": template.clone()}))
    else {
        panic!("no Applications");
    };
    assert_eq!(duplicate_names(&applications), ["a"]);
    let mistyped = world.expand(json!({"generators": [{"lists": {"elements": elements}}], "template": template}));
    assert_eq!(mistyped, Expansion::Applications(Vec::new()));
}

#[test]
fn s10_68_what_needs_the_network_is_never_nothing() {
    let world = World::new(&[]);
    for kind in ["pullRequest", "scmProvider", "plugin"] {
        let error = world.parameters(true, json!([{kind: {"github": {}}}])).unwrap_err();
        assert!(error.starts_with(&format!("unjudged generator generators[0].{kind}: ")), "{error}");
    }
    let inside = json!([{"matrix": {"generators": [{"list": {"elements": [{"a": "b"}]}}, {"pullRequest": {}}]}}]);
    assert!(world.parameters(true, inside).unwrap_err().starts_with("unjudged generator generators[0].matrix.generators[1].pullRequest"));
    let elsewhere = json!([{"git": {"repoURL": "https://other.example.test/x", "directories": [{"path": "*"}]}}]);
    assert!(world.parameters(true, elsewhere).unwrap_err().contains("unjudged"));
}

#[test]
fn an_error_of_one_generator_stops_all() {
    let world = World::new(&[]);
    let template = json!({"metadata": {"name": "{{.name}}"}, "spec": {}});
    let spec = json!({"goTemplate": true, "goTemplateOptions": ["missingkey=error"], "template": template,
        "generators": [{"list": {"elements": [{"name": "a"}]}}, {"list": {"elements": [{"other": "b"}]}}]});
    assert!(matches!(world.expand(spec), Expansion::Fails(message) if message.contains("no entry for key \"name\"")));
}

#[test]
fn the_parameters_of_live_applications_stand_for_those_that_only_the_network_knows() {
    let set = |name: &str, path: &str| {
        let template = json!({"metadata": {"name": name, "labels": {"branch": "{{ .branch }}"}}, "spec": {"project": "default",
            "source": {"path": path, "targetRevision": "{{.head_sha}}"}, "destination": {}}});
        let object = json!({"metadata": {"name": "previews"}, "spec": {"goTemplate": true, "generators": [{"pullRequest": {}}], "template": template}});
        ApplicationSet::read(object.into(), "argocd").unwrap()
    };
    let live = json!({"metadata": {"name": "preview-7", "labels": {"branch": "feature"}}, "spec": {"source": {"path": "apps/a", "targetRevision": "abc"}}});
    let before = set("preview-{{.number}}", "apps/a");
    let made = like_live(&before, &set("pr-{{.number}}-{{.branch}}", "apps/b"), &[&live]).unwrap();
    assert_eq!(made[0].object["metadata"]["name"], json!("pr-7-feature"));
    assert_eq!(made[0].object["spec"]["source"], json!({"path": "apps/b", "targetRevision": "abc"}));
    let unknown = like_live(&before, &set("pr-{{.title}}", "apps/b"), &[&live]).unwrap_err();
    assert!(unknown.contains("the parameter title cannot be read off"), "{unknown}");
    assert!(like_live(&before, &set("pr-{{ .number | lower }}", "apps/b"), &[&live]).is_err());
}

#[test]
fn parameters_are_kept_with_each_application() {
    let world = World::new(&[]);
    let sets: BTreeMap<String, Value> = match world.expand(json!({"generators": [{"list": {"elements": [{"name": "a"}]}}],
        "template": {"metadata": {"name": "{{name}}"}, "spec": {}}}))
    {
        Expansion::Applications(all) => all.into_iter().map(|one| (one.object["metadata"]["name"].to_string(), one.parameters)).collect(),
        other => panic!("{other:?}"),
    };
    assert_eq!(sets["\"a\""], json!({"name": "a"}));
}
