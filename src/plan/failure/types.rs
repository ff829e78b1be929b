//! Values of the wrong type in well-known places: `value: true` in an env list, a number in a ConfigMap.
//!
//! Takes one manifest; hands on the places. Fields that the tables here do not name, and custom resources, are not looked at.

use serde_json::{Map, Value};

use super::subject::{Subject, dotted, join};
use super::{Certainty, FailureKind, Problem};
use crate::manifest::base64;
use crate::snapshot::is_redacted;

/// A value that is not of the type its field has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// JSON pointer of the value.
    pub pointer: String,
    /// What the field takes, with its article.
    pub expected: &'static str,
    /// What the manifest has, without an article.
    pub got: &'static str,
}

/// The type that a field takes; a null passes everywhere.
enum Shape {
    Text,
    Integer,
    Boolean,
    /// A port or percentage.
    IntegerOrText,
    /// Text or number.
    Quantity,
    /// A map with values of one type and keys of the user's.
    Map(&'static Shape),
    List(&'static Shape),
    Fields(&'static [(&'static str, Shape)]),
}

use Shape::{Boolean, Fields, Integer, IntegerOrText, List, Quantity, Text};

const TEXTS: Shape = List(&Text);
const TEXT_MAP: Shape = Shape::Map(&Text);

const METADATA: Shape = Fields(&[("name", Text), ("namespace", Text), ("labels", TEXT_MAP), ("annotations", TEXT_MAP)]);

const SELECTOR: Shape =
    Fields(&[("matchLabels", TEXT_MAP), ("matchExpressions", List(&Fields(&[("key", Text), ("operator", Text), ("values", TEXTS)])))]);

const RESOURCES: Shape = Fields(&[("requests", Shape::Map(&Quantity)), ("limits", Shape::Map(&Quantity))]);

const PROBE: Shape = Fields(&[
    ("initialDelaySeconds", Integer),
    ("timeoutSeconds", Integer),
    ("periodSeconds", Integer),
    ("successThreshold", Integer),
    ("failureThreshold", Integer),
    ("exec", Fields(&[("command", TEXTS)])),
    ("httpGet", Fields(&[("path", Text), ("port", IntegerOrText), ("scheme", Text), ("host", Text)])),
    ("tcpSocket", Fields(&[("port", IntegerOrText)])),
]);

const CONTAINERS: Shape = List(&Fields(&[
    ("name", Text),
    ("image", Text),
    ("imagePullPolicy", Text),
    ("command", TEXTS),
    ("args", TEXTS),
    ("workingDir", Text),
    ("tty", Boolean),
    ("stdin", Boolean),
    ("env", List(&Fields(&[("name", Text), ("value", Text)]))),
    ("ports", List(&Fields(&[("containerPort", Integer), ("hostPort", Integer), ("name", Text), ("protocol", Text)]))),
    ("volumeMounts", List(&Fields(&[("name", Text), ("mountPath", Text), ("subPath", Text), ("readOnly", Boolean)]))),
    ("resources", RESOURCES),
    ("livenessProbe", PROBE),
    ("readinessProbe", PROBE),
    ("startupProbe", PROBE),
    ("securityContext", SECURITY),
]));

const SECURITY: Shape = Fields(&[
    ("runAsUser", Integer),
    ("runAsGroup", Integer),
    ("fsGroup", Integer),
    ("runAsNonRoot", Boolean),
    ("privileged", Boolean),
    ("readOnlyRootFilesystem", Boolean),
    ("allowPrivilegeEscalation", Boolean),
]);

const POD_SPEC: Shape = Fields(&[
    ("containers", CONTAINERS),
    ("initContainers", CONTAINERS),
    ("volumes", List(&Fields(&[("name", Text)]))),
    ("nodeSelector", TEXT_MAP),
    ("serviceAccountName", Text),
    ("priorityClassName", Text),
    ("restartPolicy", Text),
    ("hostNetwork", Boolean),
    ("automountServiceAccountToken", Boolean),
    ("terminationGracePeriodSeconds", Integer),
    ("activeDeadlineSeconds", Integer),
    ("securityContext", SECURITY),
    ("tolerations", List(&Fields(&[("key", Text), ("operator", Text), ("value", Text), ("effect", Text), ("tolerationSeconds", Integer)]))),
    ("imagePullSecrets", List(&Fields(&[("name", Text)]))),
]);

const TEMPLATE: Shape = Fields(&[("metadata", METADATA), ("spec", POD_SPEC)]);

const CLAIM_SPEC: Shape = Fields(&[
    ("accessModes", TEXTS),
    ("storageClassName", Text),
    ("volumeName", Text),
    ("volumeMode", Text),
    ("resources", RESOURCES),
    ("selector", SELECTOR),
]);

const JOB_SPEC: Shape = Fields(&[
    ("parallelism", Integer),
    ("completions", Integer),
    ("backoffLimit", Integer),
    ("activeDeadlineSeconds", Integer),
    ("ttlSecondsAfterFinished", Integer),
    ("suspend", Boolean),
    ("template", TEMPLATE),
]);

const WORKLOAD: Shape = Fields(&[
    ("metadata", METADATA),
    (
        "spec",
        Fields(&[
            ("replicas", Integer),
            ("minReadySeconds", Integer),
            ("revisionHistoryLimit", Integer),
            ("progressDeadlineSeconds", Integer),
            ("paused", Boolean),
            ("serviceName", Text),
            ("podManagementPolicy", Text),
            ("selector", SELECTOR),
            ("template", TEMPLATE),
            ("volumeClaimTemplates", List(&Fields(&[("metadata", METADATA), ("spec", CLAIM_SPEC)]))),
        ]),
    ),
]);

