//! From `--snapshot` sources to live state.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::assemble::{Parts, Raw, assemble};
use super::clusters::{ClusterInfo, NamespaceLimit, trim_server};
use super::error::SnapshotError;
use super::file::{self, Contents, Registration};
use super::kubectl::{self, Batch, SyntaxError};
use super::live::{Body, LiveState, SnapshotSource};
use super::redact::{may_hold_a_secret_object, redact};
use super::settings::{SettingsFile, Stated};
use super::store::{self, Access};
use crate::argocd::names::IN_CLUSTER_SERVER;

/// Name of the file beside objects that says what they do not.
const SETTINGS_FILE: &str = "settings.yaml";
/// Endings of the files that are read in a folder.
const ENDINGS: [&str; 5] = ["yaml", "yml", "json", "jsonl", "zst"];
/// Endings of the files that can only be snapshots.
const SNAPSHOT_ENDINGS: [&str; 2] = [".jsonl", ".zst"];
/// The source that means standard input.
const STANDARD_INPUT: &str = "-";

/// A source of live state.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file or folder.
    Path(PathBuf),
    /// The bytes of a file, and what to call it.
    Bytes {
        /// Name for reports and errors.
        name: String,
        /// Content.
        bytes: Vec<u8>,
    },
}

/// Loads live state from files, folders and URLs; `-` is standard input.
///
/// # Errors
/// As [`load_inputs`].
pub fn load<S: AsRef<str>>(sources: &[S]) -> Result<LiveState, SnapshotError> {
    load_from(sources, &Access::default())
}

/// The same, with a say in how URLs are reached.
///
/// # Errors
/// As [`load_inputs`].
pub fn load_from<S: AsRef<str>>(sources: &[S], access: &Access) -> Result<LiveState, SnapshotError> {
    let mut inputs = Vec::new();
    for source in sources.iter().map(AsRef::as_ref) {
        inputs.push(if store::is_url(source) {
            Input::Bytes { name: source.to_owned(), bytes: store::fetch(source, access)? }
        } else if source == STANDARD_INPUT {
            let (name, mut bytes) = ("standard input".to_owned(), Vec::new());
            std::io::stdin().read_to_end(&mut bytes).map_err(|source| SnapshotError::Io { path: name.clone(), source })?;
            Input::Bytes { name, bytes }
        } else {
            Input::Path(source.into())
        });
    }
    load_inputs(inputs)
}

/// Loads live state: snapshot files, or what kubectl printed. Secret values of the latter are dropped at once.
///
/// # Errors
/// Where a source cannot be read, is no YAML or JSON, or is a damaged snapshot. Single objects that cannot be understood are no error:
/// [`LiveState::incomplete`] lists them.
pub fn load_inputs(inputs: Vec<Input>) -> Result<LiveState, SnapshotError> {
    let mut loading = Loading::default();
    for input in inputs {
        match input {
            Input::Path(path) if path.is_dir() => loading.add_folder(&path)?,
            Input::Path(path) => {
                let bytes = read(&path)?;
                loading.add_file(&path.display().to_string(), bytes)?;
            }
            Input::Bytes { name, bytes } => loading.add_file(&name, bytes)?,
        }
    }
    if loading.parts.objects.is_empty() && !loading.tells_more {
        let sources: Vec<String> = loading.parts.sources.into_iter().map(|source| source.source).collect();
        return Err(SnapshotError::Nothing { path: sources.join(" and ") });
    }
    Ok(assemble(loading.parts))
}

/// What has been loaded so far.
#[derive(Default)]
struct Loading {
    parts: Parts,
    /// The first source that holds objects of a cluster.
    covered: BTreeMap<Arc<str>, String>,
    /// Something besides objects says what the clusters are like: a snapshot's header, or settings.
    tells_more: bool,
}

/// A file, understood.
enum File {
    Snapshot(String, Box<Contents>),
    Objects(Vec<Batch>),
}

impl Loading {
    fn add_file(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), SnapshotError> {
        match understand(name, bytes)? {
            File::Snapshot(name, contents) => self.add_snapshot(&name, *contents),
            File::Objects(batches)
                if batches.iter().all(|batch| batch.items.is_empty()) && batches.iter().any(|batch| !batch.left_out.is_empty()) =>
            {
                return Err(SnapshotError::NoObjects { path: name.to_owned() });
            }
            File::Objects(batches) => self.add_objects(name, &SettingsFile::default(), batches),
        }
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), SnapshotError> {
        let name = folder.display().to_string();
        let settings = folder.join(SETTINGS_FILE);
        let mut files = files_in(folder)?;
        files.retain(|file| *file != settings);
        if files.is_empty() && !settings.is_file() {
            return Err(SnapshotError::Empty { path: name });
        }
        self.tells_more |= settings.is_file();
        let about = if settings.is_file() { read_settings(&settings)? } else { SettingsFile::default() };
        let understood =
            files.par_iter().map(|file| understand(&file.display().to_string(), read(file)?)).collect::<Result<Vec<_>, _>>()?;
        let mut objects = Vec::new();
        for file in understood {
            match file {
                File::Snapshot(name, contents) => self.add_snapshot(&name, *contents),
                File::Objects(batches) => objects.extend(batches),
            }
        }
        if !objects.is_empty() || settings.is_file() {
            self.add_objects(&name, &about, objects);
        }
        Ok(())
    }

