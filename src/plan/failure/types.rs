//! Values that the API server refuses for their type or spelling: `value: true` in an env list, a number in a ConfigMap.
//!
//! Takes one manifest and the types of all kinds; hands on the first such value. Kinds without a type are not looked at.

use serde_json::{Map, Value};

use super::subject::{Subject, dotted, join};
use super::{Certainty, FailureKind, Problem};
use crate::manifest::base64;
use crate::plan::schema::{Schemas, TypeError};
use crate::snapshot::is_redacted;

/// The first value that the API server refuses for its type or spelling.
///
/// The API server refuses a wrong type in the middle of the sync; the client-side dry run lets it pass (measured).
pub(super) fn problem(subject: &Subject<'_>, object: &Value, schemas: &Schemas) -> Option<Problem> {
    if let Some(TypeError { pointer, expected }) = schemas.refused_values(object).into_iter().next() {
        let got = object.pointer(&pointer).map_or("nothing", name_of);
        let reason = format!("{} of {subject} must be {expected} (got {got})", dotted(&pointer));
        let certainty = if subject.is_built_in() { Certainty::Measured } else { Certainty::Likely };
        return Some(Problem::new(FailureKind::TypeError { pointer, expected, got }, certainty, reason));
    }
    if let Some(pointer) = not_base64(subject, object) {
        let reason = format!("{} of {subject} is not base64", dotted(&pointer));
        let remark = ". Put plain text under stringData";
        return Some(Problem::new(FailureKind::InvalidValue { pointer }, Certainty::Likely, reason).with_remark(remark));
    }
    let pointer = port_number_as_name(subject, object)?;
    let reason = format!("{} of {subject} is a port number written as a string, which is read as a port's name", dotted(&pointer));
    Some(Problem::new(FailureKind::InvalidValue { pointer }, Certainty::Measured, reason).with_remark(". Remove the quotes"))
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

/// The first value of a Secret's `data` that the API server cannot decode.
fn not_base64(subject: &Subject<'_>, object: &Value) -> Option<String> {
    let data = object.get("data").and_then(Value::as_object).filter(|_| subject.is_secret())?;
    let (key, _) =
        data.iter().find(|(_, value)| !is_redacted(value) && value.as_str().is_some_and(|text| base64::decode(text).is_none()))?;
    Some(join("/data", key))
}

/// A port by name needs a letter (apimachinery `IsValidPortName`): `targetPort: "8080"` is refused.
fn port_number_as_name(subject: &Subject<'_>, object: &Value) -> Option<String> {
    let digits = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    let list =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object).enumerate();
    if subject.is("", "Service") {
        let mut ports = list("/spec/ports");
        return ports
            .find(|(_, port)| port.get("targetPort").is_some_and(digits))
            .map(|(index, _)| format!("/spec/ports/{index}/targetPort"));
    }
    let pod = subject.pod_spec()?;
    list(&format!("{pod}/containers")).find_map(|(index, container)| {
        let below = probe_port(container, digits)?;
        Some(format!("{pod}/containers/{index}/{below}"))
    })
}

