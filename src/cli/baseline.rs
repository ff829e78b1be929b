//! `presync check --write-baseline`: writes down what is found, so that only what is new counts from then on.

use std::fs;
use std::io::{self, Write};

use super::Failure;
use super::shared::{SharedArgs, failed};
use crate::check::Outcome;
use crate::repo::Repository;
use crate::rules::baseline::{Baseline, FILE};

/// Writes the baseline into the working tree. Findings that are waived otherwise are not in it; known ones keep their day.
/// Where not every Application was looked at, what it has already stays.
pub(super) fn write(outcome: &Outcome, args: &SharedArgs) -> Result<(), Failure> {
    let options = args.options();
    let repository = Repository::discover(&options.repo).map_err(failed)?;
    let Some(root) = repository.root() else {
        return Err(miette::miette!(help = "Name a checkout with --repo DIR.", "the repository is bare and has no files").into());
    };
    let file = root.join(FILE);
    let before = match fs::read_to_string(&file) {
        Ok(text) => Baseline::parse(&text).map_err(|reason| miette::miette!("{} cannot be read: {reason}", file.display()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Baseline::default(),
        Err(error) => return Err(miette::miette!("{} cannot be read: {error}", file.display()).into()),
    };
    let counts = outcome.findings.iter().filter(|finding| finding.suppressed.as_ref().is_none_or(|known| known.by == "baseline"));
    let today = options.now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let found = Baseline::of(counts, &before, today);
    // What a part of the Applications was not looked at for may still be there.
    let is_complete = options.all && options.applications.is_empty();
    let baseline = if is_complete { found } else { found.with(&before) };
    fs::write(&file, baseline.text()).map_err(|error| miette::miette!("cannot write {}: {error}", file.display()))?;
    writeln!(io::stderr(), "wrote {} findings to {FILE}; they count no more once it is merged", baseline.len())?;
    Ok(())
}
