//! Runs `helm template` on a chart that is laid out in a scratch folder.
//!
//! Takes what was resolved; hands on helm's output, or why there is none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::arguments::{self, Invocation};
use super::files::ValueFile;
use super::{MEND, Plan, dependencies, is_fetched, message, schema, shown, unstable};
use crate::render::environment::Environment;
use crate::render::program::{Call, Output, ProgramError};
use crate::render::scratch::{Checkout, Copy};
use crate::render::{Inputs, RenderError, Request, Stop};

/// Everything that one render needs on disk.
pub(super) struct Bench<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) inputs: &'a Inputs,
    pub(super) helm: &'a Path,
    pub(super) home: TempDir,
    checkout: Arc<Checkout>,
    arguments: Vec<OsString>,
    /// A value file that helm fetches.
    remote: Option<String>,
    /// What a schema refers to, so that values are not checked.
    pub(super) unchecked: Option<String>,
}

impl<'a> Bench<'a> {
    /// Lays out the chart and its value files.
    pub(super) fn new(request: &'a Request<'a>, inputs: &'a Inputs, plan: &Plan) -> Result<Self, Stop> {
        let what = || format!("Helm chart {}", shown(request));
        let workshop = request.workshop;
        let helm = workshop.programs.helm().map_err(|missing| Stop::missing(what(), missing))?;
        let remote = plan.value_files.iter().chain(plan.file_parameters.values()).find_map(|file| match file {
            ValueFile::Remote(url) => Some(crate::repo::without_password(url)),
            _ => None,
        });
        if let Some(url) = remote.as_ref().filter(|_| workshop.offline) {
            return Err(Stop::unjudged(format!("value file {url}"), "it comes from the network, which --offline rules out"));
        }
        let scratch = |error| Stop::scratch(what(), &error);
        let checkout = workshop.scratch.checkout(&request.tree, inputs).map_err(scratch)?;
        let home = workshop.scratch.home().map_err(scratch)?;
        let mut roots: BTreeMap<&str, PathBuf> =
            request.references.keys().map(|name| (name.as_str(), checkout.root().to_owned())).collect();
        for (name, tree, inputs) in plan.elsewhere(request) {
            roots.insert(name, workshop.scratch.checkout(tree, &inputs).map_err(scratch)?.root().to_owned());
        }
        let on_disk = |file: &ValueFile| match file {
            ValueFile::Own(path) => checkout.root().join(path).to_string_lossy().into_owned(),
            ValueFile::Referenced(name, path) => {
                roots.get(name.as_str()).map_or(Path::new(""), PathBuf::as_path).join(path).to_string_lossy().into_owned()
            }
            ValueFile::Remote(url) => url.clone(),
        };
        let inline = home.path().join("values.yaml");
        let inline_values = plan.settings.inline_values();
        if let Some(values) = &inline_values {
            std::fs::write(&inline, values).map_err(|error| Stop::scratch(what(), &error.into()))?;
        }
        let inline = inline.to_string_lossy();
        let value_files: Vec<String> = plan.value_files.iter().map(on_disk).collect();
        let set_files = plan.file_parameters.iter().map(|(name, file)| (name.clone(), on_disk(file))).collect();
        let invocation = Invocation {
            application: &request.identity.name,
            namespace: &request.identity.destination_namespace,
            kube_version: Some(request.capabilities.kube_version.as_str()).filter(|version| !version.is_empty()),
            api_versions: &request.capabilities.api_versions,
            value_files: &value_files,
            set_files: &set_files,
            inline_values: inline_values.is_some().then_some(&*inline),
        };
        let environment = Environment::of(request);
        let mut arguments = arguments::template(&plan.settings, &invocation, &|text| environment.substitute(text))?;
        // Helm would read it, wherever that is.
        let unchecked = schema::address_elsewhere(&request.tree, inputs).filter(|_| !plan.settings.skip_schema_validation);
        if unchecked.is_some() {
            arguments.push("--skip-schema-validation".to_owned());
        }
        Ok(Self {
            request,
            inputs,
            helm,
            home,
            checkout,
            arguments: arguments.into_iter().map(OsString::from).collect(),
            remote,
            unchecked,
        })
    }

