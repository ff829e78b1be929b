//! `presync snapshot diff`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::cli::Failure;
use crate::snapshot::{self, Place};

/// How many fields of an object are named.
const FIELDS: usize = 6;

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// The earlier snapshot
    #[arg(value_name = "FIRST")]
    first: String,
    /// The later snapshot
    #[arg(value_name = "SECOND")]
    second: String,
    #[command(flatten)]
    cache: super::CacheArgs,
}

pub(super) fn run(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let load = |source: &String| args.cache.load(std::slice::from_ref(source));
    let (first, second) = (load(&args.first)?, load(&args.second)?);
    let found = snapshot::compare(&first, &second);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if found.is_empty() {
        writeln!(out, "nothing differs")?;
    }
    for place in &found.removed {
        writeln!(out, "- {}", named(place))?;
    }
    for place in &found.added {
        writeln!(out, "+ {}", named(place))?;
    }
    for object in &found.changed {
        let again = if object.replaced { " (deleted and made again)" } else { "" };
        let fields = object.paths.iter().take(FIELDS).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = object.paths.len().saturating_sub(FIELDS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(out, "~ {}{again}: {fields}{more}", named(&object.place))?;
    }
    if found.only_status > 0 {
        writeln!(out, "{} objects differ in their status alone", found.only_status)?;
    }
    for key in &found.settings {
        writeln!(out, "~ argocd-cm: {key}")?;
    }
    for cluster in &found.clusters {
        writeln!(out, "only one of both holds objects of {cluster}")?;
    }
    for (name, state) in [(&args.first, &first), (&args.second, &second)] {
        for what in state.incomplete() {
            writeln!(out, "incomplete: {name}: {what}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn named(place: &Place) -> String {
    if &*place.cluster == IN_CLUSTER_SERVER { place.key.to_string() } else { format!("{} on {}", place.key, place.cluster) }
}
