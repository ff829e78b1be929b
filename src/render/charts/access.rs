//! The user's own configuration of helm: repositories with credentials, and logins to registries.
//!
//! Takes the places of its files; lays out what a call of helm needs in that call's private home.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::render::program::network_environment;

/// What the first repository that a call is about is called in its configuration.
pub const FIRST_NAME: &str = "presync-0";

/// Where helm's own files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// `repositories.yaml`.
    repositories: Option<PathBuf>,
    /// The file with logins to registries.
    registries: Option<PathBuf>,
    /// The folder with logins of Docker, where helm looks too.
    docker: Option<PathBuf>,
}

impl Access {
    /// The files that helm itself would read in this environment.
    ///
    /// Source: Helm `pkg/cli/environment.go`, `pkg/helmpath/lazypath_*.go`.
    pub fn from_environment() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let configuration =
            variable("HELM_CONFIG_HOME").or_else(|| variable("XDG_CONFIG_HOME").map(|folder| folder.join("helm"))).or_else(|| {
                match std::env::consts::OS {
                    "macos" => below_home("Library/Preferences/helm"),
                    "windows" => variable("APPDATA").map(|folder| folder.join("helm")),
                    _ => below_home(".config/helm"),
                }
            });
        let file = |name: &str, path: &str| variable(name).or_else(|| configuration.as_ref().map(|folder| folder.join(path)));
        Self {
            repositories: file("HELM_REPOSITORY_CONFIG", "repositories.yaml"),
            registries: file("HELM_REGISTRY_CONFIG", "registry/config.json"),
            docker: variable("DOCKER_CONFIG").or_else(|| below_home(".docker")),
        }
    }

    /// The environment of a call that is about these repositories. Of the user's repositories only those that it is about are in it, so that
    /// their credentials go nowhere else.
    ///
    /// # Errors
    /// When the configuration cannot be written.
    pub fn environment<'u>(&self, home: &Path, urls: impl IntoIterator<Item = &'u str>) -> io::Result<Vec<(OsString, OsString)>> {
        let known = self.known();
        let entry = |(number, url): (usize, &str)| {
            let mut entry = known.iter().find(|entry| is_same(entry, url)).cloned().unwrap_or_default();
            entry.insert("name".to_owned(), json!(format!("presync-{number}")));
            entry.insert("url".to_owned(), json!(url));
            Value::Object(entry)
        };
        let entries: Vec<Value> = urls.into_iter().enumerate().map(entry).collect();
        let file = home.join("repositories.yaml");
        // JSON is YAML.
        fs::write(&file, json!({"apiVersion": "v1", "repositories": entries}).to_string())?;
        let mut environment = network_environment();
        environment.push(("HELM_REPOSITORY_CONFIG".into(), file.into()));
        environment.push(("HELM_REPOSITORY_CACHE".into(), home.join("repository").into()));
        let existing = |path: &Option<PathBuf>| path.as_ref().filter(|path| path.exists()).map(|path| path.clone().into_os_string());
        environment.extend(existing(&self.registries).map(|file| ("HELM_REGISTRY_CONFIG".into(), file)));
        environment.extend(existing(&self.docker).map(|folder| ("DOCKER_CONFIG".into(), folder)));
        Ok(environment)
    }

    /// The user's repositories; none where the file is missing or no such file.
    fn known(&self) -> Vec<Map<String, Value>> {
        let text = self.repositories.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let value: Value = serde_yaml::from_str(&text).unwrap_or_default();
        let entries = value.get("repositories").and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(Value::as_object).cloned().collect()
    }
}

fn is_same(entry: &Map<String, Value>, url: &str) -> bool {
    let known = entry.get("url").and_then(Value::as_str).unwrap_or_default();
    known.trim_end_matches('/') == url.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_gets_the_credentials_of_its_own_repositories_only() {
        let folder = tempfile::tempdir().unwrap();
        let users = folder.path().join("users.yaml");
        let text = "repositories:\n- {name: ours, url: 'https://charts.example.test/', username: ann, password: one}\n\
            - {name: other, url: 'https://other.example.test', username: bob, password: two}\n";
        fs::write(&users, text).unwrap();
        let access = Access { repositories: Some(users), ..Access::default() };
        let home = tempfile::tempdir().unwrap();
        let environment = access.environment(home.path(), ["https://charts.example.test", "https://new.example.test"]).unwrap();
        let file = environment.iter().find(|(name, _)| name == "HELM_REPOSITORY_CONFIG").unwrap().1.clone();
        let written: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(
            written["repositories"],
            json!([
                {"name": "presync-0", "url": "https://charts.example.test", "username": "ann", "password": "one"},
                {"name": "presync-1", "url": "https://new.example.test"}
            ])
        );
    }
}
