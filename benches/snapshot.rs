//! How long it takes to load and to capture the live state of a large cluster, and how much memory.
//!
//! `cargo bench --bench snapshot` makes an invented cluster, writes it in all forms and loads each in a process of its own.
//! `cargo bench --bench snapshot -- generate DIR [OBJECTS]` writes the files and keeps them; `-- load FILE` loads one.
//! `-- capture [OBJECTS]` serves the cluster over TLS and captures it in a process of its own.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people who measure")]

#[path = "../tests/support/cluster.rs"]
mod api;
#[path = "generate/cluster.rs"]
mod cluster;
#[path = "../tests/support/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use presync::manifest::ResourceKey;
use presync::snapshot::capture::{KubernetesCapture, KubernetesServer, from_kubernetes};
use presync::snapshot::{Capture, Provenance, load, save, write};

const OBJECTS: usize = 100_000;
/// Objects of the cluster that is captured.
const CAPTURED: usize = 20_000;
const SERVER: &str = "https://kubernetes.default.svc";
const FORMS: [&str; 3] = ["cluster.presync.zst", "cluster.jsonl", "list.json"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["generate", folder] => generate(Path::new(folder), OBJECTS),
        ["generate", folder, objects] => generate(Path::new(folder), objects.parse().unwrap()),
        ["load", file] => measure(file),
        ["capture"] => serve(CAPTURED),
        ["capture", objects] => serve(objects.parse().unwrap()),
        ["capture-from", kubeconfig] => measure_capture(Path::new(kubeconfig)),
        _ => {
            let folder = tempfile::tempdir().unwrap();
            let program = std::env::current_exe().unwrap();
            run(Command::new(&program).arg("generate").arg(folder.path()));
            for form in FORMS {
                run(Command::new(&program).arg("load").arg(folder.path().join(form)));
            }
            serve(CAPTURED);
        }
    }
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success());
}

fn generate(folder: &Path, count: usize) {
    fs::create_dir_all(folder).unwrap();
    let mut list = BufWriter::new(File::create(folder.join("list.json")).unwrap());
    list.write_all(b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n").unwrap();
    let mut capture = Capture::default();
    for (index, object) in cluster::objects(count).enumerate() {
        if index > 0 {
            list.write_all(b",\n").unwrap();
        }
        serde_json::to_writer_pretty(&mut list, &object).unwrap();
        capture.add(SERVER, object);
    }
    list.write_all(b"\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\"resourceVersion\": \"\"}\n}\n").unwrap();
    let state = capture.finish();
    let provenance = Provenance { captured_at: None, source: "invented".into() };
    for (form, plain) in [(FORMS[0], false), (FORMS[1], true)] {
        let start = Instant::now();
        let mut file = BufWriter::new(File::create(folder.join(form)).unwrap());
        write(&state, &provenance, plain, &mut file).unwrap();
        file.flush().unwrap();
        println!("write {form:<20} {:>6.2} s", start.elapsed().as_secs_f64());
    }
}

fn measure(file: &str) {
    let megabytes = fs::metadata(file).unwrap().len() as f64 / 1e6;
    let start = Instant::now();
    let state = load(&[file]).unwrap();
    let loaded = start.elapsed().as_secs_f64();
    let peak = peak_memory();
    let start = Instant::now();
    let owned: usize = state.all().iter().map(|object| state.owned_by(SERVER, object).count()).sum();
    let found = state.all().iter().filter(|object| state.get(SERVER, &object.key).is_some()).count();
    let looked_up = start.elapsed().as_secs_f64();
    let missing = state.get(SERVER, &ResourceKey::new("", "Pod", "none", "none"));
    assert!(missing.is_none() && found == state.all().len() && state.incomplete().is_empty());
    let name = Path::new(file).file_name().unwrap().to_string_lossy().into_owned();
    println!(
        "load  {name:<20} {loaded:>6.2} s  peak {peak}  {megabytes:.0} MB, {} objects; {} look-ups by key and owner ({owned} owned) {looked_up:.2} s",
        state.all().len(),
        2 * state.all().len(),
    );
}

/// Serves a cluster and captures it in a process of its own, with the limits of the command.
fn serve(count: usize) {
    let mut kinds: BTreeMap<String, Vec<serde_json::Value>> = BTreeMap::new();
    for object in cluster::objects(count) {
        kinds.entry(object["kind"].as_str().unwrap().to_owned()).or_default().push(object);
    }
    let kinds = kinds.into_iter().map(|(kind, objects)| {
        let (group, version) = objects[0]["apiVersion"].as_str().unwrap().split_once('/').unwrap_or(("", "v1"));
        let (group, version, plural) = (group.to_owned().leak(), version.to_owned().leak(), format!("{}s", kind.to_lowercase()).leak());
        api::Kind { group, version, kind: kind.leak(), plural, namespaced: true, objects }
    });
    let cluster = api::Invented::new(kinds.collect());
    let server = server::Server::tls(move |asked| cluster.answer(asked));
    let (_folder, kubeconfig) = api::kubeconfig(&server);
    run(Command::new(std::env::current_exe().unwrap()).arg("capture-from").arg(kubeconfig));
}

fn measure_capture(kubeconfig: &Path) {
    for all in [false, true] {
        let start = Instant::now();
        let options = KubernetesCapture {
            server: KubernetesServer { kubeconfig: Some(kubeconfig.to_owned()), context: None },
            all,
            ..KubernetesCapture::default()
        };
        let captured = from_kubernetes(&options, Arc::new(|_| {})).unwrap();
        let (objects, folder) = (captured.objects(), tempfile::tempdir().unwrap());
        let (_, bytes) = save(folder.path().join("live.zst").to_str().unwrap(), |out| captured.write(false, out)).unwrap();
        let what = if all { "all" } else { "managed" };
        println!(
            "capture {what:<18} {:>6.2} s  peak {}  {:.1} MB, {objects} objects kept",
            start.elapsed().as_secs_f64(),
            peak_memory(),
            bytes as f64 / 1e6
        );
    }
}

/// The most memory that this process has had, as Linux states it.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |value| value.trim().to_owned())
}
