//! What the pod security admission of a cluster refuses, as far as it can be told from a pod's spec.

use serde_json::Value;

/// A level of the pod security standards that refuses anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Level {
    Baseline,
    Restricted,
}

impl Level {
    /// The level that a label's value means; `None` for `privileged` and for what is no level.
    pub(in crate::rules) fn parse(text: &str) -> Option<Self> {
        match text {
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

/// Capabilities that the level `baseline` lets containers add.
const BASELINE_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Volumes that the level `restricted` lets pods have.
const RESTRICTED_VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];

/// The first thing in a pod's spec that a level refuses, in words; what some versions refuse and others do not is let pass.
///
/// Source: Kubernetes `pod-security-admission/policy/check_*.go`.
pub(in crate::rules) fn violation(level: Level, spec: &Value) -> Option<&'static str> {
    // Pods of Windows are judged by other rules.
    if spec.pointer("/os/name").and_then(Value::as_str) == Some("windows") {
        return None;
    }
    let baseline = of_baseline(spec);
    if level == Level::Baseline { baseline } else { baseline.or_else(|| of_restricted(spec)) }
}

fn of_baseline(spec: &Value) -> Option<&'static str> {
    let is_on = |field: &str| spec.get(field).and_then(Value::as_bool) == Some(true);
    if is_on("hostNetwork") || is_on("hostPID") || is_on("hostIPC") {
        return Some("it shares a namespace of the host");
    }
    if volumes(spec).any(|volume| volume.get("hostPath").is_some_and(|path| !path.is_null())) {
        return Some("it has a hostPath volume");
    }
    let unconfined = |context: Option<&Value>| seccomp(context) == Some("Unconfined");
    if unconfined(spec.get("securityContext")) {
        return Some("seccomp is off");
    }
    containers(spec).find_map(|container| {
        let context = container.get("securityContext");
        let field = |pointer: &str| context.and_then(|context| context.pointer(pointer));
        if field("/privileged").and_then(Value::as_bool) == Some(true) {
            return Some("it has a privileged container");
        }
        if added(context).any(|capability| !BASELINE_CAPABILITIES.contains(&capability)) {
            return Some("it adds capabilities");
        }
        let mut ports = items(container, "ports");
        if ports.any(|port| port.get("hostPort").and_then(Value::as_i64).is_some_and(|port| port != 0)) {
            return Some("it has a hostPort");
        }
        if shares_users(spec) && field("/procMount").and_then(Value::as_str).is_some_and(|mount| mount != "Default") {
            return Some("it has an unmasked /proc");
        }
        unconfined(context).then_some("seccomp is off")
    })
}

fn of_restricted(spec: &Value) -> Option<&'static str> {
    let is_allowed = |volume: &Value| RESTRICTED_VOLUMES.iter().any(|kind| volume.get(kind).is_some());
    // A volume without a source is an emptyDir.
    let has_source = |volume: &Value| volume.as_object().is_some_and(|volume| volume.len() > 1);
    if volumes(spec).any(|volume| has_source(volume) && !is_allowed(volume)) {
        return Some("it has a volume of a kind that is not allowed");
    }
    let of_pod = |pointer: &str| spec.get("securityContext").and_then(|context| context.pointer(pointer));
    containers(spec).find_map(|container| {
        let context = container.get("securityContext");
        let field = |pointer: &str| context.and_then(|context| context.pointer(pointer));
        if field("/allowPrivilegeEscalation").and_then(Value::as_bool) != Some(false) {
            return Some("a container does not set allowPrivilegeEscalation to false");
        }
        if shares_users(spec) && field("/runAsNonRoot").or_else(|| of_pod("/runAsNonRoot")).and_then(Value::as_bool) != Some(true) {
            return Some("a container does not set runAsNonRoot");
        }
        if shares_users(spec) && field("/runAsUser").or_else(|| of_pod("/runAsUser")).and_then(Value::as_i64) == Some(0) {
            return Some("a container runs as user 0");
        }
        if seccomp(context).or_else(|| seccomp(spec.get("securityContext"))).is_none() {
            return Some("a container sets no seccompProfile");
        }
        let mut dropped = field("/capabilities/drop").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        if !dropped.any(|capability| capability == "ALL") {
            return Some("a container does not drop all capabilities");
        }
        added(context).any(|capability| capability != "NET_BIND_SERVICE").then_some("it adds capabilities")
    })
}

