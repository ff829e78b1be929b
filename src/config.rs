//! The configuration file `.presync.yaml`: parse, validate, point at mistakes.
//!
//! Takes its text; hands on a [`Config`]. Whoever reads the file decides which version of it is trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// The file's name at the root of a repository.
pub const FILE: &str = ".presync.yaml";
/// Bytes of the file.
const MAX_BYTES: usize = 1 << 20;
/// The keys that the file may have.
const KEYS: [&str; 1] = ["plugins"];

/// What a repository's users have set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Commands of the config management plugins that may be run, each a program and its arguments, by the plugin's name.
    pub plugins: BTreeMap<String, Vec<String>>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ConfigError {
    /// It has a mistake.
    #[error("{message}")]
    Mistake {
        /// What is wrong, with the file and the line.
        message: String,
        /// The text.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// Where the mistake is.
        #[label("here")]
        place: Option<SourceSpan>,
        /// What to do.
        #[help]
        help: Option<String>,
    },
    /// It cannot be read.
    #[error("the configuration {file} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
        /// What to do.
        #[help]
        help: Option<String>,
    },
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
        serde_yaml::from_str::<Option<Self>>(text).map(Option::unwrap_or_default).map_err(|error| mistake(file, text, &error))
    }
}

fn mistake(file: &str, text: &str, error: &serde_yaml::Error) -> ConfigError {
    let location = error.location();
    let said = error.to_string();
    // The parser appends the place to what it says.
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(before, _)| before);
    let (said, help) = said.split_once(HELP).map_or((said, None), |(said, help)| (said, Some(help.to_owned())));
    let place = location.as_ref().map(|location| format!(":{}:{}", location.line(), location.column())).unwrap_or_default();
    ConfigError::Mistake {
        message: format!("{file}{place}: {said}"),
        text: Arc::new(NamedSource::new(file, text.to_owned())),
        place: location.map(|location| SourceSpan::new(location.index().min(text.len()).into(), 0)),
        help,
    }
}

/// What stands between a message and its help while both go through the parser as one text.
const HELP: &str = "\u{1f}";

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Config;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map of settings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Config, A::Error> {
                let mut config = Config::default();
                while let Some(Key) = map.next_key()? {
                    let plugins = map.next_value::<Option<BTreeMap<String, Command>>>()?.unwrap_or_default();
                    config.plugins = plugins.into_iter().map(|(name, Command(words))| (name, words)).collect();
                }
                Ok(config)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// A key of the file; there is one only.
struct Key;

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        if KEYS.contains(&key.as_str()) {
            return Ok(Self);
        }
        let help = match nearest(&key, &KEYS) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("The keys are: {}.", KEYS.join(", ")),
        };
        Err(de::Error::custom(format!("there is no setting `{key}`{HELP}{help}")))
    }
}

/// A program, by a name to be looked up in `PATH` or by an absolute path, and its arguments.
struct Command(Vec<String>);

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Command;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a command as a list of words, for example [my-renderer, --all, .]")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut words: A) -> Result<Command, A::Error> {
                let Some(program) = words.next_element::<String>()?.filter(|program| !program.is_empty()) else {
                    return Err(de::Error::custom(format!("the command is empty{HELP}Name a program, for example [my-renderer, .].")));
                };
                if program.contains('/') && !program.starts_with('/') {
                    let help = "Use the name of an installed program, or its absolute path: a file of the repository would be run as the pull request has it.";
                    return Err(de::Error::custom(format!("the program {program} is a path in the repository{HELP}{help}")));
                }
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

/// The key that differs in at most two letters.
fn nearest<'k>(key: &str, keys: &[&'k str]) -> Option<&'k str> {
    let distances = keys.iter().map(|known| (distance(key, known), *known));
    distances.filter(|(distance, _)| *distance <= 2).min().map(|(_, known)| known)
}

/// How many letters have to be put in, taken out or exchanged.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut last = index + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&right) {
            let exchanged = diagonal + usize::from(letter != *other);
            diagonal = *cell;
            last = exchanged.min(last + 1).min(*cell + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(FILE, text).unwrap()
    }

    /// Message, offset and help of a mistake.
    fn mistake(text: &str) -> (String, Option<usize>, Option<String>) {
        match Config::parse(FILE, text).unwrap_err() {
            ConfigError::Mistake { message, place, help, .. } => (message, place.map(|place| place.offset()), help),
            ConfigError::Unreadable { .. } => panic!("a mistake is expected"),
        }
    }

    #[test]
    fn an_empty_file_sets_nothing() {
        for text in ["", "# nothing\n", "---\n", "{}", "plugins:\n", "plugins: {}\n"] {
            assert_eq!(parse(text), Config::default(), "{text:?}");
        }
    }

    #[test]
    fn plugins_are_commands_by_name() {
        let config = parse("plugins:\n  tanka: [tk, show, --dangerous-allow-redirect, .]\n  plain: [/usr/local/bin/plain]\n");
        assert_eq!(config.plugins["tanka"], ["tk", "show", "--dangerous-allow-redirect", "."]);
        assert_eq!(config.plugins["plain"], ["/usr/local/bin/plain"]);
    }

    #[test]
    fn an_unknown_key_is_pointed_at_with_a_suggestion() {
        let (message, place, help) = mistake("# settings\npluigns: {}\n");
        assert_eq!(message, ".presync.yaml:2:1: there is no setting `pluigns`");
        assert_eq!((place, help.as_deref()), (Some(11), Some("Did you mean `plugins`?")));
        assert_eq!(mistake("severity: {}\n").2.as_deref(), Some("The keys are: plugins."));
    }

    #[test]
    fn a_command_is_a_list_of_words_and_no_file_of_the_repository() {
        let (message, ..) = mistake("plugins:\n  tanka: tk show .\n");
        assert!(message.contains("list of words"), "{message}");
        let (message, _, help) = mistake("plugins:\n  tanka: [./render.sh]\n");
        assert!(message.contains("./render.sh is a path in the repository") && help.is_some(), "{message}");
        assert!(mistake("plugins:\n  tanka: []\n").0.contains("empty"));
    }

    #[test]
    fn what_is_no_yaml_is_a_mistake_too() {
        let (message, ..) = mistake("plugins: [\n");
        assert!(message.starts_with(".presync.yaml:"), "{message}");
        assert!(Config::parse(FILE, &" ".repeat(MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn letters_are_counted() {
        assert_eq!(distance("pluigns", "plugins"), 2);
        assert_eq!(distance("plugin", "plugins"), 1);
        assert_eq!(distance("", "plugins"), 7);
        assert_eq!(nearest("rules", &KEYS), None);
    }
}
