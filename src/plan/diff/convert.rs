//! The live object in the target's version: Argo CD asks the cluster for it, so a recorded object in another version of its group is brought
//! over here. Autoscalers are the one built-in kind whose served versions differ in form; elsewhere only `apiVersion` changes.

use serde_json::{Map, Value, json};

use super::normalize::group_kind;

/// Brings `live` into the target's version. Nothing happens across groups.
pub(super) fn to_version_of(target: &Value, live: &mut Value) {
    let (Some(wanted), Some(own)) = (target.get("apiVersion").and_then(Value::as_str), live.get("apiVersion").and_then(Value::as_str))
    else {
        return;
    };
    if wanted == own || group_kind(target) != group_kind(live) {
        return;
    }
    let wanted = wanted.to_owned();
    if group_kind(live) == ("autoscaling", "HorizontalPodAutoscaler") {
        let to_first = wanted == "autoscaling/v1";
        if let Some(spec) = live.get_mut("spec").and_then(Value::as_object_mut) {
            if to_first { autoscaler_to_v1(spec) } else { autoscaler_to_v2(spec) }
        }
    }
    if let Some(map) = live.as_object_mut() {
        map.insert("apiVersion".to_owned(), Value::String(wanted));
    }
}

/// v1 knows one metric; the others go to annotations, which no target names.
fn autoscaler_to_v1(spec: &mut Map<String, Value>) {
    spec.remove("behavior");
    let metrics = spec.remove("metrics");
    let utilization = metrics.as_ref().and_then(Value::as_array).into_iter().flatten().find_map(|metric| {
        let cpu = metric.pointer("/resource/name").is_some_and(|name| name == "cpu");
        metric.pointer("/resource/target/averageUtilization").filter(|_| cpu)
    });
    if let Some(utilization) = utilization {
        spec.insert("targetCPUUtilizationPercentage".to_owned(), utilization.clone());
    }
}

fn autoscaler_to_v2(spec: &mut Map<String, Value>) {
    if let Some(utilization) = spec.remove("targetCPUUtilizationPercentage") {
        let target = json!({"type": "Utilization", "averageUtilization": utilization});
        spec.insert("metrics".to_owned(), json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]));
    }
}

#[cfg(test)]
mod tests {
    use super::to_version_of;
    use serde_json::{Value, json};

    #[test]
    fn an_autoscaler_goes_from_one_version_to_the_other_and_back() {
        let v1 = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": {"targetCPUUtilizationPercentage": 70}});
        let v2 = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {"metrics":
            [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]}});
        let converted = |from: &Value, to: &Value| {
            let mut live = from.clone();
            to_version_of(to, &mut live);
            live
        };
        assert_eq!(converted(&v1, &v2), v2);
        assert_eq!(converted(&v2, &v1), v1);
    }

    #[test]
    fn another_group_is_left_alone() {
        let mut live = json!({"apiVersion": "extensions/v1beta1", "kind": "Ingress"});
        to_version_of(&json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}), &mut live);
        assert_eq!(live["apiVersion"], "extensions/v1beta1");
    }
}
