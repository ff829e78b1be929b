//! `presync snapshot`: capture, import, show, diff, verify.

mod capture;
mod diff;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Failure;
use super::cache_folder;
use super::shared::failed;
use crate::snapshot::{self, Access, LiveState};

/// Arguments of `presync snapshot`.
#[derive(Debug, Args)]
pub(super) struct SnapshotArgs {
    #[command(subcommand)]
    command: SnapshotCommand,
}

#[derive(Debug, Subcommand)]
enum SnapshotCommand {
    /// Record the live state of a cluster from its API server, reading only
    Capture(Box<capture::CaptureArgs>),
    /// Make a snapshot from files that `kubectl get … -o yaml` or `-o json` wrote
    Import(ImportArgs),
    /// Show what a snapshot holds
    Show(ShowArgs),
    /// Show what changed from one snapshot to another
    Diff(diff::DiffArgs),
    /// Prove that a snapshot is as it was written, and say what is missing in it
    Verify(verify::VerifyArgs),
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// Files and folders, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Where the snapshot goes: a file, a URL (s3://, gs://, az://, https://), or - for standard output
    #[arg(short, long, value_name = "PLACE", default_value = "live.presync.zst")]
    output: String,
    /// When the state was recorded, as RFC 3339; unknown if not given
    #[arg(long, value_name = "TIME")]
    captured_at: Option<String>,
}

/// Where fetched snapshots are kept.
#[derive(Debug, Args)]
struct CacheArgs {
    /// Folder in which fetched snapshots are kept [default: the user's cache folder]
    #[arg(long, value_name = "DIR", env = "PRESYNC_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
}

impl CacheArgs {
    fn load(&self, sources: &[String]) -> Result<LiveState, Failure> {
        let cache = self.cache_dir.clone().or_else(cache_folder::of_user);
        snapshot::load_from(sources, &Access { offline: false, cache }).map_err(failed)
    }
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// A snapshot, or files and folders that kubectl wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    cache: CacheArgs,
}

pub(super) fn run(args: &SnapshotArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        SnapshotCommand::Capture(args) => capture::run(args),
        SnapshotCommand::Import(args) => import(args),
        SnapshotCommand::Show(args) => show(args),
        SnapshotCommand::Diff(args) => diff::run(args),
        SnapshotCommand::Verify(args) => verify::run(args),
    }
}

fn import(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let state = snapshot::load(&args.files).map_err(failed)?;
    let captured_at = match &args.captured_at {
        Some(text) => Some(text.parse::<jiff::Timestamp>().map_err(|error| miette::miette!("--captured-at: {error}"))?.to_string()),
        None => state.sources().iter().filter_map(|source| source.captured_at.clone()).min(),
    };
    let provenance = snapshot::Provenance { captured_at, source: "kubectl".to_owned() };
    if args.output == "-" {
        snapshot::write(&state, &provenance, false, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    let write = |out: &mut dyn Write| snapshot::write(&state, &provenance, false, out);
    let (digest, size) = snapshot::save(&args.output, write).map_err(failed)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}: {} objects, {size} bytes, digest {digest}", args.output, state.all().len())?;
    for what in state.incomplete() {
        writeln!(out, "left out: {what}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let state = args.cache.load(&args.files)?;
    let summary = snapshot::summary(&state);
    let mut out = io::BufWriter::new(io::stdout().lock());
    for source in &summary.sources {
        let age = match &source.captured_at {
            Some(time) => format!("captured {time}{}", age(time)),
            None => "it does not say when it was captured".to_owned(),
        };
        writeln!(out, "{}: {} objects, {age}", source.source, source.objects)?;
        if let Some(digest) = &source.digest {
            writeln!(out, "  digest {digest}")?;
        }
    }
    let settings = state.settings();
    let version =
        settings.known_version.map_or_else(|| format!("unknown, {} is assumed", settings.version()), |version| version.to_string());
    writeln!(out, "\nArgo CD {version}, in the namespace {}", settings.namespace)?;
    for cluster in &summary.clusters {
        let name = if cluster.name.is_empty() { String::new() } else { format!(" ({})", cluster.name) };
        let version = cluster.kubernetes_version.as_ref().map(|version| format!(", Kubernetes {version}")).unwrap_or_default();
        writeln!(out, "\n{}{name}: {} objects{version}", cluster.server, cluster.objects)?;
        for (kind, count) in &cluster.by_kind {
            writeln!(out, "  {count:>7}  {kind}")?;
        }
    }
    if !summary.by_application.is_empty() {
        writeln!(out, "\nTracked by Application:")?;
        for (application, count) in &summary.by_application {
            writeln!(out, "  {count:>7}  {}", application.replace('_', "/"))?;
        }
    }
    writeln!(out, "\n{} objects are tracked by nobody and owned by nobody", summary.untracked)?;
    for what in &summary.incomplete {
        writeln!(out, "incomplete: {what}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The age of a time, in words; empty where it cannot be told.
fn age(time: &str) -> String {
    let Ok(time) = time.parse::<jiff::Timestamp>() else { return String::new() };
    let seconds = jiff::Timestamp::now().as_second() - time.as_second();
    match seconds {
        ..0 => " (in the future)".to_owned(),
        0..3_600 => format!(" ({} minutes ago)", seconds / 60),
        3_600..172_800 => format!(" ({} hours ago)", seconds / 3_600),
        _ => format!(" ({} days ago)", seconds / 86_400),
    }
}
