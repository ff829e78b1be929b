//! The configuration file `.presync.yaml`: parse, validate, point at mistakes.
//!
//! Takes its text; hands on a [`Config`]. Whoever reads the file decides which version of it is trusted. The comments of the types are the
//! texts of the published schema.

mod error;
mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::finding::{Patterns, Selector, Severity};

pub use error::{ConfigError, nearest};
pub use values::{Command, Program, RepoPath, duration};

/// The file's name at the root of a repository.
pub const FILE: &str = ".presync.yaml";
/// Bytes of the file.
const MAX_BYTES: usize = 1 << 20;

/// Settings of presync for a repository. They are read from the base revision: what a change does to them counts after the merge.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    /// Folders with rules of your own, from the repository's root.
    #[serde(deserialize_with = "filled")]
    pub rules: Vec<RepoPath>,
    /// Severity of all findings of a rule, by its id; `off` switches the rule off.
    #[serde(deserialize_with = "filled")]
    pub severity: BTreeMap<String, Level>,
    /// Parameters of rules, by rule and name. The budget for deletions is `mass-prune`.
    #[serde(deserialize_with = "filled")]
    pub parameters: BTreeMap<String, BTreeMap<String, Value>>,
    /// Only findings that one of these selects are reported.
    #[serde(deserialize_with = "filled")]
    pub include: Vec<Selector>,
    /// Findings that one of these selects are not reported; how many, is said.
    #[serde(deserialize_with = "filled")]
    pub exclude: Vec<Selector>,
    /// Other severities and parameters for a part of the fleet. Of several that select the same, the last one decides.
    #[serde(deserialize_with = "filled")]
    pub environments: Vec<Environment>,
    /// What is known and accepted, with the reason.
    #[serde(deserialize_with = "filled")]
    pub waivers: Vec<Waiver>,
    /// What counts of waivers.
    #[serde(deserialize_with = "filled")]
    pub suppressions: Suppressions,
    /// Files out of which Applications are taken; without it, every file with a complete Application that no kustomization patches with.
    /// Applications that these render are found anyway.
    #[serde(deserialize_with = "filled")]
    pub roots: Patterns,
    /// URLs under which Applications know this repository, besides its remotes'.
    #[serde(deserialize_with = "filled")]
    pub repository_urls: Vec<String>,
    /// Live state to compare with, where `--snapshot` names none.
    #[serde(deserialize_with = "filled")]
    pub snapshots: Snapshots,
    /// The clusters that Argo CD knows, each with a name of its own, where the snapshot has no cluster Secrets or there is none.
    #[serde(deserialize_with = "values::clusters")]
    pub clusters: Vec<Cluster>,
    /// Local clones of other repositories, for the git generators that read them. Nothing is fetched.
    #[serde(deserialize_with = "filled")]
    pub clones: Vec<LocalClone>,
    /// The programs that render. A `PRESYNC_HELM` (`_KUSTOMIZE`, `_KUBECTL`) in the environment wins.
    #[serde(deserialize_with = "filled")]
    pub tools: Tools,
    /// How Argo CD builds kustomizations, where no snapshot tells its settings.
    #[serde(deserialize_with = "filled")]
    pub kustomize: Kustomize,
    /// Commands of the config management plugins that may be run, each a program and its arguments, by the plugin's name.
    #[serde(deserialize_with = "filled")]
    pub plugins: BTreeMap<String, Command>,
}

/// What all findings of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The rule is not evaluated.
    Off,
    /// Worth knowing.
    Info,
    /// Will surprise somebody.
    Warning,
    /// Data or service is lost, or the sync fails.
    Error,
}

impl Level {
    /// The severity; `None` for off.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Off => None,
            Self::Info => Some(Severity::Info),
            Self::Warning => Some(Severity::Warning),
            Self::Error => Some(Severity::Error),
        }
    }
}

/// Other severities and parameters for a part of the fleet.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// What it is called.
    pub name: String,
    /// What belongs to it.
    #[serde(rename = "match")]
    pub matches: Selector,
    /// Severity of all findings of a rule, by its id.
    #[serde(default, deserialize_with = "filled")]
    pub severity: BTreeMap<String, Level>,
    /// Parameters of rules, by rule and name.
    #[serde(default, deserialize_with = "filled")]
    pub parameters: BTreeMap<String, BTreeMap<String, Value>>,
}

/// Something that is known and accepted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The rules, by id.
    pub rules: OneOrMore,
    /// Which of their findings.
    #[serde(rename = "match")]
    pub matches: Selector,
    /// Why it is fine.
    #[serde(deserialize_with = "values::reason")]
    pub reason: String,
    /// The last day on which it holds, such as 2027-01-31.
    #[serde(default, deserialize_with = "values::day")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("format" = "date")))]
    pub expires: Option<jiff::civil::Date>,
}

/// One rule or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a rule's id or a list of them is needed")]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

/// What counts of waivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Suppressions {
    /// Whether waivers that a change brings along count for the change itself.
    pub of_this_change: OfThisChange,
}

/// Whether waivers that a change brings along count for the change itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OfThisChange {
    /// They are shown with the finding, which counts until they are merged.
    #[default]
    Show,
    /// They count at once, and are shown as such.
    Count,
}

/// Live state to compare with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Snapshots {
    /// Files, folders or URLs of snapshots; paths are from the repository's root.
    #[serde(deserialize_with = "filled")]
    pub sources: Vec<String>,
    /// The age from which a snapshot is reported, such as 24h, where `--max-snapshot-age` says nothing.
    #[serde(deserialize_with = "values::age")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("pattern" = "^[0-9]+[smhd]$")))]
    pub max_age: Option<i64>,
}

/// A cluster that Argo CD knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// URL of its API server.
    pub server: String,
    /// The project that it is tied to.
    #[serde(default, deserialize_with = "filled")]
    pub project: String,
    /// Labels of its Secret; the one that makes it a cluster Secret is understood.
    #[serde(default, deserialize_with = "filled")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of its Secret.
    #[serde(default, deserialize_with = "filled")]
    pub annotations: BTreeMap<String, String>,
}

/// A local clone of another repository.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalClone {
    /// URL under which generators know the repository; the scheme does not matter.
    pub url: String,
    /// Folder of the clone, from the repository's root or absolute.
    #[serde(deserialize_with = "values::folder")]
    pub path: String,
}

/// The programs that render: names to be looked up in `PATH`, or absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Helm.
    pub helm: Option<Program>,
    /// Kustomize.
    pub kustomize: Option<Program>,
    /// kubectl, where there is no Kustomize.
    pub kubectl: Option<Program>,
}

/// How Argo CD builds kustomizations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Kustomize {
    /// What `kustomize.buildOptions` of `argocd-cm` says. Options that let a kustomization run programs are not followed.
    pub build_options: Option<String>,
}

impl Config {
    /// Reads a configuration; an empty file sets nothing.
    ///
    /// # Errors
    /// When the text is no YAML, has a key that there is not, or a value of the wrong kind.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        if text.len() > MAX_BYTES {
            let reason = format!("it is larger than {MAX_BYTES} bytes");
            return Err(ConfigError::Unreadable { file: file.to_owned(), reason, help: None });
        }
        serde_yaml::from_str::<Option<Self>>(text)
            .map(Option::unwrap_or_default)
            .map_err(|error| ConfigError::of_reader(file, text, &error))
    }
}

/// A key without a value sets nothing.
fn filled<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
