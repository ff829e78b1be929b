//! Argo CD's version, as far as behaviour depends on it.

use std::fmt;

/// A release of Argo CD: major and minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major number.
    pub major: u16,
    /// Minor number.
    pub minor: u16,
}

impl Version {
    /// What is assumed where nothing says otherwise.
    pub const ASSUMED: Self = Self { major: 3, minor: 5 };

    /// Reads `3.5`, `v3.5.1` or `v3.6.0+abc`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split(['.', '+', '-']);
        Some(Self { major: parts.next()?.parse().ok()?, minor: parts.next()?.parse().ok()? })
    }

    fn at_least(self, major: u16, minor: u16) -> bool {
        self >= Self { major, minor }
    }

    /// Annotation tracking and the long list of excluded kinds are the defaults.
    pub fn has_annotation_tracking_by_default(self) -> bool {
        self.at_least(3, 0)
    }

    /// `status` is left out of every comparison by default.
    pub fn ignores_status_by_default(self) -> bool {
        self.at_least(3, 0)
    }

    /// `syncPolicy.automated.enabled` is read.
    pub fn reads_automated_enabled(self) -> bool {
        self.at_least(3, 1)
    }

    /// Impersonation without a matching service account may go on as the controller.
    pub fn impersonation_falls_back(self) -> bool {
        self.at_least(3, 5)
    }

    /// `andOperator` of sync windows is read.
    pub fn reads_and_operator_of_windows(self) -> bool {
        self.at_least(3, 0)
    }

    /// Automated sync without self-heal starts again for changed parameters of an Application with several sources.
    pub fn syncs_changed_parameters_of_several_sources(self) -> bool {
        self.at_least(3, 2)
    }

    /// A sync that ended without a result counts as an attempt at every revision.
    pub fn counts_syncs_without_result(self) -> bool {
        self.at_least(3, 2)
    }

    /// `SkipDryRunOnMissingResource=true` is read from the Application as well.
    pub fn reads_application_skip_dry_run(self) -> bool {
        self.at_least(3, 1)
    }

    /// `Prune=` and `Delete=` are read from the Application as well.
    pub fn reads_application_prune_and_delete(self) -> bool {
        self.at_least(3, 4)
    }

    /// Lists of cluster-scoped kinds in a project may name objects.
    pub fn restricts_cluster_kinds_by_name(self) -> bool {
        self.at_least(3, 3)
    }

    /// `PreDelete` hooks are known, and `PostDelete` may stand among other hook types.
    pub fn knows_pre_delete_hooks(self) -> bool {
        self.at_least(3, 3)
    }

    /// A missing destination namespace is created before anything else of the sync happens.
    pub fn creates_namespace_first(self) -> bool {
        self.at_least(3, 3)
    }

    /// Respected ignore rules never copy the live `status` into what is applied.
    pub fn keeps_live_status_out(self) -> bool {
        self.at_least(3, 3)
    }

    /// Respected ignore rules leave the fields beside an ignored one to Git.
    pub fn restores_fields_beside_ignored_ones(self) -> bool {
        self.at_least(3, 5)
    }

    /// The controller of ApplicationSets leaves generated Applications without a name out before it writes any.
    pub fn rejects_generated_applications_without_a_name(self) -> bool {
        self.at_least(3, 6)
    }

    /// A tracking id that names another Application shows as a difference even with an instance label.
    pub fn shows_foreign_tracking_id(self) -> bool {
        self.at_least(3, 4)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_patch_and_prefix() {
        for text in ["3.4", "v3.4.7", "v3.4.7+abcdef", "3.4-rc1"] {
            assert_eq!(Version::parse(text), Some(Version { major: 3, minor: 4 }), "{text}");
        }
        assert_eq!(Version::parse("latest"), None);
    }

    #[test]
    fn application_level_prune_counts_from_3_4() {
        assert!(Version { major: 3, minor: 4 }.reads_application_prune_and_delete());
        assert!(!Version { major: 3, minor: 3 }.reads_application_prune_and_delete());
    }
}
