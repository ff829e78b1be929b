//! The git generator: directories and files of this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value as Json;

use super::{Generators, Params, Stop, at};
use crate::argocd::applicationset::GitGenerator;
use crate::inventory::applicationset::git::{GitFiles, Unread};
use crate::inventory::applicationset::gotemplate::{base_of, sanitize_name};
use crate::inventory::applicationset::params::{self, Dict, Value};
use crate::inventory::applicationset::paths::{self, FilePattern};
use crate::manifest::reader::{self, Limits};

impl Generators<'_> {
    /// Source: Argo CD `applicationset/generators/git.go:GenerateParams`.
    pub(super) fn git(&self, git: &GitGenerator, path: &str) -> Result<Vec<Params>, Stop> {
        let files = (self.surroundings.files)(&git.repo_url, &git.revision);
        let files = files.map_err(|why| Stop::Unjudged { what: at(path, "git"), why })?;
        if !git.directories.is_empty() {
            return self.directories(git, &files);
        }
        if git.files.is_empty() {
            return Err(Stop::fails("ApplicationSet is empty: the git generator has neither directories nor files"));
        }
        self.files(git, path, &files)
    }

    /// Source: Argo CD `applicationset/generators/git.go:filterApps`: an exclusion wins wherever it stands; broken patterns do not count.
    fn directories(&self, git: &GitGenerator, all: &GitFiles) -> Result<Vec<Params>, Stop> {
        let wanted = |directory: &&String| {
            let matches = |excludes: bool| {
                let mut items = git.directories.iter().filter(|item| item.exclude == excludes);
                items.any(|item| paths::directory_matches(&item.path, directory) == Some(true))
            };
            matches(false) && !matches(true)
        };
        let mut found = Vec::new();
        for directory in all.directories().iter().filter(wanted) {
            let params = Rc::new(Dict::default());
            self.put_path(&params, git, directory, None);
            self.renderer.add_values(&git.values, &params)?;
            found.push(params);
        }
        Ok(found)
    }

    fn files(&self, git: &GitGenerator, path: &str, all: &GitFiles) -> Result<Vec<Params>, Stop> {
        let mut chosen: BTreeSet<&str> = BTreeSet::new();
        for excludes in [false, true] {
            for item in git.files.iter().filter(|item| item.exclude == excludes) {
                let pattern = FilePattern::new(&item.path, self.surroundings.doublestar).map_err(|(message, fails)| {
                    if fails { Stop::Fails(message) } else { Stop::Unjudged { what: at(path, "git"), why: message } }
                })?;
                if excludes {
                    chosen.retain(|file| !pattern.matches(file));
                } else {
                    chosen.extend(all.paths().filter(|file| pattern.matches(file)));
                }
            }
        }
        let mut found = Vec::new();
        for file in chosen {
            let fails = |error: String| Stop::fails(format!("unable to process file '{file}': {error}"));
            let bytes = all.read(file).map_err(|unread| match unread {
                Unread::Fails(error) => fails(error),
                Unread::NotHere(why) => Stop::Unjudged { what: at(path, "git"), why },
            })?;
            for content in maps_of(&reader::decode(&bytes).text).map_err(fails)? {
                let params = if self.renderer.go { content } else { flat_texts(&content) };
                let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
                self.put_path(&params, git, folder, Some(base_of(file)));
                self.renderer.add_values(&git.values, &params)?;
                found.push(params);
            }
        }
        Ok(found)
    }

    /// Adds what is known of a path.
    fn put_path(&self, params: &Dict, git: &GitGenerator, folder: &str, file: Option<&str>) {
        let basename = base_of(folder);
        let mut facts: Vec<(&str, String)> =
            vec![("path", folder.to_owned()), ("basename", basename.to_owned()), ("basenameNormalized", sanitize_name(basename))];
        if let Some(file) = file {
            facts.push(("filename", file.to_owned()));
            facts.push(("filenameNormalized", sanitize_name(file)));
        }
        let mut entries = params.entries.borrow_mut();
        let prefix = git.path_param_prefix.as_str();
        if self.renderer.go {
            let mut of_path: BTreeMap<Rc<str>, Value> = facts.into_iter().map(|(name, value)| (name.into(), Value::text(&value))).collect();
            of_path.insert("segments".into(), Value::List(Rc::new(folder.split('/').map(Value::text).collect())));
            let of_path = Value::Map(Dict::of(of_path));
            if prefix.is_empty() {
                entries.insert("path".into(), of_path);
            } else {
                entries.insert(prefix.into(), Value::Map(Dict::of(BTreeMap::from([("path".into(), of_path)]))));
            }
            return;
        }
        let name = if prefix.is_empty() { "path".to_owned() } else { format!("{prefix}.path") };
        for (fact, value) in facts {
            let key = if fact == "path" { name.clone() } else { format!("{name}.{fact}") };
            entries.insert(key.into(), Value::text(&value));
        }
        for (index, part) in folder.split('/').enumerate().filter(|(_, part)| !part.is_empty()) {
            entries.insert(format!("{name}[{index}]").into(), Value::text(part));
        }
    }
}

fn flat_texts(content: &Dict) -> Params {
    Dict::of(params::flatten(content).into_iter().map(|(key, value)| (key.into(), Value::text(&value))).collect())
}

/// The first document of a text.
fn document(text: &str) -> Result<Json, String> {
    let stream = reader::read_stream(text, &Limits::default());
    match (stream.documents.into_iter().next(), stream.error) {
        (Some(document), _) => Ok(document.value),
        (None, Some(error)) => Err(format!("unable to parse file: {}", error.kind)),
        (None, None) => Ok(Json::Null),
    }
}

/// A file's content: one map, or a list of maps; nothing is an empty map.
///
/// Source: Argo CD `applicationset/generators/git.go:generateParamsFromGitFile`.
fn maps_of(text: &str) -> Result<Vec<Params>, String> {
    match document(text)? {
        Json::Null => Ok(vec![Params::default()]),
        Json::Object(fields) => Ok(vec![Dict::of(params::entries_of_json(&fields))]),
        other => list(&other),
    }
}

/// A text that holds a list of maps.
pub(super) fn list_of_maps(text: &str) -> Result<Vec<Params>, String> {
    match document(text)? {
        Json::Null => Ok(Vec::new()),
        other => list(&other),
    }
}

fn list(json: &Json) -> Result<Vec<Params>, String> {
    let no_maps = || "unable to parse file: it holds neither a map nor a list of maps".to_owned();
    let items = json.as_array().ok_or_else(no_maps)?;
    let maps = items.iter().map(|item| match item {
        Json::Object(fields) => Ok(Dict::of(params::entries_of_json(fields))),
        Json::Null => Ok(Params::default()),
        _ => Err(no_maps()),
    });
    maps.collect()
}
