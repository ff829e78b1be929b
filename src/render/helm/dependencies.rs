//! Builds the charts that a chart depends on, in a copy of its own.
//!
//! Takes a bench whose chart misses dependencies; hands on a copy with all of them in `charts/`.

use std::collections::BTreeMap;

use super::run::Bench;
use super::{MEND, chart, message, shown};
use crate::render::scratch::Copy;
use crate::render::{RenderError, Stop};

/// `helm dependency build` in a copy of the chart. Charts of `file://` dependencies are packed from the repository without any network.
///
/// # Errors
/// When Argo CD would fail as well, or when charts must be fetched and cannot be.
///
/// Source: Argo CD `reposerver/repository/repository.go:runHelmBuild`, `util/helm/helm.go:DependencyBuild`.
pub(super) fn build(bench: &Bench<'_>) -> Result<Copy, Stop> {
    let request = bench.request;
    let what = || format!("dependencies of the Helm chart {}", shown(&request.path));
    let dependencies = chart::Chart::read(&request.tree, &request.path).map(|chart| chart.dependencies).unwrap_or_default();
    let remote: Vec<String> = dependencies
        .iter()
        .filter(|dependency| dependency.is_remote())
        .map(|dependency| format!("{} from {}", dependency.name, crate::repo::without_password(&dependency.repository)))
        .collect();
    if !remote.is_empty() {
        let why = format!("{} must be fetched", remote.join(", "));
        return Err(Stop::unjudged(what(), why));
    }
    let copy =
        request.workshop.scratch.copy(&request.tree, bench.inputs, &BTreeMap::new()).map_err(|error| Stop::scratch(what(), &error))?;
    match bench.run_in(copy.root(), vec!["dependency".into(), "build".into()], Vec::new()) {
        Ok(_) => Ok(copy),
        Err(error) => {
            let said = message::readable(&copy.readable(&error.to_string()));
            let text = format!("error building helm chart dependencies of {}: {said}", shown(&request.path));
            Err(RenderError::new("render-failed", text, MEND).into())
        }
    }
}
