//! What an object looks like after Argo CD applied it.
//!
//! Takes a target; hands on the live object: tracked, with the last applied text, defaults, owners of fields, and status.

use serde_json::{Value, json};

use super::{defaults, manage, report, stamp};

/// Field manager of a client-side apply by Argo CD.
const MANAGER: &str = "argocd-controller";
const CONTROLLERS: &str = "kube-controller-manager";

/// Who applies objects, and where to.
pub(super) struct Applied<'a> {
    /// Name of the Application.
    pub(super) application: &'a str,
    /// Namespace of its destination.
    pub(super) namespace: &'a str,
    /// Whether an autoscaler decides the replicas of its Deployments.
    pub(super) autoscaled: bool,
}

impl Applied<'_> {
    /// The live object.
    pub(super) fn live(&self, mut target: Value) -> Value {
        target["metadata"]["namespace"] = json!(self.namespace);
        target["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = json!(self.tracking_id(&target));
        let mut live = remember(target);
        defaults::fill(&mut live);
        let written = live.clone();
        manage(&mut live, MANAGER, None, &written);
        stamp(&mut live);
        self.controllers_work(&mut live);
        live
    }

    fn tracking_id(&self, target: &Value) -> String {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&target["apiVersion"]);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        format!("{}:{group}/{}:{}/{}", self.application, text(&target["kind"]), self.namespace, text(&target["metadata"]["name"]))
    }

    fn controllers_work(&self, live: &mut Value) {
        match live["kind"].as_str() {
            Some("Deployment") => self.deployment(live),
            Some("Service") => live["status"] = json!({"loadBalancer": {}}),
            Some("Ingress") => {
                live["metadata"]["generation"] = json!(1);
                report(live, "nginx-ingress-controller", json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}));
            }
            Some("HorizontalPodAutoscaler") => {
                let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": super::CREATED});
                let status = json!({
                    "currentReplicas": 3, "desiredReplicas": 3, "lastScaleTime": super::CREATED,
                    "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 61, "averageValue": "61m"}}}],
                    "conditions": [condition("AbleToScale", "ReadyForNewScale"), condition("ScalingActive", "ValidMetricFound")],
                });
                report(live, CONTROLLERS, status);
            }
            Some("PodDisruptionBudget") => {
                live["metadata"]["generation"] = json!(1);
                let status = json!({
                    "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2, "observedGeneration": 1,
                    "conditions": [{"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "", "observedGeneration": 1,
                        "lastTransitionTime": super::CREATED}],
                });
                report(live, CONTROLLERS, status);
            }
            _ => {}
        }
    }

    fn deployment(&self, live: &mut Value) {
        if self.autoscaled {
            live["spec"]["replicas"] = json!(3);
            if let Some(fields) = live.pointer_mut("/metadata/managedFields/0/fieldsV1/f:spec").and_then(Value::as_object_mut) {
                fields.remove("f:replicas");
            }
            manage(live, CONTROLLERS, Some("scale"), &json!({"spec": {"replicas": 3}}));
        }
        let replicas = live["spec"]["replicas"].clone();
        live["metadata"]["generation"] = json!(1);
        live["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
        let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": super::CREATED, "lastUpdateTime": super::CREATED});
        let status = json!({
            "availableReplicas": replicas, "readyReplicas": replicas, "replicas": replicas, "updatedReplicas": replicas,
            "observedGeneration": 1, "terminatingReplicas": 0,
            "conditions": [
                condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
                condition("Progressing", "NewReplicaSetAvailable", "ReplicaSet has successfully progressed."),
            ],
        });
        report(live, CONTROLLERS, status);
    }
}

/// The object with its own text in the annotation that apply compares with.
pub(super) fn remember(mut target: Value) -> Value {
    let text = format!("{target}\n");
    target["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!(text);
    target
}
