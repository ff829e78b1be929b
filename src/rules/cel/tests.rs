use serde_json::json;

use super::super::fixture::*;
use super::super::{RuleError, RuleSet, judge};
use crate::finding::Severity;
use crate::plan::{Action, AppChange, Reason};

fn definition(body: &str) -> String {
    format!(
        "id: acme/rule\nsince: 1.0.0\nstatus: stable\nseverity: error\ngrades: {{mild: {{severity: info, when: it is mild}}}}\nneeds: []\nsummary: s\nwhy: w\n\
         help: h\nfix: f\nexample: {{bad: b, finding: f, good: g}}\nparameters: {{limit: 3}}\nlogic: cel\ncel:\n{body}"
    )
}

fn load(body: &str) -> Result<RuleSet, RuleError> {
    let mut rules = RuleSet::builtin().unwrap().only(&[]);
    rules.add([("rule.yaml", definition(body).as_str())])?;
    Ok(rules)
}

fn expression(text: &str) -> Result<RuleSet, RuleError> {
    load(&format!("  validations: [{{expression: {}, message: m}}]", json!(text)))
}

fn run(rules: &RuleSet) -> Result<Vec<crate::finding::Finding>, RuleError> {
    let map = |value: i64| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "spec": {"replicas": value}});
    let change = changed(map(1), map(2), map(7), Action::Update, Reason::Differs { fields: 1 });
    let run = Run { plans: vec![plan("a", vec![change])], ..Run::default() };
    judge(&run.facts(), rules).map(|judged| judged.findings)
}

#[test]
fn variables_parameters_and_objects_are_at_hand_and_numbers_add_up() {
    let rules = load(
        "  match: {actions: [update]}\n  matchConditions: [{name: map, expression: \"change.kind == 'ConfigMap'\"}]\n\
         \x20 variables: [{name: more, expression: object.spec.replicas + 1}, {name: twice, expression: variables.more * 2}]\n\
         \x20 validations:\n    - expression: variables.more < params.limit\n\
         \x20     messageExpression: \"change.named + ' has ' + string(variables.twice) + ' of ' + string(oldObject.spec.replicas)\"\n      grade: mild\n",
    )
    .unwrap();
    let found = run(&rules).unwrap();
    assert_eq!(found[0].message, "ConfigMap shop/c has 6 of 7");
    assert_eq!(found[0].severity, Severity::Info);
    assert_eq!(found[0].places.len(), 1, "an object without a place of its own rule points at itself");
}

#[test]
fn an_expression_that_fails_is_an_error_with_rule_expression_and_object_and_no_finding() {
    let error = run(&expression("object.spec.missing > 1").unwrap()).unwrap_err().to_string();
    assert!(error.contains("acme/rule, ConfigMap shop/c of argocd/a") && error.contains("object.spec.missing"), "{error}");
    let error = run(&expression("object.spec.replicas").unwrap()).unwrap_err().to_string();
    assert!(error.contains("must be true or false"), "{error}");
}

#[test]
fn unknown_names_are_found_at_load() {
    let unknown = [
        "objekt.kind == 'x'",
        "object.kind.startWith('x')",
        "params.limits > 1",
        "variables.x > 1",
        "foo(object)",
        "change.cascade.all(c, d.kind == 'x')",
    ];
    for text in unknown {
        assert!(matches!(expression(text), Err(RuleError::InFile { place: Some(_), .. })), "{text}");
    }
    assert!(expression("change.cascade.all(c, c.kind.startsWith('x')) && has(object.spec) && object.?spec.?x.orValue(1) == 1").is_ok());
}

#[test]
fn long_large_and_deeply_nested_expressions_are_refused() {
    let long = format!("1 == {}1", "1 + ".repeat(600));
    assert!(matches!(expression(&long), Err(RuleError::InFile { .. })));
    let nested = |depth: usize| {
        let list = "['a']";
        (0..depth).fold("true".to_owned(), |inner, level| format!("{list}.all(v{level}, {inner})"))
    };
    assert!(expression(&nested(3)).is_ok());
    assert!(expression(&nested(4)).err().unwrap().to_string().contains("more than 3 deep"));
    let parentheses = format!("{}true{}", "(".repeat(900), ")".repeat(900));
    assert!(expression(&parentheses).is_err());
}

#[test]
fn loops_variables_and_texts_that_grow_without_end_are_stopped() {
    let said = |text: &str| run(&expression(text).unwrap()).unwrap_err().to_string();
    let many = "lists.range(1000)";
    let nested = format!("{many}.all(a, {many}.all(b, {many}.all(c, a + b + c >= 0)))");
    assert!(said(&nested).contains("takes more than 5000000 steps"), "{}", said(&nested));
    let tenfold = "'aaaaaaaaaa'";
    let texts = format!("'a'{} == ''", format!(".replace('a', {tenfold})").repeat(9));
    for text in ["size(lists.range(900000)) > 1", "size(lists.range(90000).distinct()) > 1", texts.as_str()] {
        assert!(said(text).contains("more than"), "{text}: {}", said(text));
    }
    let doubled: String = (1..40).map(|at| format!(", {{name: v{at}, expression: variables.v{0} + variables.v{0}}}", at - 1)).collect();
    let rules = load(&format!(
        "  variables: [{{name: v0, expression: \"['a', 'b']\"}}{doubled}]\n  validations: [{{expression: size(variables.v39) > 1, message: m}}]"
    ));
    let error = run(&rules.unwrap()).unwrap_err().to_string();
    assert!(error.contains("makes a text or list of more than 500000 parts"), "{error}");
}

