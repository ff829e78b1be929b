//! What hangs on a deleted object, as a tree below it.
//!
//! Takes a [`Change`]; hands on lines of text: how much goes along, the tree of it, and what stays.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::style::{Style, Tone, clean, columns, plural, wrap};
use crate::plan::{Change, Dependent, Tie};

/// Objects shown of those that go along with one object, and of those that stay.
const MAX_SHOWN: usize = 20;
/// Objects up to which the tree alone says how many there are.
const FEW: usize = 3;
/// Kinds named in the count of all.
const MAX_KINDS: usize = 8;

/// Writes what hangs on a deleted object, each line after `indent`.
pub(super) fn write_dependents(change: &Change, indent: &str, all: bool, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let cascade = &change.cascade;
    if cascade.len() > FEW {
        let text = format!("{} along: {}", plural(cascade.len(), "object goes", "objects go"), kinds(cascade));
        for line in wrap(&text, style.width.saturating_sub(columns(indent)).max(20)) {
            writeln!(out, "{indent}{}", style.paint(Tone::Bad, &line))?;
        }
    }
    let shown = if all { cascade.len() } else { cascade.len().min(MAX_SHOWN) };
    let rails = rails(cascade);
    for (dependent, rail) in cascade.iter().zip(&rails).take(shown) {
        write_dependent(dependent, &format!("{indent}{}", drawn(rail, style)), style, out)?;
    }
    if shown < cascade.len() {
        let rest = plural(cascade.len() - shown, "more object goes", "more objects go");
        writeln!(out, "{indent}{} {rest} along (--all lists them)", style.branch(true))?;
    }
    let shown = if all { change.stays.len() } else { change.stays.len().min(MAX_SHOWN) };
    for dependent in change.stays.iter().take(shown) {
        write_dependent(dependent, &format!("{indent}stays: "), style, out)?;
    }
    if shown < change.stays.len() {
        let rest = plural(change.stays.len() - shown, "more object stays", "more objects stay");
        writeln!(out, "{indent}{rest} (--all lists them)")?;
    }
    Ok(())
}

fn write_dependent(dependent: &Dependent, start: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let cluster = dependent.cluster.as_ref().map(|cluster| format!(" on {}", clean(cluster))).unwrap_or_default();
    let name = format!("{}{cluster}", clean(&dependent.key.to_string()));
    let why = match (&dependent.application, dependent.tie) {
        (Some(id), Tie::Tracked) => format!("(of Application {})", clean(id)),
        (Some(id), tie) => format!("({}, Application {})", tie.as_str(), clean(id)),
        (None, tie) => format!("({})", tie.as_str()),
    };
    let beside = columns(start) + columns(&name) + 1;
    if beside + columns(&why) <= style.width {
        return writeln!(out, "{start}{name} {}", style.paint(Tone::Faint, &why));
    }
    writeln!(out, "{start}{name}")?;
    let indent = columns(start) + 2;
    for line in wrap(&why, style.width.saturating_sub(indent).max(20)) {
        writeln!(out, "{}{}", " ".repeat(indent), style.paint(Tone::Faint, &line))?;
    }
    Ok(())
}

/// `3 PersistentVolumeClaim, 40 Pod`: kinds that hold data first, then by number.
fn kinds(dependents: &[Dependent]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for dependent in dependents {
        *counts.entry(&dependent.key.kind).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    let holds_data =
        |kind: &str| matches!(kind, "Namespace" | "Application" | "PersistentVolumeClaim" | "PersistentVolume" | "StatefulSet");
    counts.sort_by_key(|(kind, count)| (!holds_data(kind), std::cmp::Reverse(*count)));
    let others: usize = counts.iter().skip(MAX_KINDS).map(|(_, count)| count).sum();
    let mut words: Vec<String> = counts.iter().take(MAX_KINDS).map(|(kind, count)| format!("{count} {}", clean(kind))).collect();
    if others > 0 {
        words.push(format!("{others} of other kinds"));
    }
    words.join(", ")
}

/// For each entry of a tree and each level above it, whether more entries of that level follow; the last one is its own level.
fn rails(dependents: &[Dependent]) -> Vec<Vec<bool>> {
    let mut follows: Vec<bool> = Vec::new();
    let mut rails: Vec<Vec<bool>> = dependents
        .iter()
        .rev()
        .map(|dependent| {
            follows.resize(dependent.depth, false);
            let rail = follows.clone();
            if let Some(own) = follows.last_mut() {
                *own = true;
            }
            rail
        })
        .collect();
    rails.reverse();
    rails
}

fn drawn(rail: &[bool], style: Style) -> String {
    let Some((own, above)) = rail.split_last() else { return String::new() };
    let bars: String = above.iter().map(|follows| if *follows { format!("{} ", style.bar()) } else { "   ".to_owned() }).collect();
    format!("{bars}{} ", style.branch(!own))
}