    /// What `helm template` writes; dependencies that are missing are built first, as Argo CD does. The copy with them comes along.
    pub(super) fn template(&self) -> Result<(String, Option<Copy>), Stop> {
        let error = match self.run_in(self.checkout.root(), self.arguments.clone(), Vec::new()) {
            Ok(output) => return Ok((text_of(output), None)),
            Err(error) => error,
        };
        if !message::is_missing_dependency(&error) {
            return Err(self.failed(&error, &self.checkout.readable(&error.to_string())));
        }
        let built = dependencies::build(self)?;
        let output = self.run_in(built.root(), self.arguments.clone(), Vec::new());
        match output {
            Ok(output) => Ok((text_of(output), Some(built))),
            Err(error) => Err(self.failed(&error, &built.readable(&self.checkout.readable(&error.to_string())))),
        }
    }

    /// The same once more, some hours off universal time; nothing where it fails this time.
    pub(super) fn once_more(&self, built: Option<&Copy>, hours: i32) -> Option<String> {
        let zone = self.home.path().join("zone");
        std::fs::write(&zone, unstable::time_zone(hours)).ok()?;
        let root = built.map_or(self.checkout.root(), Copy::root);
        self.run_in(root, self.arguments.clone(), vec![("TZ".into(), zone.into_os_string())]).ok().map(text_of)
    }

    /// Runs helm in the chart's folder below `root`.
    pub(super) fn run_in(&self, root: &Path, arguments: Vec<OsString>, more: Vec<(OsString, OsString)>) -> Result<Output, ProgramError> {
        // Argo CD's own containers have no other time zone.
        let mut environment = vec![(OsString::from("TZ"), OsString::from("UTC"))];
        environment.extend(more);
        let call = Call {
            program: self.helm,
            arguments,
            directory: &root.join(&self.request.path),
            home: self.home.path(),
            environment,
            limits: self.request.workshop.limits.clone(),
        };
        call.run()
    }

    /// What a failure amounts to: Argo CD's too, at the place that helm names, or one that says nothing about Argo CD's.
    pub(super) fn failed(&self, error: &ProgramError, said: &str) -> Stop {
        let request = self.request;
        let text = message::readable(said);
        let chart = || format!("Helm chart {}", shown(request));
        if let Some(bound) = error.bound() {
            return Stop::unjudged(chart(), bound);
        }
        if let Some(url) = self.remote.as_ref().filter(|_| text.contains("://")) {
            return Stop::unjudged(chart(), format!("value file {url} cannot be fetched: {text}"));
        }
        let is_told = self.arguments.iter().any(|argument| argument.to_string_lossy().starts_with("--kube-version"));
        if !is_told && text.contains("which is incompatible with Kubernetes") {
            let why =
                "it asks for certain versions of Kubernetes, and the cluster's is not known; give a snapshot, or say helm.kubeVersion";
            return Stop::unjudged(chart(), why);
        }
        let error = RenderError::new("render-failed", format!("helm cannot render the chart {}: {text}", shown(request)), MEND);
        let of_chart = || {
            let (file, line) = message::chart_file(&text)?;
            let path = if request.path.is_empty() { file.to_owned() } else { format!("{}/{file}", request.path) };
            request.tree.get(&path).map(|_| (path.into(), line, 1))
        };
        let place = message::place(&text, &request.tree, &request.path).or_else(of_chart);
        match place.filter(|_| !is_fetched(request)) {
            Some((path, line, column)) => error.at(&path, request.side, line, column).into(),
            None => error.into(),
        }
    }
}

fn text_of(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
