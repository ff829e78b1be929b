//! `presync completions` and `presync man`.

use std::io;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Failure};

/// Arguments of `presync completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    // The generator panics when its output is closed, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "presync", &mut script);
    io::copy(&mut script.as_slice(), &mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn man() -> Result<ExitCode, Failure> {
    clap_mangen::Man::new(Cli::command()).render(&mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