    fn add_snapshot(&mut self, name: &str, contents: Contents) {
        self.tells_more = true;
        let Contents { header, text, objects, digest } = contents;
        let cluster = objects.first().map(|(cluster, _)| cluster.to_string());
        let cluster = cluster.or_else(|| header.clusters.first().map(|cluster| cluster.server.clone())).unwrap_or_default();
        self.parts.sources.push(SnapshotSource {
            source: name.to_owned(),
            captured_at: header.captured_at,
            cluster,
            objects: objects.len(),
            digest: Some(digest),
        });
        self.parts.incomplete.extend(header.incomplete);
        self.cover(name, objects.iter().map(|(cluster, _)| cluster));
        let raw = |(cluster, range): (Arc<str>, Range<usize>)| {
            let body = match without_secrets(text.get(range.clone()).unwrap_or_default()) {
                Some(object) => Body::Shared(Arc::new(object)),
                None => Body::text(text.clone(), range),
            };
            Raw { cluster, body }
        };
        self.parts.objects.par_extend(objects.into_par_iter().with_min_len(1024).map(raw));
        self.parts.unlisted_applications.extend(header.unlisted_applications);
        self.parts.clusters.extend(header.clusters.into_iter().map(|cluster| {
            let registered = cluster.registration.is_some();
            let Registration { project, labels, annotations } = cluster.registration.unwrap_or_default();
            ClusterInfo {
                server: trim_server(&cluster.server).into(),
                name: cluster.name.as_str().into(),
                registered,
                kubernetes_version: cluster.kubernetes_version,
                api_resources: cluster.api_resources,
                unlisted: cluster.unlisted,
                only_managed: cluster.only_managed,
                kinds_complete: false,
                configured: false,
                limit: NamespaceLimit::of(cluster.namespaces, cluster.cluster_resources),
                project,
                labels,
                annotations,
            }
        }));
        let argocd = header.argocd.unwrap_or_default();
        let stated = Stated { version: argocd.version, namespace: argocd.namespace, entries: argocd.settings };
        self.parts.stated.merge(stated, name, &mut self.parts.incomplete);
    }

    fn add_objects(&mut self, name: &str, about: &SettingsFile, batches: Vec<Batch>) {
        let own: Arc<str> = about.cluster.as_deref().map_or(IN_CLUSTER_SERVER, trim_server).into();
        let servers: BTreeMap<&str, Arc<str>> =
            about.clusters.iter().map(|(name, server)| (name.as_str(), Arc::from(trim_server(server)))).collect();
        let before = self.parts.objects.len();
        for batch in batches {
            self.parts.incomplete.extend(batch.left_out);
            let arena = Arc::new(batch.text);
            for item in batch.items {
                let cluster = match item.cluster.as_deref() {
                    None => &own,
                    Some(cluster) => match servers.get(cluster) {
                        Some(server) => server,
                        None => {
                            let why = format!("{name}: an object names the cluster {cluster}, which settings.yaml does not list");
                            self.parts.incomplete.push(why);
                            continue;
                        }
                    },
                };
                self.parts.limits.extend(item.limit.map(|limit| (cluster.clone(), limit)));
                self.parts.objects.push(Raw { cluster: cluster.clone(), body: Body::text(arena.clone(), item.range) });
            }
        }
        let new = self.parts.objects.get(before..).unwrap_or_default();
        self.parts.sources.push(SnapshotSource {
            source: name.to_owned(),
            captured_at: about.captured_at.clone(),
            cluster: own.to_string(),
            objects: new.len(),
            digest: None,
        });
        self.parts.clusters.extend(about.statements(&own));
        self.parts.stated.merge(about.stated.clone(), name, &mut self.parts.incomplete);
    }

    /// Notes of which clusters a snapshot holds objects, and says where another one does as well. What kubectl printed may come in parts.
    fn cover<'a>(&mut self, name: &str, clusters: impl Iterator<Item = &'a Arc<str>>) {
        let clusters: std::collections::BTreeSet<&Arc<str>> = clusters.collect();
        for cluster in clusters {
            match self.covered.get(cluster) {
                None => drop(self.covered.insert(cluster.clone(), name.to_owned())),
                Some(first) => {
                    self.parts.incomplete.push(format!(
                    "{first} and {name} are both snapshots of {cluster}: of an object that both have the last one counts, and one that only the older has may be gone"
                ))
                }
            }
        }
    }
}

/// An object of a snapshot file without values of Secrets, where it holds any: whoever wrote the file may have left them in.
fn without_secrets(text: &[u8]) -> Option<Value> {
    if !may_hold_a_secret_object(text) {
        return None;
    }
    let mut object = serde_json::from_slice(text).ok()?;
    redact(&mut object).then_some(object)
}

