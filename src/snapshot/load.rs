//! From `--snapshot` sources to live state.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::assemble::{Parts, Raw, assemble};
use super::clusters::trim_server;
use super::error::SnapshotError;
use super::kubectl::{self, Batch, SyntaxError};
use super::live::{Body, LiveState, SnapshotSource};
use super::settings::SettingsFile;
use crate::argocd::names::IN_CLUSTER_SERVER;

/// Name of the file beside objects that says what they do not.
const SETTINGS_FILE: &str = "settings.yaml";
/// Endings of the files that are read in a folder.
const ENDINGS: [&str; 5] = ["yaml", "yml", "json", "jsonl", "zst"];

/// Loads live state from files and folders.
///
/// # Errors
/// Where a source cannot be read, is no YAML or JSON, or is a damaged snapshot. Single objects that cannot be understood are no error:
/// [`LiveState::incomplete`] lists them.
pub fn load<S: AsRef<str>>(sources: &[S]) -> Result<LiveState, SnapshotError> {
    let mut parts = Parts::default();
    for source in sources {
        add_path(&mut parts, source.as_ref())?;
    }
    Ok(assemble(parts))
}

fn add_path(parts: &mut Parts, source: &str) -> Result<(), SnapshotError> {
    let path = Path::new(source);
    let files = if path.is_dir() { files_in(path)? } else { vec![path.to_owned()] };
    if files.is_empty() {
        return Err(SnapshotError::Empty { path: source.to_owned() });
    }
    let (settings, files): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| path.is_dir() && file.file_name().is_some_and(|name| name == SETTINGS_FILE));
    let mut about = SettingsFile::default();
    if let Some(file) = settings.first() {
        about = read_settings(file)?;
    }
    let batches = files.par_iter().map(|file| read_objects(file)).collect::<Result<Vec<_>, _>>()?;
    add_batches(parts, source, about, batches);
    Ok(())
}

fn read_settings(file: &Path) -> Result<SettingsFile, SnapshotError> {
    let bytes = read(file)?;
    let documents = kubectl::documents(&bytes).map_err(|error| syntax(file, error))?;
    let settings = SettingsFile::read(documents.first().unwrap_or(&serde_json::Value::Null));
    settings.map_err(|message| SnapshotError::Settings { path: file.display().to_string(), message })
}

fn read_objects(file: &Path) -> Result<Batch, SnapshotError> {
    kubectl::read(&read(file)?).map_err(|error| syntax(file, error))
}

fn read(file: &Path) -> Result<Vec<u8>, SnapshotError> {
    fs::read(file).map_err(|source| SnapshotError::Io { path: file.display().to_string(), source })
}

fn syntax(file: &Path, error: SyntaxError) -> SnapshotError {
    SnapshotError::Syntax { path: file.display().to_string(), line: error.line, message: error.message }
}

fn add_batches(parts: &mut Parts, source: &str, about: SettingsFile, batches: Vec<Batch>) {
    let own: Arc<str> = about.cluster.as_deref().map_or(IN_CLUSTER_SERVER, trim_server).into();
    let servers: BTreeMap<&str, Arc<str>> =
        about.clusters.iter().map(|(name, server)| (name.as_str(), Arc::from(trim_server(server)))).collect();
    let mut count = 0;
    for batch in batches {
        let arena = Arc::new(batch.text);
        for item in batch.items {
            let cluster = match item.cluster.as_deref() {
                None => own.clone(),
                Some(name) => match servers.get(name) {
                    Some(server) => server.clone(),
                    None => {
                        parts.incomplete.push(format!("{source}: an object names the cluster {name}, which settings.yaml does not list"));
                        continue;
                    }
                },
            };
            parts.objects.push(Raw { cluster, body: Body::text(arena.clone(), item.range) });
            count += 1;
        }
    }
    parts.clusters.extend(about.statements(&own));
    parts.sources.push(SnapshotSource {
        source: source.to_owned(),
        captured_at: about.captured_at,
        cluster: own.to_string(),
        objects: count,
        digest: None,
    });
    parts.stated.merge(about.stated, source, &mut parts.incomplete);
}

/// The files of a folder and its folders that may hold objects, sorted. Hidden ones are left out, and links to folders are not followed.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, SnapshotError> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let failed = |source| SnapshotError::Io { path: folder.display().to_string(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) && path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argocd::TrackingMethod;
    use crate::manifest::ResourceKey;
    use crate::snapshot::Serves;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn load_folder(files: &[(&str, &str)]) -> Result<LiveState, SnapshotError> {
        load(&[folder(files).path().to_str().unwrap()])
    }

    const SETTINGS: &str = "argocdVersion: '2.14'\nresourceTrackingMethod: label\nclusters:\n  eu-1: https://eu-1.example.test\n\
        apiResources:\n- v1/ConfigMap\n- apps/v1/Deployment\n";
    const OBJECTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  namespace: shop\n  labels: {app.kubernetes.io/instance: web}\n\
        ---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: far\n  namespace: shop\n  annotations: {presync.test/cluster: eu-1}\n";

    #[test]
    fn a_folder_of_kubectl_files_and_its_settings_are_read() {
        let list = r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}]}"#;
        let state =
            load_folder(&[("settings.yaml", SETTINGS), ("objects.yaml", OBJECTS), ("more/pods.json", list), ("README.md", "#")]).unwrap();
        assert_eq!(state.all().len(), 3);
        assert_eq!(state.settings().tracking.method, TrackingMethod::Label);
        assert_eq!(state.tracked_by(IN_CLUSTER_SERVER, "web").len(), 1);
        assert!(state.get("https://eu-1.example.test", &ResourceKey::new("", "ConfigMap", "shop", "far")).is_some());
        assert_eq!(state.cluster_by_name("eu-1").as_deref(), Ok("https://eu-1.example.test"));
        assert_eq!(state.serves(IN_CLUSTER_SERVER, "shop.test", "v1", "Shelf"), Serves::No);
        let source = &state.sources()[0];
        assert_eq!((source.objects, source.captured_at.as_deref(), source.cluster.as_str()), (3, None, IN_CLUSTER_SERVER));
    }

    #[test]
    fn a_file_that_is_no_yaml_is_an_error_that_names_file_and_line() {
        let error = load_folder(&[("a.yaml", OBJECTS), ("b.yaml", "a: b\nc: [\n")]).unwrap_err().to_string();
        assert!(error.contains("b.yaml:"), "{error}");
    }

    #[test]
    fn an_object_that_names_an_unknown_cluster_is_left_out_and_said() {
        let state = load_folder(&[("objects.yaml", OBJECTS)]).unwrap();
        assert_eq!(state.all().len(), 1);
        assert!(state.incomplete()[0].contains("eu-1"));
    }

    #[test]
    fn missing_and_empty_sources_are_errors() {
        assert!(matches!(load(&["/nowhere/at/all.yaml"]), Err(SnapshotError::Io { .. })));
        assert!(matches!(load_folder(&[("README.md", "#")]), Err(SnapshotError::Empty { .. })));
    }
}
