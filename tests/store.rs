//! Snapshots on web servers and in object storage, and the commands that prove and compare them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use server::{Answer, Asked, Server};
use tempfile::TempDir;

/// Stored objects by path, and each request as method, path and status.
#[derive(Clone, Default)]
struct Store {
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Store {
    fn answer(&self, asked: &Asked) -> Answer {
        let mut objects = self.objects.lock().unwrap();
        let answer = match asked.method.as_str() {
            "PUT" => {
                objects.insert(asked.path.clone(), asked.body.clone());
                Answer::new(200, "").with("etag", &etag(&asked.body))
            }
            "GET" => match objects.get(&asked.path) {
                None => Answer::new(404, ""),
                Some(body) if asked.header("if-none-match") == etag(body) => Answer::new(304, ""),
                Some(body) => {
                    Answer::new(200, body.clone()).with("etag", &etag(body)).with("last-modified", "Mon, 30 Nov 2026 04:00:00 GMT")
                }
            },
            _ => Answer::new(405, ""),
        };
        self.log.lock().unwrap().push(format!("{} {} {}", asked.method, asked.path, answer.status));
        answer
    }

    fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

fn etag(body: &[u8]) -> String {
    format!("\"{}\"", blake3::hash(body).to_hex())
}

fn presync(home: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
    command.current_dir(home).env_clear().env("NO_COLOR", "1").env("HOME", home).envs(environment.iter().copied());
    let output = command.args(arguments).output().unwrap();
    (output.status.code(), format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

fn objects(home: &Path, text: &str) {
    fs::write(home.join("objects.yaml"), text).unwrap();
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {mode: '1'}\n";

fn files_in(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_snapshot_goes_to_a_web_server_and_is_fetched_again_only_if_it_changed() {
    let (home, store) = (TempDir::new().unwrap(), Store::default());
    let handler = store.clone();
    let server = Server::tls(move |asked| handler.answer(asked));
    fs::write(home.path().join("ca.pem"), &server.certificate).unwrap();
    let certificate = home.path().join("ca.pem");
    let environment = [("SSL_CERT_FILE", certificate.to_str().unwrap())];
    let place = format!("{}/team/live.presync.zst", server.url.replace("127.0.0.1", "localhost"));
    objects(home.path(), CONFIG_MAP);
    let (code, text) = presync(home.path(), &environment, &["snapshot", "import", "objects.yaml", "--output", &place]);
    assert!(code == Some(0) && text.contains("1 objects"), "{text}");
    let show = || presync(home.path(), &environment, &["snapshot", "show", &place]);
    let (code, first) = show();
    assert_eq!(code, Some(0), "{first}");
    assert_eq!(show(), (code, first));
    let path = "/team/live.presync.zst";
    assert_eq!(store.take_log(), [format!("PUT {path} 200"), format!("GET {path} 200"), format!("GET {path} 304")]);
    let kept = home.path().join(".cache/presync/snapshots");
    assert_eq!(files_in(&kept), 2);

    // A kept file that was altered is not believed.
    let file = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.extension().is_none()).unwrap();
    fs::write(&file, "altered").unwrap();
    assert_eq!(show().0, Some(0));
    assert_eq!(store.take_log(), [format!("GET {path} 200")]);
}

#[test]
fn object_storage_is_written_and_read_with_the_credentials_of_the_environment() {
    let (home, store) = (TempDir::new().unwrap(), Store::default());
    let handler = store.clone();
    let server = Server::plain(move |asked| {
        assert!(asked.header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=key-id/"), "{asked:?}");
        handler.answer(asked)
    });
    let environment = [
        ("AWS_ENDPOINT", server.url.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "key-id"),
        ("AWS_SECRET_ACCESS_KEY", "canary-key"),
        ("AWS_REGION", "eu-central-1"),
        ("PRESYNC_CACHE_DIR", "kept"),
    ];
    objects(home.path(), CONFIG_MAP);
    let place = "s3://snapshots/eu/live.presync.zst";
    let (code, text) = presync(home.path(), &environment, &["snapshot", "import", "objects.yaml", "--output", place]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = presync(home.path(), &environment, &["snapshot", "verify", place, place]);
    assert!(code == Some(0) && text.contains("live.presync.zst: whole, 1 objects, digest blake3:"), "{text}");
    let path = "/snapshots/eu/live.presync.zst";
    assert_eq!(store.take_log(), [format!("PUT {path} 200"), format!("GET {path} 200"), format!("GET {path} 304")]);
    assert_eq!(files_in(&home.path().join("kept/snapshots")), 2);

    let (code, text) = presync(home.path(), &environment, &["snapshot", "show", "s3://snapshots/eu/missing.zst"]);
    assert!(code == Some(2) && text.contains("there is no such file") && !text.contains("canary"), "{text}");
}

#[test]
fn what_is_no_snapshot_file_is_never_kept() {
    let (home, store) = (TempDir::new().unwrap(), Store::default());
    let handler = store.clone();
    let server = Server::plain(move |asked| handler.answer(asked));
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: canary}\n";
    store.objects.lock().unwrap().insert("/live.yaml".into(), secret.into());
    let place = format!("{}/live.yaml", server.url);
    let (code, text) = presync(home.path(), &[], &["snapshot", "show", &place]);
    assert!(code == Some(0) && text.contains("Secret") && !text.contains("canary"), "{text}");
    assert!(!home.path().join(".cache").exists());
}

#[test]
fn verify_tells_whole_incomplete_altered_and_cut_files_apart() {
    let home = TempDir::new().unwrap();
    let verify = |file: &str| presync(home.path(), &[], &["snapshot", "verify", file]);
    objects(home.path(), CONFIG_MAP);
    presync(home.path(), &[], &["snapshot", "import", "objects.yaml", "--output", "live.zst"]);
    assert_eq!(verify("live.zst").0, Some(0));
    let bytes = fs::read(home.path().join("live.zst")).unwrap();
    fs::write(home.path().join("cut.zst"), &bytes[..bytes.len() - 7]).unwrap();
    let (code, text) = verify("cut.zst");
    assert!(code == Some(2) && text.contains("cut.zst is damaged"), "{text}");
    let altered = String::from_utf8(zstd::decode_all(&*bytes).unwrap()).unwrap().replace(r#""mode":"1""#, r#""mode":"2""#);
    fs::write(home.path().join("altered.jsonl"), altered).unwrap();
    let (code, text) = verify("altered.jsonl");
    assert!(code == Some(2) && text.contains("altered.jsonl is damaged") && text.contains("(the digest"), "{text}");
    let (code, text) = verify("objects.yaml");
    assert!(code == Some(2) && text.contains("objects.yaml is no snapshot file"), "{text}");
    objects(home.path(), &format!("{CONFIG_MAP}---\nkind: Nameless\napiVersion: v1\n"));
    presync(home.path(), &[], &["snapshot", "import", "objects.yaml", "--output", "part.zst"]);
    let (code, text) = verify("part.zst");
    assert!(code == Some(1) && text.contains("incomplete: "), "{text}");
}

#[test]
fn diff_says_what_changed_and_never_a_value() {
    let home = TempDir::new().unwrap();
    let import = |text: &str, to: &str| {
        objects(home.path(), text);
        presync(home.path(), &[], &["snapshot", "import", "objects.yaml", "--output", to])
    };
    import(CONFIG_MAP, "first.zst");
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n";
    import(&format!("{}{service}", CONFIG_MAP.replace("'1'", "canary")), "second.zst");
    let (code, text) = presync(home.path(), &[], &["snapshot", "diff", "first.zst", "second.zst"]);
    assert_eq!((code, text.as_str()), (Some(0), "+ Service shop/web\n~ ConfigMap shop/settings: /data/mode\n"));
    let (_, text) = presync(home.path(), &[], &["snapshot", "diff", "first.zst", "first.zst"]);
    assert_eq!(text, "nothing differs\n");
}