/// Whether root in the pod is root of the host; newer clusters let more pass where it is not.
fn shares_users(spec: &Value) -> bool {
    spec.get("hostUsers").and_then(Value::as_bool) != Some(false)
}

fn seccomp(context: Option<&Value>) -> Option<&str> {
    context?.pointer("/seccompProfile/type").and_then(Value::as_str)
}

fn added(context: Option<&Value>) -> impl Iterator<Item = &str> {
    let added = context.and_then(|context| context.pointer("/capabilities/add")).and_then(Value::as_array);
    added.into_iter().flatten().filter_map(Value::as_str)
}

fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn volumes(spec: &Value) -> impl Iterator<Item = &Value> {
    items(spec, "volumes")
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|field| items(spec, field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hardened() -> Value {
        json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b"}, {"name": "c", "secret": {"secretName": "s"}}],
            "containers": [{"name": "a", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
        })
    }

    #[test]
    fn each_thing_that_baseline_refuses_is_found() {
        for spec in [
            json!({"hostNetwork": true}),
            json!({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}),
            json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
            json!({"initContainers": [{"securityContext": {"privileged": true}}]}),
            json!({"containers": [{"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]}),
            json!({"containers": [{"ports": [{"hostPort": 80}]}]}),
            json!({"containers": [{"securityContext": {"procMount": "Unmasked"}}]}),
            json!({"containers": [{"securityContext": {"seccompProfile": {"type": "Unconfined"}}}]}),
        ] {
            assert!(violation(Level::Baseline, &spec).is_some(), "{spec}");
            assert!(violation(Level::Restricted, &spec).is_some(), "{spec}");
        }
        let plain = json!({"containers": [{"name": "a", "ports": [{"containerPort": 80}], "securityContext": {"capabilities": {"add": ["CHOWN"]}}}]});
        assert_eq!(violation(Level::Baseline, &plain), None);
    }

    #[test]
    fn restricted_wants_each_hardening_and_takes_it_from_the_pod_or_the_container() {
        assert_eq!(violation(Level::Restricted, &hardened()), None);
        type Edit = fn(&mut Value);
        let edits: [Edit; 6] = [
            |spec| spec["securityContext"]["runAsNonRoot"] = json!(false),
            |spec| spec["securityContext"]["runAsUser"] = json!(0),
            |spec| spec["securityContext"]["seccompProfile"] = Value::Null,
            |spec| spec["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = Value::Null,
            |spec| spec["containers"][0]["securityContext"]["capabilities"] = Value::Null,
            |spec| spec["volumes"] = json!([{"name": "a", "nfs": {"path": "/"}}]),
        ];
        for edit in edits {
            let mut spec = hardened();
            edit(&mut spec);
            assert!(violation(Level::Restricted, &spec).is_some(), "{spec}");
        }
    }

    #[test]
    fn a_pod_with_users_of_its_own_may_run_as_root() {
        let mut spec = hardened();
        spec["hostUsers"] = json!(false);
        spec["securityContext"]["runAsNonRoot"] = Value::Null;
        assert_eq!(violation(Level::Restricted, &spec), None);
    }

    #[test]
    fn only_levels_that_refuse_something_are_levels() {
        assert_eq!(
            ["baseline", "restricted", "privileged", "Baseline"].map(Level::parse),
            [Some(Level::Baseline), Some(Level::Restricted), None, None]
        );
    }
}