fn understand(name: &str, bytes: Vec<u8>) -> Result<File, SnapshotError> {
    if file::is_snapshot(&bytes) {
        return file::read(name, bytes).map(|contents| File::Snapshot(name.to_owned(), Box::new(contents)));
    }
    if SNAPSHOT_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Err(file::not_started_as_one(name, &bytes));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(SnapshotError::Nothing { path: name.to_owned() });
    }
    let mut batches = kubectl::read(&bytes).map_err(|error| syntax(name, error))?;
    for why in batches.iter_mut().flat_map(|batch| &mut batch.left_out) {
        *why = format!("{name}: {why}");
    }
    Ok(File::Objects(batches))
}

fn read_settings(file: &Path) -> Result<SettingsFile, SnapshotError> {
    let name = file.display().to_string();
    let documents = kubectl::documents(&read(file)?).map_err(|error| syntax(&name, error))?;
    SettingsFile::read(documents.first().unwrap_or(&Value::Null)).map_err(|message| SnapshotError::Settings { path: name, message })
}

fn read(file: &Path) -> Result<Vec<u8>, SnapshotError> {
    fs::read(file).map_err(|source| SnapshotError::Io { path: file.display().to_string(), source })
}

fn syntax(name: &str, error: SyntaxError) -> SnapshotError {
    SnapshotError::Syntax { path: name.to_owned(), line: error.line, message: error.message }
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
    fn an_object_without_kind_is_left_out_with_the_name_of_its_file() {
        let state = load_folder(&[("a.yaml", OBJECTS), ("values.yaml", "image: x\n")]).unwrap();
        assert!(state.incomplete().iter().any(|why| why.contains("values.yaml: an object without kind")));
    }

    #[test]
    fn a_file_without_any_object_is_an_error() {
        let folder = folder(&[("values.yaml", "image: x"), ("list.json", r#"{"kind": "List", "apiVersion": "v1", "items": []}"#)]);
        let load_file = |name: &str| load_inputs(vec![Input::Path(folder.path().join(name))]);
        assert!(matches!(load_file("values.yaml"), Err(SnapshotError::NoObjects { .. })));
        assert!(matches!(load_file("list.json"), Err(SnapshotError::Nothing { .. })), "no cluster is empty");
        fs::write(folder.path().join("failed.yaml"), "\n").unwrap();
        fs::write(folder.path().join("pod.yaml"), "{apiVersion: v1, kind: Pod, metadata: {name: a}}").unwrap();
        let both = |first: &str| load_inputs([first, "pod.yaml"].map(|name| Input::Path(folder.path().join(name))).into());
        assert!(matches!(both("failed.yaml"), Err(SnapshotError::Nothing { .. })), "the command that wrote it failed");
        assert_eq!(both("list.json").unwrap().all().len(), 1, "a kind may have no objects");
    }

    #[test]
    fn two_listings_of_one_cluster_are_merged_and_what_differs_is_said() {
        let one = folder(&[("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, namespace: shop}\ndata: {a: first}\n")]);
        let two = folder(&[("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, namespace: shop}\ndata: {a: second}\n")]);
        let state = load(&[one.path().to_str().unwrap(), two.path().to_str().unwrap()]).unwrap();
        assert_eq!(state.all()[0].object()["data"]["a"], "second");
        assert_eq!((state.sources().len(), state.incomplete().len()), (2, 1));
    }

    #[test]
    fn only_a_settings_file_makes_the_kinds_seen_all_there_are() {
        let serves = |files: &[(&str, &str)]| load_folder(files).unwrap().serves(IN_CLUSTER_SERVER, "shop.test", "v1", "Shelf");
        let objects = ("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        assert_eq!(serves(&[objects]), Serves::Unknown);
        assert_eq!(serves(&[objects, ("settings.yaml", "")]), Serves::No);
    }

    #[test]
    fn a_settings_file_can_say_which_cluster_the_objects_are_from() {
        let state = load_folder(&[
            ("settings.yaml", "cluster: https://eu-1.example.test/\n"),
            ("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"),
        ]);
        assert_eq!(&*state.unwrap().all()[0].cluster, "https://eu-1.example.test");
    }

    #[test]
    fn no_error_repeats_what_a_file_holds() {
        for text in ["a: *canary", "--- canary", "a: !!int canary", "password: 'canary", "{\"a\": canary", "a: .inf # canary"] {
            let error = load_inputs(vec![Input::Bytes { name: "x".into(), bytes: text.into() }]).unwrap_err();
            let words = format!("{error} {error:?}");
            let shown = format!("{words} {:?}", miette::Report::new(error));
            assert!(!shown.contains("canary"), "{text}: {shown}");
        }
    }

    #[test]
    fn missing_and_empty_sources_are_errors() {
        assert!(matches!(load(&["/nowhere/at/all.yaml"]), Err(SnapshotError::Io { .. })));
        assert!(matches!(load_folder(&[("README.md", "#")]), Err(SnapshotError::Empty { .. })));
        assert!(load_folder(&[("settings.yaml", SETTINGS)]).unwrap().all().is_empty());
    }
}
