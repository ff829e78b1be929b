//! The settings of an Argo CD installation, as far as they decide what a sync does.

use std::collections::BTreeMap;

use super::filter::ResourceFilter;
use super::names::DEFAULT_INSTANCE_LABEL;
use super::tracking::{Tracking, TrackingMethod};
use super::version::Version;

/// What `argocd-cm` and the controller's flags say. Keys are kept as they stand in `argocd-cm`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Argo CD's version; `None` where it is not known and [`Version::ASSUMED`] is taken.
    pub known_version: Option<Version>,
    /// The namespace Argo CD runs in.
    pub namespace: String,
    /// The entries of `argocd-cm`.
    pub entries: BTreeMap<String, String>,
    /// How objects are tracked.
    pub tracking: Tracking,
    /// Which kinds Argo CD does not see.
    pub filter: ResourceFilter,
}

impl Settings {
    /// Settings from the entries of `argocd-cm`.
    pub fn new(version: Option<Version>, namespace: &str, entries: BTreeMap<String, String>) -> Self {
        let effective = version.unwrap_or(Version::ASSUMED);
        let entry = |key: &str| entries.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let method = match entry("application.resourceTrackingMethod") {
            Some(text) => TrackingMethod::parse(text),
            None if effective.has_annotation_tracking_by_default() => TrackingMethod::Annotation,
            None => TrackingMethod::Label,
        };
        let tracking = Tracking {
            method,
            label_key: entry("application.instanceLabelKey").unwrap_or(DEFAULT_INSTANCE_LABEL).to_owned(),
            installation_id: entry("installationID").unwrap_or_default().to_owned(),
        };
        let filter = ResourceFilter::new(effective, entry("resource.exclusions"), entry("resource.inclusions"));
        Self { known_version: version, namespace: namespace.to_owned(), tracking, filter, entries }
    }

    /// The version that behaviour follows.
    pub fn version(&self) -> Version {
        self.known_version.unwrap_or(Version::ASSUMED)
    }

    /// An entry of `argocd-cm`; empty counts as absent.
    pub fn entry(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl Default for Settings {
    /// A fresh installation of the assumed version in the namespace `argocd`.
    fn default() -> Self {
        Self::new(None, "argocd", BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_tracking_method_follows_the_version() {
        let of = |version: &str| Settings::new(Version::parse(version), "argocd", BTreeMap::new()).tracking.method;
        assert_eq!(of("2.14"), TrackingMethod::Label);
        assert_eq!(of("3.0"), TrackingMethod::Annotation);
    }
}
