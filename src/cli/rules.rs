//! `presync rules` and `presync explain`.

mod test;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::Failure;
use super::shared::failed;
use crate::config::nearest;
use crate::rules::{Definition, Logic, RuleSet, Status, pages};

/// Columns of text for people.
const WIDTH: usize = 100;

/// Arguments of `presync rules`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct RulesArgs {
    #[command(subcommand)]
    command: Option<RulesCommand>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// Run the tests of a folder of rules
    Test(test::TestArgs),
}

/// Formats of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// A table.
    Markdown,
}

/// Arguments of `presync explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The rule's id, as `presync rules` lists it
    rule: String,
}

pub(super) fn list(args: &RulesArgs) -> Result<ExitCode, Failure> {
    if let Some(RulesCommand::Test(args)) = &args.command {
        return test::run(args);
    }
    let rules = RuleSet::builtin().map_err(failed)?;
    let mut out = io::stdout().lock();
    match args.format {
        ListFormat::Text => {
            let width = rules.definitions().map(|definition| definition.id.len()).max().unwrap_or(0);
            for definition in rules.definitions() {
                writeln!(out, "{:width$}  {:7}  {}", definition.id, definition.severity.as_str(), definition.summary)?;
            }
        }
        ListFormat::Json => {
            let all: Vec<_> = rules.definitions().map(described).collect();
            serde_json::to_writer_pretty(&mut out, &json!({"version": 1, "rules": all})).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        ListFormat::Markdown => {
            let list = pages(&rules).into_iter().find(|page| page.file == "README.md").map(|page| page.text).unwrap_or_default();
            let table = list.lines().filter(|line| line.starts_with('|'));
            for line in table {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A rule for programs.
fn described(definition: &Definition) -> serde_json::Value {
    let grades: Vec<_> = definition
        .grades
        .iter()
        .map(|(name, grade)| json!({"name": name, "severity": grade.severity.as_str(), "when": grade.when}))
        .collect();
    json!({
        "id": definition.id,
        "severity": definition.severity.as_str(),
        "grades": grades,
        "since": definition.since,
        "status": match definition.status { Status::Preview => "preview", Status::Stable => "stable" },
        "needs": definition.needs.iter().map(|need| need.as_str()).collect::<Vec<_>>(),
        "summary": definition.summary.trim(),
        "help": definition.help.trim(),
        "fixable": definition.fixable,
        "logic": match definition.logic { Logic::Cel => "cel", Logic::Native => "native" },
        "parameters": definition.parameters,
        "references": definition.references,
    })
}

pub(super) fn explain(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let rules = RuleSet::builtin().map_err(failed)?;
    let Some(page) =
        pages(&rules).into_iter().find(|page| page.file == format!("{}.md", args.rule.replace('/', "--")) && args.rule != "README")
    else {
        let help = match nearest(&args.rule, rules.definitions().map(|definition| definition.id.as_str())) {
            Some(near) => format!("Did you mean `{near}`? `presync rules` lists all."),
            None => "`presync rules` lists all.".to_owned(),
        };
        return Err(miette::miette!(help = help, "there is no rule `{}`", args.rule).into());
    };
    writeln!(io::stdout().lock(), "{}", wrapped(page.text.trim_end(), WIDTH))?;
    Ok(ExitCode::SUCCESS)
}

/// Markdown with lines of at most this width, so that a pager need not scroll sideways. Code and tables stay as they are.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        if in_code || fence || line.starts_with('|') || line.chars().count() <= width {
            lines.push(line.to_owned());
            continue;
        }
        let lead = ["> ", "- "].into_iter().find(|lead| line.starts_with(lead)).unwrap_or_default();
        let next = if lead == "> " { lead.to_owned() } else { " ".repeat(lead.len()) };
        let mut current = lead.to_owned();
        for word in line.strip_prefix(lead).unwrap_or(line).split(' ') {
            let started = current.trim_end().len() > next.trim_end().len().max(lead.trim_end().len());
            if started && current.chars().count() + word.chars().count() > width {
                lines.push(current.trim_end().to_owned());
                current = next.clone();
            }
            current.push_str(word);
            current.push(' ');
        }
        lines.push(current.trim_end().to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words_and_code_is_not() {
        let text = "one two three four\n> five six seven\n- eight nine ten\n```\ncode that is long enough\n```\n| a | b c d e f g |";
        assert_eq!(
            wrapped(text, 10),
            "one two\nthree four\n> five six\n> seven\n- eight\n  nine ten\n```\ncode that is long enough\n```\n| a | b c d e f g |"
        );
    }

    #[test]
    fn every_rule_is_described_for_programs() {
        let rules = RuleSet::builtin().unwrap();
        let mass_prune = described(rules.definition("mass-prune").unwrap());
        assert_eq!((&mass_prune["severity"], &mass_prune["parameters"]["percent"]), (&json!("error"), &json!(70)));
        assert!(rules.definitions().all(|definition| described(definition)["summary"].as_str().is_some_and(|text| !text.is_empty())));
    }
}
