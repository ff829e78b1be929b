//! What a setting is about: globs over files, Applications, projects, kinds, namespaces and names.
//!
//! Takes the settings of a user; says of a [`Subject`] whether it is meant.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::manifest::ResourceKey;

/// What is meant: every field that is set has to match, each with one of its globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "Fields")]
pub struct Selector {
    fields: Fields,
}

/// Globs, each field with one or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct Fields {
    /// Files from the repository's root: what a finding points at, the definition of its Application, and the folders of its sources.
    /// `*` stays within a folder, `**` does not.
    paths: Patterns,
    /// Applications, by name or by namespace/name.
    applications: Patterns,
    /// Projects of Applications.
    projects: Patterns,
    /// Kinds of objects, as Kind or as group/Kind.
    kinds: Patterns,
    /// Namespaces of objects.
    namespaces: Patterns,
    /// Names of objects.
    names: Patterns,
}

/// What a finding or an Application shows of itself to selectors.
#[derive(Clone, Debug, Default)]
pub struct Subject<'a> {
    /// Files.
    pub files: Vec<&'a str>,
    /// Folders.
    pub folders: Vec<&'a str>,
    /// The Application, `namespace/name`.
    pub application: Option<&'a str>,
    /// Its project.
    pub project: Option<&'a str>,
    /// The object.
    pub resource: Option<&'a ResourceKey>,
}

impl TryFrom<Fields> for Selector {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        let none = fields == Fields::default();
        if none { Err("nothing is selected: name paths, applications, projects, kinds, namespaces or names") } else { Ok(Self { fields }) }
    }
}

impl Selector {
    /// Whether the subject is meant.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        let Fields { paths, applications, projects, kinds, namespaces, names } = &self.fields;
        let application = || {
            let name = subject.application.and_then(|id| id.split_once('/')).map(|(_, name)| name);
            applications.any(subject.application.into_iter().chain(name))
        };
        let kind = || subject.resource.is_some_and(|key| kinds.any([&*key.kind, &*format!("{}/{}", key.group, key.kind)]));
        (paths.is_empty() || paths.any(subject.files.iter().copied()) || paths.any_folder(&subject.folders))
            && (applications.is_empty() || application())
            && (projects.is_empty() || projects.any(subject.project))
            && (kinds.is_empty() || kind())
            && (namespaces.is_empty() || namespaces.any(subject.resource.map(|key| &*key.namespace)))
            && (names.is_empty() || names.any(subject.resource.map(|key| &*key.name)))
    }
}

/// One glob or a list of them.
#[derive(Clone, Debug, Default)]
pub struct Patterns(Vec<(String, GlobMatcher)>);

impl Patterns {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of these texts matches.
    pub fn any<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        texts.into_iter().any(|text| self.0.iter().any(|(_, glob)| glob.is_match(text)))
    }

    /// The patterns that none of these texts matches.
    pub fn idle<'t>(&self, texts: impl Iterator<Item = &'t str> + Clone) -> Vec<&str> {
        let idle = self.0.iter().filter(|(_, glob)| !texts.clone().any(|text| glob.is_match(text)));
        idle.map(|(pattern, _)| pattern.as_str()).collect()
    }

    /// Whether one of these folders matches, or whatever lies in it.
    fn any_folder(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.any([*folder, &*format!("{}/_", folder.trim_end_matches('/'))]))
    }
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(|(text, _)| text).eq(other.0.iter().map(|(text, _)| text))
    }
}

impl Eq for Patterns {}

impl Serialize for Patterns {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(text, _)| text))
    }
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Patterns;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a glob or a list of globs")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Patterns, E> {
                let glob = GlobBuilder::new(text).literal_separator(true).build();
                let glob = glob.map_err(|error| E::custom(format!("`{text}` is no glob: {}", error.kind())))?;
                Ok(Patterns(vec![(text.to_owned(), glob.compile_matcher())]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Patterns, A::Error> {
                let mut all = Vec::new();
                while let Some(Patterns(one)) = list.next_element()? {
                    all.extend(one);
                }
                Ok(Patterns(all))
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Patterns {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Patterns".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, subject: &Subject<'_>) -> bool {
        serde_yaml::from_str::<Selector>(selector).unwrap().matches(subject)
    }

    #[test]
    fn every_field_that_is_set_has_to_match() {
        let key = ResourceKey::new("apps", "Deployment", "shop", "web-front");
        let subject = Subject {
            files: vec!["clusters/prod/shop/web.yaml"],
            folders: vec!["clusters/prod/shop"],
            application: Some("argocd/shop-eu"),
            project: Some("retail"),
            resource: Some(&key),
        };
        for meant in [
            "paths: clusters/prod/**",
            "applications: [other, shop-*]",
            "applications: argocd/*",
            "kinds: Deployment",
            "kinds: apps/*",
            "{projects: retail, namespaces: sh*, names: web-*}",
        ] {
            assert!(selects(meant, &subject), "{meant}");
        }
        for other in ["paths: clusters/*", "paths: prod/**", "applications: shop", "kinds: batch/*", "{projects: retail, names: db}"] {
            assert!(!selects(other, &subject), "{other}");
        }
    }

    #[test]
    fn a_folder_is_meant_by_what_lies_in_it() {
        let subject = Subject { folders: vec!["clusters/prod"], ..Subject::default() };
        assert!(selects("paths: clusters/prod/**", &subject) && selects("paths: clusters/*", &subject));
        assert!(!selects("paths: clusters/test/**", &subject));
    }

    #[test]
    fn what_is_not_there_does_not_match() {
        assert!(!selects("kinds: '*'", &Subject::default()) && !selects("projects: '*'", &Subject::default()));
        assert!(serde_yaml::from_str::<Selector>("{}").unwrap_err().to_string().contains("nothing is selected"));
        assert!(serde_yaml::from_str::<Selector>("paths: 'a[b'").unwrap_err().to_string().contains("`a[b` is no glob"));
    }
}
