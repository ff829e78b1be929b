//! Services: addresses and families that stay once they are set.

use serde_json::Value;

use super::subject::{shown, text};
use super::{Certainty, Change, FailureKind, Problem, ValueChange};

/// A change of a Service that the API server refuses.
///
/// Absent fields are no change: the server fills them in from the live object (Kubernetes
/// `pkg/registry/core/service/storage/alloc.go` and `storage.go:patchAllocatedValues`), under Replace too (measured).
pub(super) fn problem(change: &Change<'_>) -> Option<Problem> {
    if !change.subject.is("", "Service") {
        return None;
    }
    let kind_of = |service: &Value| match text(service, "/spec/type") {
        "" => "ClusterIP".to_owned(),
        other => other.to_owned(),
    };
    let (live_type, target_type) = (kind_of(change.live), kind_of(change.merged));
    if live_type != "ExternalName" && target_type != "ExternalName" {
        let fixed = cluster_ip(change)
            .or_else(|| list_head(change, "/spec/clusterIPs", Certainty::Measured))
            .or_else(|| list_head(change, "/spec/ipFamilies", Certainty::Likely));
        if fixed.is_some() {
            return fixed;
        }
    }
    if live_type != "LoadBalancer" || target_type != "LoadBalancer" {
        return None;
    }
    set_once(change, "/spec/loadBalancerClass", Certainty::Likely)
        .or_else(|| set_once(change, "/spec/healthCheckNodePort", Certainty::Likely))
}

/// The cluster address as Git writes it; `clusterIP` and the first of `clusterIPs` are one field.
fn cluster_ip(change: &Change<'_>) -> Option<Problem> {
    set_once(change, "/spec/clusterIP", Certainty::Measured)
}

fn list_head(change: &Change<'_>, pointer: &str, certainty: Certainty) -> Option<Problem> {
    // Only what Git writes counts: the live list merged into the patch follows from clusterIP.
    change.target.pointer(pointer)?;
    set_once(change, &format!("{pointer}/0"), certainty)
}

/// A field that may be set, and cleared where the server restores it, but not changed to another value.
fn set_once(change: &Change<'_>, pointer: &str, certainty: Certainty) -> Option<Problem> {
    let live = change.live.pointer(pointer)?;
    let target = change.merged.pointer(pointer)?;
    let unset = |value: &Value| value.is_null() || value == "" || value == 0;
    if live == target || unset(live) || unset(target) {
        return None;
    }
    let field = super::dotted(pointer);
    let reason = format!("{field} of {} is {} live and cannot become {}", change.subject, shown(Some(live)), shown(Some(target)));
    let kind = FailureKind::Immutable { fields: vec![pointer.to_owned()] };
    let found = ValueChange { pointer: pointer.to_owned(), live: Some(live.clone()), target: Some(target.clone()) };
    Some(Problem { changes: vec![found], ..Problem::new(kind, certainty, reason) })
}
