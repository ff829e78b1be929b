//! `presync init`: writes a commented configuration and, on request, the workflow and the pre-commit entry.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::Failure;
use super::shared::failed;
use crate::config::FILE;
use crate::repo::Repository;

const CONFIG: &str = include_str!("init/config.yaml");
const WORKFLOW: &str = include_str!("init/workflow.yaml");
const WORKFLOW_FILE: &str = ".github/workflows/presync.yaml";
const PRE_COMMIT: &str = include_str!("init/pre-commit.yaml");
const PRE_COMMIT_FILE: &str = ".pre-commit-config.yaml";

/// Arguments of `presync init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The Git repository; the one around the current directory if not given
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    repo: PathBuf,
    /// Also write a GitHub workflow that checks every pull request
    #[arg(long)]
    workflow: bool,
    /// Also write the entry for pre-commit
    #[arg(long)]
    pre_commit: bool,
    /// Overwrite files that are there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &InitArgs) -> Result<ExitCode, Failure> {
    let repository = Repository::discover(&args.repo).map_err(failed)?;
    let Some(root) = repository.root() else {
        return Err(miette::miette!(help = "Name a checkout with --repo DIR.", "the repository is bare and has no files").into());
    };
    let mut out = io::stdout().lock();
    write(root, FILE, CONFIG, args.force, &mut out)?;
    if args.workflow {
        write(root, WORKFLOW_FILE, &WORKFLOW.replace("VERSION", env!("CARGO_PKG_VERSION")), args.force, &mut out)?;
    }
    if args.pre_commit {
        if root.join(PRE_COMMIT_FILE).exists() {
            writeln!(out, "{PRE_COMMIT_FILE} is there already; add this to it:\n\n{PRE_COMMIT}")?;
        } else {
            write(root, PRE_COMMIT_FILE, PRE_COMMIT, args.force, &mut out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(root: &Path, name: &str, text: &str, force: bool, out: &mut impl Write) -> Result<(), Failure> {
    let file = root.join(name);
    if file.symlink_metadata().is_ok() && !force {
        return Err(miette::miette!(help = "Say --force to overwrite it.", "{} is there already", file.display()).into());
    }
    let cannot = |error: io::Error| miette::miette!("cannot write {}: {error}", file.display());
    file.parent().map_or(Ok(()), fs::create_dir_all).map_err(cannot)?;
    fs::write(&file, text).map_err(cannot)?;
    writeln!(out, "wrote {name}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The text with its examples switched on.
    fn switched_on() -> String {
        let on = |line: &str| {
            line.strip_prefix('#')
                .filter(|rest| !rest.starts_with(' ') || rest.starts_with("  "))
                .map_or_else(|| line.to_owned(), str::to_owned)
        };
        CONFIG.lines().map(|line| on(line) + "\n").collect()
    }

    #[test]
    fn the_configuration_sets_nothing_until_an_example_is_switched_on() {
        assert_eq!(Config::parse(FILE, CONFIG).unwrap(), Config::default());
    }

    #[test]
    fn every_setting_is_shown_with_an_example_that_can_be_read() {
        let text = switched_on();
        let config = Config::parse(FILE, &text).unwrap();
        assert_eq!((config.waivers.len(), config.environments.len(), config.rules.len()), (1, 1, 1), "{text}");
        let schema = serde_json::to_value(schemars::schema_for!(Config)).unwrap();
        for setting in schema["properties"].as_object().unwrap().keys() {
            assert!(text.lines().any(|line| line.starts_with(&format!("{setting}:"))), "{setting} is missing");
        }
    }

    #[test]
    fn workflow_and_pre_commit_entry_are_yaml() {
        for text in [WORKFLOW, PRE_COMMIT] {
            serde_yaml::from_str::<serde_json::Value>(text).unwrap();
        }
    }
}
