//! `presync snapshot verify`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::cli::Failure;

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Snapshot files or URLs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    cache: super::CacheArgs,
}

/// Ends with 0 where each file is whole and complete, with 1 where one is whole and says itself that something is missing, and with 2
/// where one is cut, altered or no snapshot file.
pub(super) fn run(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    let mut is_complete = true;
    let mut out = io::stdout().lock();
    for file in &args.files {
        let state = args.cache.load(std::slice::from_ref(file))?;
        let Some(digest) = state.sources().iter().find_map(|source| source.digest.as_deref()) else {
            return Err(Failure::Report(miette::miette!(
                help = "make one with `presync snapshot import`",
                "{file} is no snapshot file, so nothing in it shows whether it is whole"
            )));
        };
        writeln!(out, "{file}: whole, {} objects, digest {digest}", state.all().len())?;
        for what in state.incomplete() {
            is_complete = false;
            writeln!(out, "incomplete: {what}")?;
        }
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
