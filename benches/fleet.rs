//! Writes a generated fleet to look at or to measure other tools with.
//!
//! `cargo bench --bench fleet -- generate DIR [--applications 1000] [--snapshot FILE] [--change]`: a Git repository in DIR, the live state that
//! is in sync with it in FILE, and with `--change` a new image of one Application in the working tree.

#![allow(clippy::print_stdout, reason = "a command for people")]

mod generator;

use std::path::PathBuf;

use generator::{Fleet, Result};

use clap::{Parser, Subcommand};

/// Generates a GitOps fleet.
#[derive(Debug, Parser)]
#[command(name = "fleet")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a repository, and the live state that is in sync with it
    Generate {
        /// Where the repository goes: an empty or new folder, or an earlier fleet, which is replaced
        dir: PathBuf,
        /// How many Applications, with four manifests each
        #[arg(long, default_value_t = 1_000)]
        applications: usize,
        /// Write the live state too: YAML for .yaml, else JSON
        #[arg(long)]
        snapshot: Option<PathBuf>,
        /// Give one Application a new image in the working tree
        #[arg(long)]
        change: bool,
    },
}

fn main() -> Result<()> {
    let Command::Generate { dir, applications, snapshot, change } = Arguments::parse().command;
    let fleet = Fleet::generate(&dir, applications)?;
    println!("{}: {applications} Applications", fleet.root.display());
    if let Some(file) = snapshot {
        println!("{}: {} objects", file.display(), fleet.write_snapshot(&file)?);
    }
    if change {
        fleet.bump_image()?;
    } else {
        fleet.restore()?;
    }
    Ok(())
}
