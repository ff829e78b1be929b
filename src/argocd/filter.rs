//! Which kinds Argo CD does not look at: built-in exclusions, `resource.exclusions` and `resource.inclusions`.

use serde::Deserialize;

use super::pattern::Pattern;
use super::version::Version;

/// One entry of `resource.exclusions` or `resource.inclusions`. An empty list matches everything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry {
    api_groups: Vec<Pattern>,
    kinds: Vec<String>,
    clusters: Vec<Pattern>,
}

impl Entry {
    fn covers_cluster(&self, cluster: &str) -> bool {
        self.clusters.is_empty() || self.clusters.iter().any(|pattern| pattern.matches(cluster))
    }

    fn matches(&self, group: &str, kind: &str, cluster: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|one| one == "*" || one == kind))
            && (self.api_groups.is_empty() || self.api_groups.iter().any(|pattern| pattern.matches(group)))
            && self.covers_cluster(cluster)
    }
}

/// Decides which kinds of which cluster Argo CD manages.
///
/// Source: Argo CD `util/settings/resources_filter.go:IsExcludedResource`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceFilter {
    exclusions: Vec<Entry>,
    inclusions: Vec<Entry>,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}

impl ResourceFilter {
    /// A filter from the two settings' YAML texts. Where `resource.exclusions` is not set, the list that the version ships applies.
    pub fn new(version: Version, exclusions: Option<&str>, inclusions: Option<&str>) -> Self {
        let mut problems = Vec::new();
        let mut read = |name: &str, text: Option<&str>| match text.map(serde_yaml::from_str::<Option<Vec<Entry>>>) {
            None => None,
            Some(Ok(entries)) => Some(entries.unwrap_or_default()),
            Some(Err(error)) => {
                problems.push(format!("{name} of argocd-cm cannot be read: {error}"));
                None
            }
        };
        let shipped = || if version.has_annotation_tracking_by_default() { shipped_exclusions() } else { Vec::new() };
        let exclusions = read("resource.exclusions", exclusions).unwrap_or_else(shipped);
        let inclusions = read("resource.inclusions", inclusions).unwrap_or_default();
        Self { exclusions, inclusions, problems }
    }

    /// Whether Argo CD leaves this kind alone on this cluster (its server URL).
    pub fn excludes(&self, group: &str, kind: &str, cluster: &str) -> bool {
        if always_excluded(group, kind) || self.exclusions.iter().any(|entry| entry.matches(group, kind, cluster)) {
            return true;
        }
        !self.inclusions.iter().any(|entry| entry.matches(group, kind, cluster))
            && self.inclusions.iter().any(|entry| entry.covers_cluster(cluster))
    }
}

fn always_excluded(group: &str, kind: &str) -> bool {
    matches!(group, "events.k8s.io" | "metrics.k8s.io")
        || (group.is_empty() && kind == "Event")
        || (group == "coordination.k8s.io" && kind == "Lease")
}

/// The exclusions that Argo CD 3 ships in its `argocd-cm` (manifests/base/config/argocd-cm.yaml).
fn shipped_exclusions() -> Vec<Entry> {
    let table: [(&[&str], &[&str]); 7] = [
        (&["", "discovery.k8s.io"], &["Endpoints", "EndpointSlice"]),
        (&["coordination.k8s.io"], &["Lease"]),
        (
            &["authentication.k8s.io", "authorization.k8s.io"],
            &[
                "SelfSubjectReview",
                "TokenReview",
                "LocalSubjectAccessReview",
                "SelfSubjectAccessReview",
                "SelfSubjectRulesReview",
                "SubjectAccessReview",
            ],
        ),
        (&["certificates.k8s.io"], &["CertificateSigningRequest"]),
        (&["cert-manager.io"], &["CertificateRequest"]),
        (&["cilium.io"], &["CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"]),
        (
            &["kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"],
            &[
                "PolicyReport",
                "ClusterPolicyReport",
                "EphemeralReport",
                "ClusterEphemeralReport",
                "AdmissionReport",
                "ClusterAdmissionReport",
                "BackgroundScanReport",
                "ClusterBackgroundScanReport",
                "UpdateRequest",
            ],
        ),
    ];
    table
        .into_iter()
        .map(|(groups, kinds)| Entry {
            api_groups: groups.iter().map(|&text| Pattern::new(text)).collect(),
            kinds: kinds.iter().map(|&text| text.to_owned()).collect(),
            clusters: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://kubernetes.default.svc";

    #[test]
    fn s9_14_leases_and_events_are_never_seen() {
        let filter = ResourceFilter::new(Version::ASSUMED, Some("[]"), None);
        assert!(filter.excludes("coordination.k8s.io", "Lease", SERVER));
        assert!(filter.excludes("", "Event", SERVER));
        assert!(!filter.excludes("", "ConfigMap", SERVER));
    }

    #[test]
    fn exclusions_of_the_version_apply_only_where_none_are_set() {
        assert!(ResourceFilter::new(Version::ASSUMED, None, None).excludes("", "Endpoints", SERVER));
        assert!(!ResourceFilter::new(Version::ASSUMED, Some("[]"), None).excludes("", "Endpoints", SERVER));
        assert!(!ResourceFilter::new(Version { major: 2, minor: 14 }, None, None).excludes("", "Endpoints", SERVER));
    }

    #[test]
    fn inclusions_exclude_the_rest_of_the_clusters_they_cover() {
        let filter =
            ResourceFilter::new(Version::ASSUMED, Some("[]"), Some("[{apiGroups: ['apps'], kinds: ['*'], clusters: ['https://a*']}]"));
        assert!(!filter.excludes("apps", "Deployment", "https://a.test"));
        assert!(filter.excludes("", "ConfigMap", "https://a.test"));
        assert!(!filter.excludes("", "ConfigMap", "https://b.test"));
    }
}
