//! Config management plugins, where the configuration names the command of one: Argo CD runs a plugin in a container beside its own, of which
//! nothing is known here, so that without a command the source is not judged.
//!
//! Takes a request; hands on the objects that the command writes, in its order. The command is the users' choice, and the files that it
//! reads are those of the pull request.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::environment::Environment;
use super::program::{Call, ProgramError};
use super::{Inputs, RenderError, Rendered, Request, Stop, Tool, output};
use crate::manifest::Origin;
use crate::manifest::origin::{RenderedFrom, Renderer};
use crate::repo::ParsedFile;

/// A plugin with a command.
pub(super) struct PluginTool {
    name: String,
    program: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl PluginTool {
    /// The tool for one source.
    ///
    /// # Errors
    /// When no command is known for its plugin.
    pub(super) fn new(request: &Request<'_>) -> Result<Self, Stop> {
        let settings = request.source.plugin.as_ref();
        let name = settings.and_then(|plugin| plugin.get("name")).and_then(Value::as_str).unwrap_or_default();
        let what = || format!("plugin source {}", shown(&request.path));
        if name.is_empty() {
            return Err(Stop::unjudged(
                what(),
                "which config management plugin takes the source is found out by Argo CD only; say spec.source.plugin.name",
            ));
        }
        let Some((program, arguments)) = request.workshop.plugins.get(name).and_then(|command| command.split_first()) else {
            let why = format!(
                "config management plugins are never run unless the configuration of the base revision names their command (`plugins: {{{name}: [program, argument]}}`)"
            );
            return Err(Stop::unjudged(what(), why));
        };
        Ok(Self { name: name.to_owned(), program: program.clone(), arguments: arguments.to_vec(), environment: environment(request) })
    }

    fn failed(&self, request: &Request<'_>, error: &ProgramError, said: impl Fn(&str) -> String) -> Stop {
        let what = format!("plugin source {}", shown(&request.path));
        match error {
            ProgramError::Start { .. } => Stop::unjudged(what, error.to_string()),
            // The shell that starts it says so.
            ProgramError::Failed { status, .. } if status.ends_with(": 127") || status.ends_with(": 126") => {
                Stop::unjudged(what, format!("the command {} of the plugin {} cannot be run", self.program, self.name))
            }
            error => {
                let message =
                    format!("the plugin {} gives no manifests of {}: {}", self.name, shown(&request.path), said(&error.to_string()));
                RenderError::new("render-failed", message, "Mend the source, or the command in the configuration of presync.").into()
            }
        }
    }
}

impl Tool for PluginTool {
    fn inputs(&self) -> Inputs {
        // It is given the whole repository.
        let mut inputs = Inputs::default();
        inputs.folder("");
        inputs
    }

    fn parameters(&self) -> Option<String> {
        Some(format!("plugin {:?} {:?} {:?} {:?}", self.name, self.program, self.arguments, self.environment))
    }

    fn is_lasting(&self) -> bool {
        // What its program reads besides is not known.
        false
    }

    /// Source: Argo CD `cmpserver/plugin/plugin.go:runCommand`.
    fn render(&self, request: &Request<'_>) -> Result<Rendered, Stop> {
        let what = || format!("plugin source {}", shown(&request.path));
        let scratch = &request.workshop.scratch;
        let inputs = self.inputs();
        // A copy of its own: what it writes is nobody else's input.
        let copy = scratch.copy(&request.tree, &inputs, &BTreeMap::new()).map_err(|error| Stop::scratch(what(), &error))?;
        let home = scratch.home().map_err(|error| Stop::scratch(what(), &error))?;
        let call = Call {
            program: Path::new(&self.program),
            arguments: self.arguments.iter().map(OsString::from).collect(),
            directory: &copy.root().join(&request.path),
            home: home.path(),
            environment: self.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            limits: request.workshop.limits.clone(),
        };
        let output = call.run().map_err(|error| self.failed(request, &error, |said| copy.readable(said)))?;
        Ok(self.read(request, &output.stdout)?)
    }
}

impl PluginTool {
    fn read(&self, request: &Request<'_>, output: &[u8]) -> Result<Rendered, RenderError> {
        let made_by = Arc::new(RenderedFrom { renderer: Renderer::Plugin, others: Vec::new() });
        let path: Arc<str> = request.path.as_str().into();
        let manifests = output::manifests(&format!("the plugin {}", self.name), &ParsedFile::of_output(output), |object, _| Origin {
            path: Arc::clone(&path),
            side: request.side,
            document: 0..0,
            line: 1,
            within: object.within.clone(),
            rendered: Some(Arc::clone(&made_by)),
        })?;
        Ok(Rendered { manifests, ..Rendered::default() })
    }
}

/// What a plugin is told.
///
/// Source: Argo CD `reposerver/repository/repository.go:getPluginEnvs`, `pkg/apis/application/v1alpha1/types.go:Environ`.
fn environment(request: &Request<'_>) -> BTreeMap<String, String> {
    let own = Environment::of(request);
    let mut variables: BTreeMap<String, String> = own.variables().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    variables.insert("KUBE_VERSION".to_owned(), request.capabilities.kube_version(None));
    variables.insert("KUBE_API_VERSIONS".to_owned(), request.capabilities.api_versions.join(","));
    let settings = request.source.plugin.as_ref();
    let list = |field: &str| settings.and_then(|plugin| plugin.get(field)).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    for entry in list("env") {
        variables.insert(format!("ARGOCD_ENV_{}", text(&entry, "name")), own.substitute(&text(&entry, "value")));
    }
    let parameters = list("parameters");
    let json = if parameters.is_empty() { "null".to_owned() } else { Value::Array(parameters.clone()).to_string() };
    variables.insert("ARGOCD_APP_PARAMETERS".to_owned(), json);
    for parameter in &parameters {
        let name = format!("PARAM_{}", escaped(&text(parameter, "name")));
        if let Some(value) = parameter.get("string").and_then(Value::as_str) {
            variables.insert(name.clone(), value.to_owned());
        }
        for (key, value) in parameter.get("map").and_then(Value::as_object).into_iter().flatten() {
            variables.insert(format!("{name}_{}", escaped(key)), value.as_str().unwrap_or_default().to_owned());
        }
        for (index, value) in parameter.get("array").and_then(Value::as_array).into_iter().flatten().enumerate() {
            variables.insert(format!("{name}_{index}"), value.as_str().unwrap_or_default().to_owned());
        }
    }
    variables
}

fn escaped(name: &str) -> String {
    name.to_uppercase()
        .chars()
        .map(|char| if char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_' { char } else { '_' })
        .collect()
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the repository root" } else { path }
}
