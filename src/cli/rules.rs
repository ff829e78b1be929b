//! `presync rules` and `presync explain`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use super::Failure;
use crate::rules::{RuleSet, pages};

/// Arguments of `presync rules`.
#[derive(Debug, Args)]
pub(super) struct RulesArgs {}

/// Arguments of `presync explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The rule's id, as `presync rules` lists it
    rule: String,
}

pub(super) fn list(_: &RulesArgs) -> Result<ExitCode, Failure> {
    let rules = RuleSet::builtin().map_err(|error| miette::miette!("{error}"))?;
    let mut out = io::stdout().lock();
    let width = rules.definitions().map(|definition| definition.id.len()).max().unwrap_or(0);
    for definition in rules.definitions() {
        writeln!(out, "{:width$}  {:7}  {}", definition.id, definition.severity.as_str(), definition.summary)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn explain(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let rules = RuleSet::builtin().map_err(|error| miette::miette!("{error}"))?;
    let Some(page) =
        pages(&rules).into_iter().find(|page| page.file == format!("{}.md", args.rule.replace('/', "--")) && args.rule != "README")
    else {
        let nearest =
            rules.definitions().map(|definition| definition.id.as_str()).min_by_key(|id| distance(id, &args.rule)).unwrap_or_default();
        return Err(miette::miette!(
            help = format!("Did you mean `{nearest}`? `presync rules` lists all."),
            "there is no rule `{}`",
            args.rule
        )
        .into());
    };
    writeln!(io::stdout().lock(), "{}", page.text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Edit distance (Levenshtein), for suggestions.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, left) in a.chars().enumerate() {
        let mut next = vec![index + 1];
        for (position, right) in b.iter().enumerate() {
            let replaced = row.get(position).copied().unwrap_or_default() + usize::from(left != *right);
            let removed = row.get(position + 1).copied().unwrap_or_default() + 1;
            let added = next.last().copied().unwrap_or_default() + 1;
            next.push(replaced.min(removed).min(added));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
