//! Measures `check` on Applications that Kustomize builds, and on as many that Helm renders: with an empty cache beside the bare programs, and
//! one change with a full cache.
//!
//! `cargo bench --bench render`; `PRESYNC_BENCH_APPLICATIONS` sets the size. The bare program renders every Application once, as many at a time
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

/// The same objects as a chart.
const TEMPLATE: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers:
      - {name: web, image: \"registry.example.test/web:{{ .Values.tag }}\", envFrom: [{configMapRef: {name: {{ .Release.Name }}-settings}}], ports: [{containerPort: 8080}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data: {mode: {{ .Values.mode }}, number: {{ .Values.number | quote }}}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}-web}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: {{ .Release.Name }}-web}
spec: {minAvailable: 1, selector: {matchLabels: {app: {{ .Release.Name }}}}}
";

fn main() -> Result<()> {
    // Cargo says `--bench` when it measures; a test run only has to see that this builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let applications = std::env::var("PRESYNC_BENCH_APPLICATIONS").map_or(Ok(200), |text| text.parse::<usize>())?;
    println!("presync {}, {}", env!("CARGO_PKG_VERSION"), measure::machine());
    for renderer in [Renderer::Kustomize, Renderer::Helm] {
        let bench = Bench::generate(renderer, applications)?;
        println!("{applications} Applications, {}", renderer.described());
        bench.cold()?;
        bench.warm()?;
    }
    println!("load afterwards {}", measure::load());
    Ok(())
}

/// What makes the manifests.
#[derive(Clone, Copy)]
enum Renderer {
    Kustomize,
    Helm,
}

impl Renderer {
    fn described(self) -> &'static str {
        match self {
            Self::Kustomize => "each an overlay with a generated ConfigMap on one base",
            Self::Helm => "each one chart with a value file of its own",
        }
    }

    /// Files that all Applications share.
    fn shared(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::Kustomize => [("bases/web/web.yaml", BASE), ("bases/web/kustomization.yaml", "resources: [web.yaml]\n")],
            Self::Helm => {
                [("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"), ("charts/web/templates/web.yaml", TEMPLATE)]
            }
        }
    }

    /// The file of one Application, and what stands in it.
    fn own(self, number: usize, tag: &str) -> (String, String) {
        match self {
            Self::Kustomize => (
                format!("overlays/app-{number:04}/kustomization.yaml"),
                format!(
                    "namePrefix: app-{number:04}-\nresources: [../../bases/web]\nimages: [{{name: registry.example.test/web, newTag: '{tag}'}}]\n\
                     configMapGenerator: [{{name: settings, literals: [mode=production, number={number}]}}]\n\
                     patches: [{{target: {{kind: Deployment}}, patch: \"- {{op: replace, path: /spec/replicas, value: 3}}\"}}]\n"
                ),
            ),
            Self::Helm => {
                (format!("values/app-{number:04}.yaml"), format!("tag: '{tag}'\nreplicas: 3\nmode: production\nnumber: {number}\n"))
            }
        }
    }

    fn source(self, number: usize) -> String {
        match self {
            Self::Kustomize => format!("path: overlays/app-{number:04}"),
            Self::Helm => format!("path: charts/web, helm: {{valueFiles: [/values/app-{number:04}.yaml]}}"),
        }
    }

    /// The bare program on one Application, with the arguments that Argo CD gives it.
    fn program(self, root: &Path, number: usize) -> Command {
        match self {
            Self::Kustomize => {
                let mut command = Command::new(tools::folder().join("kubectl"));
                command.arg("kustomize").arg(root.join(format!("overlays/app-{number:04}")));
                command
            }
            Self::Helm => {
                let name = format!("app-{number:04}");
                let mut command = Command::new(tools::folder().join("helm"));
                command.args(["template", ".", "--name-template", &name, "--namespace", &name, "--values"]);
                command.arg(root.join(format!("values/{name}.yaml"))).arg("--include-crds").current_dir(root.join("charts/web"));
                command
            }
        }
    }
}

/// A repository of Applications, and a folder for the cache.
struct Bench {
    renderer: Renderer,
    applications: usize,
    root: PathBuf,
    cache: PathBuf,
}

impl Bench {
    fn generate(renderer: Renderer, applications: usize) -> Result<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("render");
        let (root, cache) = (folder.join("repository"), folder.join("cache"));
        for old in [&root, &cache] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        let bench = Self { renderer, applications, root, cache };
        for (path, text) in renderer.shared() {
            bench.write(path, text)?;
        }
        for number in 0..applications {
            let (path, text) = renderer.own(number, "1.0");
            bench.write(&path, &text)?;
            let application = format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: app-{number:04}, namespace: argocd}}\nspec:\n  \
                 source: {{repoURL: 'https://git.example.test/fleet.git', {}}}\n  destination: {{server: 'https://kubernetes.default.svc', \
                 namespace: app-{number:04}}}\n  syncPolicy: {{automated: {{prune: true}}}}\n",
                renderer.source(number)
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

    /// Everything is rendered, and nothing was rendered before.
    fn cold(&self) -> Result<()> {
        let processors = thread::available_parallelism()?.get();
        let before = children()?;
        let start = Instant::now();
        let numbers: Vec<usize> = (0..self.applications).collect();
        numbers.par_iter().try_for_each(|number| render(self.renderer.program(&self.root, *number)))?;
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

    /// One Application's file is edited, and all else was rendered before.
    fn warm(&self) -> Result<()> {
        let cache = self.cache.to_string_lossy().into_owned();
        self.check(&["--all", "--cache-dir", &cache])?;
        let (path, text) = self.renderer.own(0, "1.1");
        self.write(&path, &text)?;
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

fn render(mut program: Command) -> std::result::Result<(), String> {
    let status = program.stdout(Stdio::null()).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{program:?}: {status}")) }
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
