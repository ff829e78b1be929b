//! Snapshots in object storage and on web servers: `s3://`, `gs://`, `az://`, `https://`.
//!
//! Takes URLs; hands on bytes. What was fetched is kept in the cache folder, and asked for again only if it has changed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path as StorePath;
use object_store::{ClientOptions, Error, GetOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::snapshot::capture::choose_cryptography;
use crate::snapshot::error::SnapshotError;
use crate::snapshot::file::is_snapshot;

/// How URLs of snapshots start. Web servers without TLS are for this machine only.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "azure", "abfss", "https", "http"];
/// The longest that a snapshot may take to arrive.
const TRANSFER: Duration = Duration::from_secs(300);
/// How long failing requests are repeated.
const PATIENCE: Duration = Duration::from_secs(60);

/// How snapshots at URLs are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// No network: what was fetched before, or nothing.
    pub offline: bool,
    /// The cache folder; without one nothing is kept.
    pub cache: Option<PathBuf>,
}

/// Whether the name of a place is a URL.
pub(in crate::snapshot) fn is_url(place: &str) -> bool {
    place.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// Reads a snapshot; offline from the cache alone.
pub(in crate::snapshot) fn fetch(place: &str, access: &Access) -> Result<Vec<u8>, SnapshotError> {
    let remote = Remote::new(place)?;
    let kept = access.cache.as_deref().map(|folder| Kept::of(folder, place));
    let known = kept.as_ref().and_then(Kept::read);
    if access.offline {
        let why = "it was not fetched before, and --offline permits no network".to_owned();
        return known.map(|known| known.bytes).ok_or(SnapshotError::Remote { url: remote.shown, doing: "read", why });
    }
    let options = GetOptions { if_none_match: known.as_ref().map(|known| known.etag.clone()), ..GetOptions::default() };
    let got = run(async {
        let got = remote.store.get_opts(&remote.path, options).await?;
        let etag = got.meta.e_tag.clone();
        Ok::<_, Error>((etag, got.bytes().await?))
    });
    match (got, known) {
        (Ok((etag, bytes)), _) => {
            if let (Some(kept), Some(etag)) = (kept, etag) {
                kept.write(&etag, &bytes);
            }
            Ok(bytes.into())
        }
        (Err(Failed::Store(Error::NotModified { .. })), Some(known)) => Ok(known.bytes),
        (Err(error), _) => Err(remote.failed("read", &error)),
    }
}

/// Writes a snapshot.
pub(super) fn put(place: &str, bytes: Vec<u8>) -> Result<(), SnapshotError> {
    let remote = Remote::new(place)?;
    run(async { remote.store.put(&remote.path, bytes.into()).await }).map(drop).map_err(|error| remote.failed("write", &error))
}

struct Remote {
    store: Box<dyn ObjectStore>,
    path: StorePath,
    /// The URL without anything secret.
    shown: String,
}

enum Failed {
    Store(Error),
    Runtime(std::io::Error),
}

fn run<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failed::Runtime)?;
    runtime.block_on(work).map_err(Failed::Store)
}

impl Remote {
    fn new(place: &str) -> Result<Self, SnapshotError> {
        choose_cryptography();
        let wrong = |shown: &str, why: String| SnapshotError::Remote { url: shown.to_owned(), doing: "use", why };
        let url = Url::parse(place).map_err(|error| wrong("a URL", error.to_string()))?;
        let shown = shown(&url);
        let refused = |why: &str| Err(wrong(&shown, why.to_owned()));
        if url.query().is_some() {
            return refused("a URL with a query is not supported; use the name of the object and credentials, or fetch the file before");
        }
        if url.scheme() == "http" && !matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            return refused("snapshots are only sent over https");
        }
        let is_file = url.path().trim_start_matches('/').len() > 1 && !url.path().ends_with('/');
        if !is_file {
            return refused("it names no file");
        }
        let path = StorePath::from_url_path(url.path()).map_err(|error| wrong(&shown, error.to_string()))?;
        let store = store(&url).map_err(|error| wrong(&shown, words(&error)))?;
        Ok(Self { store, path, shown })
    }

    fn failed(&self, doing: &'static str, error: &Failed) -> SnapshotError {
        let why = match error {
            Failed::Store(error) => words(error),
            Failed::Runtime(error) => error.to_string(),
        };
        SnapshotError::Remote { url: self.shown.clone(), doing, why }
    }
}

