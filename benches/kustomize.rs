//! Measures `check` on Applications that Kustomize builds: with an empty cache beside the bare program, and one change with a full cache.
//!
//! `cargo bench --bench kustomize`; `PRESYNC_BENCH_APPLICATIONS` sets the size. The bare program builds every folder once, as many at a time
//! as there are processors; its processor time divided by their number is the least that a run could take.

#![allow(clippy::print_stdout, reason = "prints its results")]

mod measure;
#[path = "../tests/support/tools.rs"]
#[allow(dead_code, clippy::expect_used, reason = "it is shared with tests, which run the programs too")]
mod tools;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use measure::Times;
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const BASE: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: registry.example.test/web, envFrom: [{configMapRef: {name: settings}}], ports: [{containerPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
";

fn main() -> Result<()> {
    // Cargo says `--bench` when it measures; a test run only has to see that this builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let applications = std::env::var("PRESYNC_BENCH_APPLICATIONS").map_or(Ok(200), |text| text.parse::<usize>())?;
    let bench = Bench::generate(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("kustomize"), applications)?;
    println!("presync {}, {}", env!("CARGO_PKG_VERSION"), measure::machine());
    println!("{applications} Applications, each an overlay with a generated ConfigMap on one base");
    bench.cold(applications)?;
    bench.warm()?;
    println!("load afterwards {}", measure::load());
    Ok(())
}

/// A repository of overlays, and a folder for the cache.
struct Bench {
    root: PathBuf,
    cache: PathBuf,
}

impl Bench {
    fn generate(folder: &Path, applications: usize) -> Result<Self> {
        let (root, cache) = (folder.join("repository"), folder.join("cache"));
        for old in [&root, &cache] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        let bench = Self { root, cache };
        bench.write("bases/web/web.yaml", BASE)?;
        bench.write("bases/web/kustomization.yaml", "resources: [web.yaml]\n")?;
        for number in 0..applications {
            bench.write(&format!("overlays/app-{number:04}/kustomization.yaml"), &overlay(number, "1.0"))?;
            let application = format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: app-{number:04}, namespace: argocd}}\nspec:\n  \
                 source: {{repoURL: 'https://git.example.test/fleet.git', path: overlays/app-{number:04}}}\n  destination: {{server: \
                 'https://kubernetes.default.svc', namespace: app-{number:04}}}\n  syncPolicy: {{automated: {{prune: true}}}}\n"
            );
            bench.write(&format!("argocd/app-{number:04}.yaml"), &application)?;
        }
        for arguments in [&["init", "--quiet", "--initial-branch=main"][..], &["add", "--all"], &["commit", "--quiet", "--message", "base"]]
        {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=Bench", "-c", "user.email=bench@example.test", "-c", "commit.gpgsign=false"]);
            if !git.args(arguments).current_dir(&bench.root).status()?.success() {
                return Err("git failed".into());
            }
        }
        Ok(bench)
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(fs::write(path, text)?)
    }

    /// Everything is built, and nothing was built before.
    fn cold(&self, applications: usize) -> Result<()> {
        let processors = thread::available_parallelism()?.get();
        let before = children()?;
        let start = Instant::now();
        let folders: Vec<PathBuf> = (0..applications).map(|number| self.root.join(format!("overlays/app-{number:04}"))).collect();
        folders.par_iter().try_for_each(|folder| build(folder))?;
        let (bare, bare_time) = (children()?.saturating_sub(before), start.elapsed());
        let start = Instant::now();
        self.check(&["--all", "--no-cache"])?;
        let cold = start.elapsed();
        let least = bare / u32::try_from(processors)?;
        println!(
            "bare program: {:.2} s of processor time, {:.2} s on {processors} processors",
            bare.as_secs_f64(),
            bare_time.as_secs_f64()
        );
        println!("check --all, cold: {:.2} s, {:.2} times the least", cold.as_secs_f64(), cold.as_secs_f64() / least.as_secs_f64());
        Ok(())
    }

    /// One overlay is edited, and all else was built before.
    fn warm(&self) -> Result<()> {
        let cache = self.cache.to_string_lossy().into_owned();
        self.check(&["--all", "--cache-dir", &cache])?;
        self.write("overlays/app-0000/kustomization.yaml", &overlay(0, "1.1"))?;
        let everything = Times::of(|| self.check(&["--all", "--cache-dir", &cache]))?;
        let affected = Times::of(|| self.check(&["--cache-dir", &cache]))?;
        println!("milliseconds, {} runs {:>29} {:>10} {:>10}", measure::RUNS, "median", "least", "most");
        println!("{:<38} {everything}", "check --all, one change, warm");
        println!("{:<38} {affected}", "check, one change, warm");
        Ok(())
    }

    fn check(&self, more: &[&str]) -> Result<()> {
        let status = Command::new(env!("CARGO_BIN_EXE_presync"))
            .args(["check", "--fail-on", "never", "--quiet", "--offline"])
            .args(more)
            .current_dir(&self.root)
            .env("PATH", tools::search_path())
            .status()?;
        if status.success() { Ok(()) } else { Err(format!("presync check {more:?}: {status}").into()) }
    }
}

fn overlay(number: usize, tag: &str) -> String {
    format!(
        "namePrefix: app-{number:04}-\nresources: [../../bases/web]\nimages: [{{name: registry.example.test/web, newTag: '{tag}'}}]\n\
         configMapGenerator: [{{name: settings, literals: [mode=production, number={number}]}}]\n\
         patches: [{{target: {{kind: Deployment}}, patch: \"- {{op: replace, path: /spec/replicas, value: 3}}\"}}]\n"
    )
}

fn build(folder: &Path) -> std::result::Result<(), String> {
    let kubectl = tools::folder().join("kubectl");
    let status = Command::new(kubectl).arg("kustomize").arg(folder).stdout(Stdio::null()).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("kubectl kustomize {}: {status}", folder.display())) }
}

/// Processor time of the programs that have been run and have ended.
fn children() -> Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat")?;
    // The fields after the name, which stands in brackets; the two are counted in hundredths of a second.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.get(13..15).ok_or("/proc/self/stat is too short")?.iter().map(|field| field.parse::<u64>());
    let ticks = ticks.sum::<std::result::Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}
