//! Values of settings that have a form of their own.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

use super::Cluster;
use super::error::HELP;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Command(pub Vec<String>);

/// A program, by a name to be looked up in `PATH` or by an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Program(pub String);

/// A path from the repository's root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepoPath(pub String);

/// Refuses what would be run as the pull request has it.
fn check_program<E: de::Error>(program: &str) -> Result<(), E> {
    if program.is_empty() {
        return Err(E::custom(format!("the command is empty{HELP}Name a program, for example [my-renderer, .].")));
    }
    if program.contains('/') && !program.starts_with('/') {
        let help =
            "Use the name of an installed program, or its absolute path: a file of the repository would be run as the pull request has it.";
        return Err(E::custom(format!("the program {program} is a path in the repository{HELP}{help}")));
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let program = String::deserialize(deserializer)?;
        check_program(&program)?;
        Ok(Self(program))
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..");
        let path = path.trim_start_matches("./").trim_end_matches('/').to_owned();
        if leaves || path.is_empty() {
            let help = "Name a folder inside of the repository, for example ./policies.";
            return Err(de::Error::custom(format!("`{path}` leaves the repository{HELP}{help}")));
        }
        Ok(Self(path))
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Command;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a command as a list of words, for example [my-renderer, --all, .]")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut words: A) -> Result<Command, A::Error> {
                let program = words.next_element::<String>()?.unwrap_or_default();
                check_program(&program)?;
                let mut command = vec![program];
                while let Some(word) = words.next_element()? {
                    command.push(word);
                }
                Ok(Command(command))
            }
        }
        deserializer.deserialize_seq(Words)
    }
}

/// Clusters, each with a server and a name of its own.
pub(super) fn clusters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cluster>, D::Error> {
    struct Clusters;
    impl<'de> Visitor<'de> for Clusters {
        type Value = Vec<Cluster>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of clusters, each with a name and a server")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Vec<Cluster>, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Vec<Cluster>, A::Error> {
            let mut clusters: Vec<Cluster> = Vec::new();
            while let Some(cluster) = items.next_element::<Cluster>()? {
                if cluster.name.is_empty() || cluster.server.is_empty() {
                    return Err(de::Error::custom("a cluster needs a name and a server that are not empty"));
                }
                if clusters.iter().any(|known| known.name == cluster.name) {
                    let help = "Argo CD takes one cluster for each name: give each its own, or remove one of them.";
                    return Err(de::Error::custom(format!("two clusters are named `{}`{HELP}{help}", cluster.name)));
                }
                clusters.push(cluster);
            }
            Ok(clusters)
        }
    }
    deserializer.deserialize_any(Clusters)
}

/// A folder, inside of the repository or elsewhere.
pub(super) fn folder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let path = String::deserialize(deserializer)?;
    if path.trim_matches(['.', '/']).is_empty() {
        return Err(de::Error::custom(format!("`{path}` is no folder of a clone{HELP}Name its folder, for example ../values.")));
    }
    Ok(path)
}

/// Why a waiver is fine.
pub(super) fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let reason = String::deserialize(deserializer)?;
    if reason.trim().is_empty() {
        return Err(de::Error::custom(format!("the reason is empty{HELP}Say why this is fine, for whoever reads it in a year.")));
    }
    Ok(reason.trim().to_owned())
}

/// A day, such as 2027-01-31.
pub(super) fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<jiff::civil::Date>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let wrong = |_| de::Error::custom(format!("`{text}` is no day{HELP}Write it as 2027-01-31."));
    text.parse().map(Some).map_err(wrong)
}

/// An age in seconds.
pub(super) fn age<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| duration(&text).map_err(de::Error::custom)).transpose()
}

/// Seconds of `90s`, `15m`, `24h` or `7d`.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn duration(text: &str) -> Result<i64, String> {
    let unit = text.chars().last().ok_or("a duration such as 24h is needed")?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err("a duration ends in s, m, h or d, for example 24h".to_owned()),
    };
    let number: i64 =
        text.trim_end_matches(unit).parse().map_err(|_| "a duration is a whole number and a unit, for example 24h".to_owned())?;
    number.checked_mul(seconds).filter(|seconds| *seconds >= 0).ok_or_else(|| "the duration is out of range".to_owned())
}