/// The store behind a URL, with the credentials that its provider's own tools read from the environment.
fn store(url: &Url) -> Result<Box<dyn ObjectStore>, Error> {
    let retry = RetryConfig { max_retries: 4, retry_timeout: PATIENCE, ..RetryConfig::default() };
    let place = url.as_str();
    Ok(match url.scheme() {
        "s3" | "s3a" => Box::new(AmazonS3Builder::from_env().with_url(place).with_retry(retry).build()?),
        "gs" => Box::new(GoogleCloudStorageBuilder::from_env().with_url(place).with_retry(retry).build()?),
        "http" | "https" => {
            let client = ClientOptions::new().with_allow_http(url.scheme() == "http").with_timeout(TRANSFER);
            let server = &url[..Position::BeforePath];
            Box::new(HttpBuilder::new().with_url(server).with_client_options(client).with_retry(retry).build()?)
        }
        _ => Box::new(MicrosoftAzureBuilder::from_env().with_url(place).with_retry(retry).build()?),
    })
}

/// A URL without password and query.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    // Only URLs that cannot have a password refuse.
    let _ = shown.set_username("").and_then(|()| shown.set_password(None));
    shown.to_string()
}

/// What went wrong, with its causes.
fn words(error: &Error) -> String {
    match error {
        Error::NotFound { .. } => "there is no such file".to_owned(),
        Error::PermissionDenied { .. } => "the credentials do not permit it".to_owned(),
        Error::Unauthenticated { .. } => "the credentials are missing or not accepted".to_owned(),
        other => {
            let text = other.to_string();
            text.lines().next().unwrap_or_default().chars().take(400).collect()
        }
    }
}

/// A fetched snapshot in the cache folder.
struct Kept {
    file: PathBuf,
}

struct Known {
    etag: String,
    bytes: Vec<u8>,
}

#[derive(Deserialize, Serialize)]
struct Label {
    etag: String,
    digest: String,
}

impl Kept {
    fn of(folder: &Path, place: &str) -> Self {
        let name = blake3::hash(place.as_bytes()).to_hex();
        Self { file: folder.join("snapshots").join(name.as_str()) }
    }

    fn label(&self) -> PathBuf {
        self.file.with_extension("json")
    }

    /// What is there, if it is whole.
    fn read(&self) -> Option<Known> {
        let label: Label = serde_json::from_slice(&fs::read(self.label()).ok()?).ok()?;
        let bytes = fs::read(&self.file).ok()?;
        (blake3::hash(&bytes).to_hex().as_str() == label.digest).then_some(Known { etag: label.etag, bytes })
    }

    /// Keeps what was fetched. Only snapshot files, which hold no secret values; a cache that cannot be written is none.
    fn write(&self, etag: &str, bytes: &[u8]) {
        let Some(folder) = self.file.parent().filter(|_| is_snapshot(bytes)) else { return };
        let label = Label { etag: etag.to_owned(), digest: blake3::hash(bytes).to_hex().to_string() };
        let Ok(label) = serde_json::to_vec(&label) else { return };
        let _ = fs::create_dir_all(folder);
        for (file, bytes) in [(&self.file, bytes), (&self.label(), &label)] {
            let kept = tempfile::NamedTempFile::new_in(folder).and_then(|mut aside| {
                aside.write_all(bytes)?;
                aside.persist(file).map_err(|error| error.error)
            });
            if kept.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_files() {
        assert!(["s3://b/k", "gs://b/k", "az://c/k", "https://h/f"].iter().all(|place| is_url(place)));
        assert!(!["live.zst", "./s3/x", "C://x", "file:///x"].iter().any(|place| is_url(place)));
    }

    #[test]
    fn urls_that_cannot_work_are_refused_without_their_secrets() {
        for (place, why) in [
            ("https://user:canary@h.test/f?sig=canary", "query"),
            ("http://h.test/f", "https"),
            ("s3://bucket", "names no file"),
            ("https://h.test/folder/", "names no file"),
        ] {
            let error = fetch(place, &Access::default()).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("canary"), "{error}");
        }
    }
}