fn probe_port(container: &Map<String, Value>, digits: impl Fn(&Value) -> bool) -> Option<String> {
    let probes = ["livenessProbe", "readinessProbe", "startupProbe"];
    probes.into_iter().find_map(|probe| {
        let actions = ["httpGet", "tcpSocket"];
        let action = actions
            .into_iter()
            .find(|action| container.get(probe).and_then(|probe| probe.get(*action)?.get("port")).is_some_and(&digits))?;
        Some(format!("{probe}/{action}/port"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(container: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
               "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}}})
    }

    fn message(object: &Value) -> Option<String> {
        problem(&Subject::of(object, None), object, Schemas::builtin()).map(|problem| problem.into_failure().message)
    }

    #[test]
    fn a_bare_boolean_in_env_is_named_with_its_place() {
        let object = deployment(json!({"name": "a", "env": [{"name": "X", "value": true}]}));
        assert_eq!(
            message(&object).as_deref(),
            Some(
                "spec.template.spec.containers[0].env[0].value of Deployment a must be a string (got boolean): the sync will fail at this object"
            )
        );
    }

    #[test]
    fn the_types_of_an_application_are_known_without_its_definition() {
        let automated = |prune: Value| {
            let spec = json!({"project": "default", "destination": {}, "source": {}, "syncPolicy": {"automated": {"prune": prune}}});
            message(&json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": spec}))
        };
        assert_eq!(
            automated(json!("yes please")).unwrap(),
            "spec.syncPolicy.automated.prune of Application a must be a boolean (got string): the sync will likely fail at this object"
        );
        assert_eq!(automated(json!(true)), None);
    }

    #[test]
    fn numbers_are_wrong_where_text_belongs_and_text_where_numbers_belong() {
        let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
        assert!(
            message(&map(json!({"port": 80})))
                .is_some_and(|text| text.starts_with("data.port of ConfigMap a must be a string (got integer)"))
        );
        assert!(message(&map(json!({"ratio": 0.5}))).is_some_and(|text| text.contains("(got number)")));
        assert_eq!(message(&map(json!({"none": null}))), None);
        let mut object = deployment(json!({"name": "a"}));
        object["spec"]["replicas"] = json!("two");
        assert!(message(&object).is_some_and(|text| text.starts_with("spec.replicas of Deployment a must be an integer (got string)")));
    }

    #[test]
    fn every_kind_with_a_type_is_looked_at() {
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "a"},
            "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": {"service": {"name": "a", "port": {"number": "80"}}}}]}}]}});
        assert!(message(&ingress).is_some_and(|text| text.starts_with("spec.rules[0].http.paths[0].backend.service.port.number")));
        let crd = json!({"spec": {"group": "example.test", "scope": "Namespaced", "names": {"kind": "Shelf"}, "versions": [{"name": "v1", "served": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"rows": {"type": "integer"}}}}}}}]}});
        let shelf = json!({"apiVersion": "example.test/v1", "kind": "Shelf", "metadata": {"name": "a"}, "spec": {"rows": "two"}});
        let schemas = Schemas::with_crds([&crd]);
        let found = problem(&Subject::of(&shelf, None), &shelf, &schemas).map(|problem| problem.into_failure().message);
        assert_eq!(
            found.as_deref(),
            Some("spec.rows of Shelf a must be an integer (got string): the sync will likely fail at this object")
        );
    }

    #[test]
    fn well_typed_values_and_custom_resources_pass() {
        let container = json!({"name": "a", "env": [{"name": "X", "value": "true"}, {"name": "Y", "value": null}, {"name": "Z", "valueFrom": {}}],
            "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": 0.5, "memory": "1Gi"}}, "livenessProbe": {"httpGet": {"port": "http"}}});
        assert_eq!(message(&deployment(container)), None);
        let custom = json!({"apiVersion": "example.test/v1", "kind": "Shelf", "metadata": {"name": "a"}, "data": {"x": 1}, "spec": {"replicas": "two"}});
        assert_eq!(message(&custom), None);
    }

    #[test]
    fn data_of_a_secret_that_is_no_base64_will_likely_fail() {
        let secret =
            |field: &str, value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, field: {"key": value}});
        let text = message(&secret("data", "plain text"));
        assert!(text.is_some_and(|text| text.starts_with("data.key of Secret a is not base64: the sync will likely fail")));
        assert_eq!(message(&secret("stringData", "plain text")), None);
        assert_eq!(message(&secret("data", "cGxhaW4=")), None);
    }

    #[test]
    fn a_quoted_port_number_is_refused_as_a_name() {
        let service = |port: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80, "targetPort": port}]}});
        assert!(message(&service(json!("8080"))).is_some_and(|text| text.starts_with("spec.ports[0].targetPort of Service a")));
        assert_eq!(message(&service(json!(8080))), None);
        assert_eq!(message(&service(json!("http"))), None);
        assert!(message(&deployment(json!({"name": "a", "readinessProbe": {"tcpSocket": {"port": "80"}}}))).is_some());
    }
}
