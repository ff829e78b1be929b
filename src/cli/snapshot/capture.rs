//! `presync snapshot capture`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::Failure;
use crate::cli::shared::failed;
use crate::snapshot::capture::{
    self, ArgocdCapture, ArgocdServer, CaptureError, Captured, KubernetesCapture, KubernetesServer, Limits, Progress, Watcher,
};
use crate::snapshot::{self, SecretNames};

/// Holds the token for Argo CD, as for Argo CD's own command line.
const TOKEN: &str = "ARGOCD_AUTH_TOKEN";
/// How often progress is shown.
const STEP: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct CaptureArgs {
    /// Where the snapshot goes: a file, a URL (s3://, gs://, az://, https://), or - for standard output
    #[arg(short, long, value_name = "PLACE", default_value = "live.presync.zst")]
    output: String,
    /// A kubeconfig file [default: KUBECONFIG, the one in the home folder, or a pod's service account]
    #[arg(long, value_name = "FILE", help_heading = "Kubernetes")]
    kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    context: Option<String>,
    /// The URL under which Argo CD knows the cluster [default: https://kubernetes.default.svc where Argo CD runs in it, else the server's URL]
    #[arg(long, value_name = "URL", help_heading = "Kubernetes")]
    cluster: Option<String>,
    /// The name under which Argo CD knows the cluster
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    cluster_name: Option<String>,
    /// The namespace Argo CD runs in [default: looked for]
    #[arg(long, value_name = "NAMESPACE", help_heading = "Kubernetes")]
    argocd_namespace: Option<String>,
    /// Only this namespace, where the account may not list all of them (repeatable)
    #[arg(short, long, value_name = "NAMESPACE", help_heading = "Kubernetes")]
    namespace: Vec<String>,
    /// Read from the API of Argo CD instead: all its clusters at once, without a credential of any. The token of a read-only account is
    /// taken from ARGOCD_AUTH_TOKEN or --token-file
    #[arg(long, value_name = "URL", help_heading = "Argo CD",
        conflicts_with_all = ["kubeconfig", "context", "cluster", "cluster_name", "argocd_namespace", "namespace", "all", "managed_only"])]
    argocd: Option<String>,
    /// A file that holds the token
    #[arg(long, value_name = "FILE", requires = "argocd", help_heading = "Argo CD")]
    token_file: Option<PathBuf>,
    /// A PEM file with the certificate that signs Argo CD's own
    #[arg(long, value_name = "FILE", requires = "argocd", help_heading = "Argo CD")]
    ca_file: Option<PathBuf>,
    /// What Argo CD manages, and what the rules need besides; this is the default
    #[arg(long, conflicts_with = "all", help_heading = "Content")]
    managed_only: bool,
    /// Every object of every kind that Argo CD could manage
    #[arg(long, help_heading = "Content")]
    all: bool,
    /// Values of environment variables, Helm parameters and Helm values of this name are secret too (repeatable)
    #[arg(long, value_name = "GLOB", help_heading = "Content")]
    redact: Vec<String>,
    /// Values of this name are not secret, though the name looks so (repeatable)
    #[arg(long, value_name = "GLOB", help_heading = "Content")]
    no_redact: Vec<String>,
    /// Requests at the same time
    #[arg(long, value_name = "N", default_value_t = Limits::default().parallel, help_heading = "Pace")]
    parallel: usize,
    /// Requests a second
    #[arg(long, value_name = "N", default_value_t = Limits::default().per_second, help_heading = "Pace")]
    rate: u32,
    /// Objects a request
    #[arg(long, value_name = "N", default_value_t = Limits::default().page, help_heading = "Pace")]
    page_size: usize,
    /// Show no progress; without a terminal there is none anyway
    #[arg(long, help_heading = "Output")]
    no_progress: bool,
    /// Say nothing but errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

pub(super) fn run(args: &CaptureArgs) -> Result<ExitCode, Failure> {
    let watcher = watcher(args);
    let captured = read(args, watcher);
    if shows_progress(args) {
        write!(io::stderr(), "\r\x1b[K")?;
    }
    write_out(args, captured?)
}

fn read(args: &CaptureArgs, watcher: Watcher) -> Result<Captured, Failure> {
    let names = SecretNames::new(&args.redact, &args.no_redact).map_err(|why| miette::miette!("{why}"))?;
    let limits = Limits { parallel: args.parallel, per_second: args.rate, page: args.page_size.max(1), ..Limits::default() };
    if let Some(url) = &args.argocd {
        let server = ArgocdServer { url: url.clone(), token: token(args)?, ca_file: args.ca_file.clone() };
        return capture::from_argocd(&ArgocdCapture { server, names, limits }, watcher).map_err(failed);
    }
    let options = KubernetesCapture {
        server: KubernetesServer { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() },
        cluster: args.cluster.clone(),
        cluster_name: args.cluster_name.clone(),
        argocd_namespace: args.argocd_namespace.clone(),
        namespaces: args.namespace.clone(),
        all: args.all,
        names,
        limits,
    };
    capture::from_kubernetes(&options, watcher).map_err(failed)
}

/// The token for Argo CD. It is no argument, which everybody on the machine could read.
fn token(args: &CaptureArgs) -> Result<String, Failure> {
    let text = match &args.token_file {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| failed(CaptureError::File { path: file.display().to_string(), why: error.to_string() }))?,
        None => std::env::var(TOKEN).unwrap_or_default(),
    };
    let token = text.trim().to_owned();
    if token.is_empty() {
        return Err(Failure::Report(miette::miette!(
            help = "make one with `argocd account generate-token`",
            "no token: set {TOKEN} or give --token-file"
        )));
    }
    Ok(token)
}

fn write_out(args: &CaptureArgs, captured: Captured) -> Result<ExitCode, Failure> {
    let (objects, by_cluster, incomplete) = (captured.objects(), captured.objects_by_cluster(), captured.incomplete().to_vec());
    if args.output == "-" {
        captured.write(false, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (digest, size) = snapshot::save(&args.output, |out| captured.write(false, out)).map_err(failed)?;
    if args.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}: {objects} objects, {size} bytes, digest {digest}", args.output)?;
    for (server, count) in by_cluster {
        writeln!(out, "  {count:>7}  {server}")?;
    }
    for what in incomplete {
        writeln!(out, "incomplete: {what}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shows_progress(args: &CaptureArgs) -> bool {
    !args.no_progress && !args.quiet && io::stderr().is_terminal()
}

/// Rewrites one line on standard error, where that is a terminal.
fn watcher(args: &CaptureArgs) -> Watcher {
    if !shows_progress(args) {
        return Arc::new(|_| {});
    }
    let last = Mutex::new(None::<Instant>);
    Arc::new(move |progress: Progress| {
        let Ok(mut last) = last.lock() else { return };
        if last.is_none_or(|last| last.elapsed() >= STEP) {
            *last = Some(Instant::now());
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(io::stderr(), "\r\x1b[Kread {} objects, {} of {} lists", progress.objects, progress.done, progress.all);
        }
    })
}
