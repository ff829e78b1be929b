//! The `presync` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    presync::cli::run()
}