const SERVICE: Shape = Fields(&[
    ("metadata", METADATA),
    (
        "spec",
        Fields(&[
            ("type", Text),
            ("clusterIP", Text),
            ("externalName", Text),
            ("selector", TEXT_MAP),
            ("publishNotReadyAddresses", Boolean),
            (
                "ports",
                List(&Fields(&[
                    ("name", Text),
                    ("protocol", Text),
                    ("port", Integer),
                    ("targetPort", IntegerOrText),
                    ("nodePort", Integer),
                ])),
            ),
        ]),
    ),
]);

const CONFIG_MAP: Shape = Fields(&[("metadata", METADATA), ("data", TEXT_MAP), ("binaryData", TEXT_MAP), ("immutable", Boolean)]);
const SECRET: Shape =
    Fields(&[("metadata", METADATA), ("data", TEXT_MAP), ("stringData", TEXT_MAP), ("type", Text), ("immutable", Boolean)]);
const POD: Shape = Fields(&[("metadata", METADATA), ("spec", POD_SPEC)]);
const CLAIM: Shape = Fields(&[("metadata", METADATA), ("spec", CLAIM_SPEC)]);
const JOB: Shape = Fields(&[("metadata", METADATA), ("spec", JOB_SPEC)]);
const CRON_JOB: Shape = Fields(&[
    ("metadata", METADATA),
    (
        "spec",
        Fields(&[
            ("schedule", Text),
            ("suspend", Boolean),
            ("successfulJobsHistoryLimit", Integer),
            ("failedJobsHistoryLimit", Integer),
            ("jobTemplate", Fields(&[("metadata", METADATA), ("spec", JOB_SPEC)])),
        ]),
    ),
]);
const AUTOSCALER: Shape = Fields(&[("metadata", METADATA), ("spec", Fields(&[("minReplicas", Integer), ("maxReplicas", Integer)]))]);
const OTHER: Shape = Fields(&[("metadata", METADATA)]);

fn shape_of(subject: &Subject<'_>) -> &'static Shape {
    match (subject.group, subject.kind) {
        ("", "ConfigMap") => &CONFIG_MAP,
        ("", "Secret") => &SECRET,
        ("", "Service") => &SERVICE,
        ("", "Pod") => &POD,
        ("", "PersistentVolumeClaim") => &CLAIM,
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => &WORKLOAD,
        ("batch", "Job") => &JOB,
        ("batch", "CronJob") => &CRON_JOB,
        ("autoscaling", "HorizontalPodAutoscaler") => &AUTOSCALER,
        _ => &OTHER,
    }
}

/// The wrongly typed values of a manifest, in the order of the tables. The API server refuses the object in the middle of
/// the sync; the client-side dry run lets it pass (measured).
pub fn type_errors(object: &Value) -> Vec<TypeError> {
    let mut found = Vec::new();
    check(object, shape_of(&Subject::of(object, None)), "", &mut found);
    found
}

/// The first value that the API server refuses for its type or spelling.
pub(super) fn problem(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    if let Some(TypeError { pointer, expected, got }) = type_errors(object).into_iter().next() {
        let reason = format!("{} of {subject} must be {expected} (got {got})", dotted(&pointer));
        return Some(Problem::new(FailureKind::TypeError { pointer, expected, got }, Certainty::Measured, reason));
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

fn check(value: &Value, shape: &Shape, pointer: &str, found: &mut Vec<TypeError>) {
    let mut wrong = |expected| found.push(TypeError { pointer: pointer.to_owned(), expected, got: name_of(value) });
    match (shape, value) {
        (_, Value::Null)
        | (Shape::Text | IntegerOrText | Quantity, Value::String(_))
        | (Boolean, Value::Bool(_))
        | (Quantity, Value::Number(_)) => {}
        (Integer | IntegerOrText, Value::Number(number)) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => {}
        (Text, _) => wrong("a string"),
        (Integer, _) => wrong("an integer"),
        (Boolean, _) => wrong("a boolean"),
        (IntegerOrText, _) => wrong("an integer or a string"),
        (Quantity, _) => wrong("a quantity"),
        (List(item), Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                check(value, item, &join(pointer, &index.to_string()), found);
            }
        }
        (List(_), _) => wrong("a list"),
        (Shape::Map(item), Value::Object(map)) => {
            for (key, value) in map {
                check(value, item, &join(pointer, key), found);
            }
        }
        (Fields(fields), Value::Object(map)) => {
            for (key, shape) in *fields {
                if let Some(value) = map.get(*key) {
                    check(value, shape, &join(pointer, key), found);
                }
            }
        }
        (Shape::Map(_) | Fields(_), _) => wrong("a map"),
    }
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
        problem(&Subject::of(object, None), object).map(|problem| problem.into_failure().message)
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
    fn numbers_are_wrong_where_text_belongs_and_text_where_numbers_belong() {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"port": 80, "ratio": 0.5, "none": null}});
        let found: Vec<_> = type_errors(&map).into_iter().map(|error| (error.pointer, error.got)).collect();
        assert_eq!(found, [("/data/port".to_owned(), "integer"), ("/data/ratio".to_owned(), "number")]);
        let mut object = deployment(json!({"name": "a"}));
        object["spec"]["replicas"] = json!("two");
        assert_eq!(type_errors(&object), [TypeError { pointer: "/spec/replicas".into(), expected: "an integer", got: "string" }]);
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