#[test]
fn counting_what_an_expression_costs_changes_nothing_of_what_it_says() {
    for text in [
        "lists.range(500).map(x, x + 1).filter(x, x % 2 == 0).size() == 250",
        "['b', 'a', 'b'].distinct().sort().join('-') == 'a-b' && ['a'].join() == 'a'",
        "'a-b-c'.replace('-', '+') == 'a+b+c' && 'a-b-c'.replace('-', '+', 1) == 'a+b-c' && 'aXb'.replace('', '.') == '.a.X.b.'",
        "{'k': [1, 2].map(x, x * 2)}.k == [2, 4] && 'x%sy'.format(['z']) == 'xzy' && 'ab'.substring(1) == 'b'",
        "object.metadata.exists(key, key == 'name') && has(object.spec.replicas) && object.?spec.?x.orValue('d') == 'd'",
    ] {
        assert!(run(&expression(text).unwrap()).unwrap().is_empty(), "{text}");
    }
    let error = run(&expression("[1].join('-') == ''").unwrap()).unwrap_err().to_string();
    assert!(error.contains("joins something that is no text"), "{error}");
}

#[test]
fn the_longest_chain_that_is_accepted_runs() {
    let chain = format!("{}1 > 0", "1+".repeat(900));
    assert!(run(&expression(&chain).unwrap()).unwrap().is_empty());
}

#[test]
fn a_definition_with_an_unknown_field_or_an_id_of_ours_is_refused() {
    assert!(matches!(load("  validation: []"), Err(RuleError::InFile { place: Some(_), .. })));
    let mut rules = RuleSet::builtin().unwrap();
    let ours = definition("  validations: [{expression: 'true', message: m}]").replace("acme/rule", "prune-crd");
    assert!(matches!(rules.add([("rule.yaml", ours.as_str())]), Err(RuleError::InFile { .. })));
}

#[test]
fn a_mistake_is_pointed_at_in_the_rule_file() {
    let RuleError::InFile { message, text, place: Some(place), .. } = expression("change.knid == 'Pod'").unwrap_err() else {
        panic!("no place")
    };
    assert!(
        message.starts_with("rule.yaml:15:31: ")
            && message.ends_with("uses `change.knid`, which is not defined; did you mean `change.kind`?"),
        "{message}"
    );
    assert_eq!(&text.inner()[place.offset()..place.offset() + place.len()], "change.knid");
    let RuleError::InFile { message, .. } = expression("change.wave > 'a'").unwrap_err() else { panic!("no place") };
    assert!(message.contains("compares a whole number and a text"), "{message}");
    let message = load("  match: {actions: [prnue]}\n  validations: [{expression: 'true', message: m}]").unwrap_err().to_string();
    assert!(message.contains("there is no action `prnue`"), "{message}");
}

#[test]
fn a_rule_about_applications_is_evaluated_once_for_each() {
    let each = |expression: &str| {
        load(&format!("  each: application\n  validations: [{{expression: {}, messageExpression: app.name}}]", json!(expression)))
    };
    let map = |name: &str| added(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}}));
    let mut edited = plan("a", vec![map("one"), map("two")]);
    edited.change = AppChange::Modified;
    let facts = Run { plans: vec![edited, plan("b", vec![map("three")])], ..Run::default() };
    let found = judge(&facts.facts(), &each("!app.automated && object.kind == 'Application'").unwrap()).unwrap().findings;
    let said: Vec<_> = found.iter().map(|finding| (finding.message.as_str(), finding.introduced, finding.places.len())).collect();
    assert_eq!(said, [("a", true, 1), ("b", false, 1)]);
    assert!(each("change.kind == 'x'").unwrap_err().to_string().contains("`each: application` does not have"));
}

#[test]
fn an_object_knows_its_namespace_and_the_time_of_the_merge() {
    let rules =
        load("  validations: [{expression: \"label(namespaceObject, 'tier') != 'critical' || now.weekday != 'Friday'\", message: m}]")
            .unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"tier": "critical"}}});
    let map = added(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}}));
    let on = |day: &str| {
        let now = format!("{day}T12:00:00Z").parse::<jiff::Timestamp>().unwrap().as_second();
        let run =
            Run { plans: vec![plan("a", vec![map.clone()])], live: snapshot(std::slice::from_ref(&namespace)), now, ..Run::default() };
        judge(&run.facts(), &rules).unwrap().findings.len()
    };
    assert_eq!((on("2026-12-04"), on("2026-12-03")), (1, 0));
}
