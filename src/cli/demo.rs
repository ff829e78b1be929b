//! x
use super::Failure;
use std::process::ExitCode;
#[derive(Debug, clap::Args)]
pub struct DemoArgs {}
pub(super) fn run(_: &DemoArgs) -> Result<ExitCode, Failure> {
    Ok(ExitCode::SUCCESS)
}
