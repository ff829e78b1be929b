//! `presync evaluate-jsonnet`: the process in which jsonnet runs.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Failure;
use crate::render::jsonnet;

/// Arguments of `presync evaluate-jsonnet`.
#[derive(Debug, Args)]
pub(super) struct EvaluateArgs {
    /// What is to be evaluated
    file: PathBuf,
}

pub(super) fn evaluate(args: &EvaluateArgs) -> Result<ExitCode, Failure> {
    jsonnet::evaluate_order(&args.file, &mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
