//! The `presync` program.

use std::process::ExitCode;

/// Objects are many small allocations made by all threads at once, which the system's allocators are slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    presync::cli::run()
}
