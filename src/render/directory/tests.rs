//! The directory cases of Argo CD's own tests (`reposerver/repository/repository_test.go`), by their numbers.

use serde_json::{Value, json};

use super::*;
use crate::render::fixture::{Setup, tree};

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n";

fn render(files: &[(&str, &str)], links: &[(&str, &str)], directory: Value) -> Result<Vec<String>, String> {
    let rendered = Setup::new("a").render(&tree(files, links), json!({"path": "app", "directory": directory}));
    match rendered {
        Ok(rendered) => Ok(rendered.manifests.iter().map(|manifest| manifest.key.name.to_string()).collect()),
        Err(Stop::Failed(error)) => Err(error.message.clone()),
        Err(Stop::Unjudged { what, why }) => Err(format!("{what}: {why}")),
    }
}

fn object(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

fn count(files: &[(&str, &str)]) -> Result<usize, String> {
    render(files, &[], json!({})).map(|names| names.len())
}

#[test]
fn s10_09_subfolders_are_read_where_the_source_recurses() {
    let (a, b, c, d) = (object("a"), object("b"), object("c"), object("d"));
    let files = [("app/a.yaml", &*a), ("app/b.yml", &*b), ("app/sub/c.yaml", &*c), ("app/sub/.deep/d.yaml", &*d)];
    assert_eq!(render(&files, &[], json!({"recurse": false})).unwrap(), ["a", "b"]);
    assert_eq!(render(&files, &[], json!({"recurse": true})).unwrap().len(), 4);
}

#[test]
fn s10_10_include_and_exclude_match_the_whole_path_across_slashes() {
    let (root, sub) = (object("root"), object("sub"));
    let files = [("app/deployment.yaml", &*root), ("app/subdir/deploymentSub.yaml", &*sub)];
    let with = |field: &str, pattern: &str| render(&files, &[], json!({"recurse": true, field: pattern})).unwrap();
    assert_eq!(with("include", "*.yaml"), ["root", "sub"]);
    assert_eq!(with("include", "**/*.yaml"), ["sub"]);
    assert_eq!(with("include", "subdir/deploymentSub.yaml"), ["sub"]);
    assert!(with("exclude", "*.yaml").is_empty());
    assert_eq!(with("exclude", "subdir/deploymentSub.yaml"), ["root"]);
}

#[test]
fn s10_11_yaml_that_is_no_manifest_is_left_out() {
    assert_eq!(count(&[("app/a.yaml", GOOD), ("app/values.yaml", "replicas: 3\n"), ("app/broken.yaml", "a: [b\n")]), Ok(1));
}

#[test]
fn s10_12_a_broken_manifest_fails_unless_the_file_is_skipped() {
    let partial = format!("{GOOD}---\na: [b\n");
    assert!(count(&[("app/a.yaml", &partial)]).unwrap_err().contains("app/a.yaml cannot be read"));
    let invalid = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [a\n";
    assert!(count(&[("app/a.yaml", invalid)]).is_err());
    assert_eq!(count(&[("app/a.yaml", &format!("# +argocd:skip-file-rendering\n{invalid}"))]), Ok(0));
}

#[test]
fn s10_13_a_json_file_is_one_object() {
    let one = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#;
    assert_eq!(count(&[("app/a.json", one)]), Ok(1));
    assert!(count(&[("app/a.json", &format!("{one}\n{one}"))]).is_err());
    assert!(count(&[("app/a.json", "{")]).is_err());
}

#[test]
fn s10_14_links_are_followed_to_files_inside_the_repository() {
    let link = |target: &str| render(&[("app/README.md", ""), ("other/a.yaml", GOOD)], &[("app/l.yaml", target)], json!({}));
    assert_eq!(link("../other/a.yaml").unwrap(), ["good"]);
    assert_eq!(link("../nowhere.yaml").unwrap().len(), 0);
    assert!(link("../../outside.yaml").unwrap_err().contains("leaves the repository"));
    assert!(link("l.yaml").unwrap_err().contains("circle"));
}

#[test]
fn s10_15_the_size_of_all_files_is_bounded_and_jsonnet_does_not_count() {
    let filler = |bytes: u64| format!("{GOOD}# {}\n", "x".repeat(usize::try_from(bytes).unwrap()));
    let large = filler(MAX_COMBINED_BYTES - 2 * GOOD.len() as u64 - 3);
    assert_eq!(count(&[("app/a.yaml", &large), ("app/b.yaml", GOOD)]), Ok(2));
    assert!(count(&[("app/a.yaml", &large), ("app/b.yaml", &format!("{GOOD} "))]).unwrap_err().contains("limit of 10 MB"));
}

#[test]
fn s10_16_lists_are_expanded_and_null_lists_dropped() {
    let null = "apiVersion: v1\nkind: List\nitems: null\n";
    let weird = "apiVersion: v1\nkind: Weird\nmetadata: {name: w}\nspec: {}\nitems: null\n";
    assert_eq!(count(&[("app/a.yaml", &format!("{GOOD}---\n{null}"))]), Ok(1));
    assert_eq!(count(&[("app/a.yaml", &format!("{GOOD}---\napiVersion: v1\nkind: List\nitems: []\n"))]), Ok(1));
    assert_eq!(count(&[("app/a.yaml", &format!("{GOOD}---\n{weird}"))]), Ok(2));
}

#[test]
fn s10_18_a_pattern_that_cannot_be_read_never_matches() {
    let files = [("app/hello.yaml", GOOD)];
    let with = |field: &str, pattern: &str| render(&files, &[], json!({field: pattern})).unwrap().len();
    assert_eq!((with("include", "h*"), with("include", "e*"), with("include", "e[[a*"), with("exclude", "e[[a*")), (1, 0, 0, 1));
}

#[test]
fn what_is_no_object_is_called_what_it_is() {
    let message = |name: &str, text: &str| count(&[("app/a.yaml", GOOD), (name, text)]).unwrap_err();
    assert!(message("app/b.json", "[{\"kind\": \"ConfigMap\"}]").starts_with("app/b.json is a list and no object"));
    assert!(message("app/b.json", "7").starts_with("app/b.json is a plain value and no object"));
    assert!(message("app/b.json", "{\"a\": 1}").starts_with("app/b.json has no kind"));
    assert!(message("app/b.yaml", &format!("{GOOD}---\n- a\n")).starts_with("a document of app/b.yaml is a list and no object"));
}

#[test]
fn a_list_with_an_item_that_is_no_object_fails() {
    let list = |item: &str| count(&[("app/list.yaml", &format!("apiVersion: v1\nkind: List\nitems: [{item}]\n"))]);
    assert!(list("null").unwrap_err().starts_with("an item of the list in app/list.yaml is null and no object"));
    assert!(list("text").unwrap_err().contains("is a plain value and no object"));
    assert_eq!(list("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), Ok(1));
    assert_eq!(list(""), Ok(0));
}

#[test]
fn classes_are_turned_round_by_an_exclamation_mark_only() {
    let files = [("app/a.yaml", &*object("a")), ("app/b.yaml", &*object("b"))];
    let with = |pattern: &str| render(&files, &[], json!({"include": pattern})).unwrap();
    assert_eq!(with("[!a].yaml"), ["b"]);
    assert_eq!(with("[^a].yaml"), ["a"]);
}
