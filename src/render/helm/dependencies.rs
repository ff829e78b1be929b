//! Builds the charts that a chart depends on, in a copy of its own.
//!
//! Takes a bench whose chart misses dependencies; hands on a copy with all of them in `charts/`.

use std::collections::{BTreeMap, BTreeSet};

use super::chart::{Chart, Dependency, join};
use super::run::Bench;
use super::{MEND, message, shown};
use crate::render::charts;
use crate::render::scratch::Copy;
use crate::render::{RenderError, Request, Stop};
use crate::repo::without_password;

/// `helm dependency build` in a copy of the chart. Charts of `file://` dependencies are packed from the repository without any network.
///
/// # Errors
/// When Argo CD would fail as well, or when charts must be fetched and cannot be.
///
/// Source: Argo CD `reposerver/repository/repository.go:runHelmBuild`, `util/helm/helm.go:DependencyBuild`.
pub(super) fn build(bench: &Bench<'_>) -> Result<Copy, Stop> {
    let request = bench.request;
    let workshop = request.workshop;
    let what = || format!("dependencies of the Helm chart {}", shown(request));
    let remote = remote(request);
    if workshop.offline && !remote.is_empty() {
        let why = format!("{} must be fetched, which --offline rules out", named(&remote));
        return Err(Stop::unjudged(what(), why));
    }
    let repositories: BTreeSet<&str> =
        remote.iter().map(|dependency| dependency.repository.as_str()).filter(|url| !url.starts_with("oci://")).collect();
    // Only these are asked over the network, whatever helm has plugins for.
    if let Some(url) = repositories.iter().find(|url| !["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))) {
        let why = format!("presync fetches charts over https and oci, not from {}", without_password(url));
        return Err(Stop::unjudged(what(), why));
    }
    let copy = workshop.scratch.copy(&request.tree, bench.inputs, &BTreeMap::new()).map_err(|error| Stop::scratch(what(), &error))?;
    let environment = match remote.is_empty() {
        true => Vec::new(),
        false => workshop
            .charts
            .access()
            .environment(bench.home.path(), repositories)
            .map_err(|error| Stop::unjudged(what(), format!("the configuration for helm cannot be written: {error}")))?,
    };
    match bench.run_in(copy.root(), vec!["dependency".into(), "build".into()], environment) {
        Ok(_) => Ok(copy),
        Err(error) => {
            let said = message::readable(&copy.readable(&error.to_string()));
            // What has to do with other machines may be different from where Argo CD runs.
            if !remote.is_empty() && !charts::is_absent(&said) && !said.contains("out of sync") {
                return Err(Stop::unjudged(what(), format!("helm cannot fetch {} from here: {said}", named(&remote))));
            }
            let text = format!("error building helm chart dependencies of {}: {said}", shown(request));
            Err(RenderError::new("render-failed", text, MEND).into())
        }
    }
}

/// Whether the same files may have other dependencies another time: some come from elsewhere, and no lock says which.
pub(super) fn may_change(request: &Request<'_>) -> bool {
    let locked = ["Chart.lock", "requirements.lock"].iter().any(|lock| request.tree.get(&join(&request.path, lock)).is_some());
    !locked && remote(request).iter().any(|dependency| !charts::is_exact(&dependency.version))
}

fn remote(request: &Request<'_>) -> Vec<Dependency> {
    let dependencies = Chart::read(&request.tree, &request.path).map(|chart| chart.dependencies).unwrap_or_default();
    dependencies.into_iter().filter(Dependency::is_remote).collect()
}

fn named(dependencies: &[Dependency]) -> String {
    let names: Vec<String> =
        dependencies.iter().map(|dependency| format!("{} from {}", dependency.name, without_password(&dependency.repository))).collect();
    names.join(", ")
}
