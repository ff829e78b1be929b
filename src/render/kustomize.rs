//! Kustomize sources, rendered by `kustomize` or `kubectl kustomize`.
//!
//! Takes a request; hands on the objects of the build, each with the file that defines it. The settings of the Application are applied to a copy
//! of the kustomization in a scratch folder.

mod closure;
mod edit;
mod options;
mod places;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::environment::Environment;
use super::helm::message;
use super::helm::unstable::{self, Suspicion};
use super::output;
use super::program::{Call, KustomizeProgram, Limits, Output, ProgramError, network_environment};
use super::scratch::Copy;
use super::{Inputs, RenderError, Rendered, Request, Stop, Tool, Unstable};
use crate::argocd::names::BUILD_OPTIONS;
use crate::manifest::reader::ReadErrorKind;
use crate::manifest::{Origin, ResourceKey};
use crate::repo::parsed::ParsedObject;
use crate::repo::{EntryKind, Format, ParsedFile};

use closure::{Closure, Files, Kustomization};
use edit::{EditError, Settings};
use options::BuildOptions;
use places::{Note, Places, note_of, take_note, whole};

/// Value of `buildMetadata` that makes kustomize note where objects come from.
const ORIGINS: &str = "originAnnotations";
/// Address space of a build in bytes: enough for big ones, and an end for aliases that multiply.
const MEMORY: u64 = 4 << 30;

/// Kustomize as a tool.
pub(super) struct KustomizeTool {
    closure: Closure,
    /// The kustomization as it is built; nothing where there is no file that could be changed.
    built: Result<Option<Built>, RenderError>,
    options: BuildOptions,
    arguments: Vec<String>,
    assumptions: Vec<String>,
    version: Option<String>,
}

/// What a build is made of: for telling people which file brings something about.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// The kustomizations, the one that is built first: the file, its folder, and what it says.
    pub kustomizations: Vec<(Origin, String, Map<String, Value>)>,
    /// The files that are patches, each with the object that it changes.
    pub patches: Vec<(ResourceKey, Origin)>,
}

/// The kustomization that is built.
struct Built {
    file: Arc<str>,
    contents: Vec<u8>,
    /// Whether the notes about origins are the user's own wish.
    keeps_origins: bool,
}

impl KustomizeTool {
    /// The tool for one source.
    pub(super) fn new(request: &Request<'_>) -> Self {
        let none = Map::new();
        let settings = Settings(request.source.kustomize.as_ref().unwrap_or(&none));
        let components = settings.components(&request.tree, &request.path);
        let closure = Closure::of(
            Files { tree: &request.tree, parser: &request.workshop.parser },
            &request.path,
            &components,
            &settings.patch_files(),
        );
        let built = built(request, closure.kustomizations.first(), &settings, &components);
        let workshop = request.workshop;
        let mut assumptions = Vec::new();
        let said = workshop.settings.entry(BUILD_OPTIONS);
        let mut options = BuildOptions::parse(said.unwrap_or_default());
        if !workshop.settings_known
            && said.is_none()
            && let Some(file) = &closure.uses_helm
        {
            options.helm = true;
            assumptions.push(format!(
                "{file} uses Helm charts: taken that Argo CD builds with --enable-helm (kustomize.buildOptions in argocd-cm)"
            ));
        }
        if settings.depend_on_revision() {
            let what = "its Kustomize settings use ARGOCD_APP_REVISION, which is not known before the merge: objects will change besides what is shown";
            assumptions.push(what.to_owned());
        }
        let version = settings.version().map(str::to_owned);
        let (kube_version, api_versions) = (request.capabilities.kube_version(settings.kube_version()), settings.api_versions());
        let served: Vec<&str> = request.capabilities.api_versions.iter().map(String::as_str).collect();
        let arguments = options.arguments(&kube_version, if api_versions.is_empty() { &served } else { &api_versions });
        Self { closure, built, options, arguments, assumptions, version }
    }

    /// What stands against building at all.
    fn obstacle(&self, request: &Request<'_>) -> Result<(), Stop> {
        if let Some((file, path)) = self.closure.outside.first() {
            let message =
                format!("{file} names {path}, which is not in the repository, so Kustomize cannot build {}", shown(&request.path));
            let help = "Name files and bases inside the repository.";
            return Err(RenderError::new("render-failed", message, help).at(file, request.side, 1, 1).into());
        }
        if let Some(submodule) = self.closure.inputs.files().find_map(|file| request.tree.submodule_of(file)) {
            return Err(Stop::in_submodule(submodule));
        }
        let workshop = request.workshop;
        if let Some(version) = &self.version {
            let keys = [format!("kustomize.path.{version}"), format!("kustomize.version.{version}")];
            if workshop.settings_known && keys.iter().all(|key| workshop.settings.entry(key).is_none()) {
                let message = format!("Kustomize {version} is not registered in argocd-cm, so Argo CD generates no manifests");
                let help = format!("Register kustomize.path.{version}, or take kustomize.version off the Application.");
                return Err(RenderError::new("render-failed", message, help).into());
            }
        }
        if workshop.offline {
            if let Some((file, address)) = self.closure.remote.first() {
                let what = format!("{} named by {file}", crate::repo::without_password(address));
                return Err(Stop::unjudged(what, "it is not in this repository, and --offline forbids to fetch it"));
            }
            if let Some((file, chart)) = self.closure.remote_charts.first().filter(|_| self.options.helm) {
                return Err(Stop::unjudged(
                    format!("chart {chart} named by {file}"),
                    "it is not in this repository, and --offline forbids to fetch it",
                ));
            }
        }
        self.bombs(request)
    }

    /// Files whose aliases multiply beyond all bounds: kustomize does not end on them.
    fn bombs(&self, request: &Request<'_>) -> Result<(), Stop> {
        for entry in self.closure.inputs.entries(&request.tree) {
            let is_yaml = [".yaml", ".yml", "Kustomization"].iter().any(|end| entry.path.ends_with(end));
            if !is_yaml || !matches!(entry.kind, EntryKind::File | EntryKind::Executable) {
                continue;
            }
            let Ok(parsed) = request.workshop.parser.parse(&request.tree, entry, Format::Stream) else { continue };
            if let Some(error) = &parsed.error
                && matches!(
                    error.kind,
                    ReadErrorKind::ExcessiveAliasing | ReadErrorKind::AliasBytes { .. } | ReadErrorKind::RecursiveAnchor
                )
            {
                let message = format!("{} cannot be read: {}", entry.path, error.kind);
                let error = RenderError::new("render-failed", message, "Write the aliases of the file out.").at(
                    &entry.path,
                    request.side,
                    error.line,
                    error.column,
                );
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn build(
        &self,
        request: &Request<'_>,
        program: KustomizeProgram<'_>,
        inputs: &Inputs,
    ) -> Result<(Copy, Result<Output, ProgramError>), Stop> {
        let workshop = request.workshop;
        let what = || format!("kustomization {}", shown(&request.path));
        let contents: BTreeMap<String, Vec<u8>> = match &self.built {
            Ok(built) => built.iter().map(|built| (built.file.to_string(), built.contents.clone())).collect(),
            Err(error) => return Err(error.clone().into()),
        };
        let copy = workshop.scratch.copy(&request.tree, inputs, &contents).map_err(|error| Stop::scratch(what(), &error))?;
        let home = workshop.scratch.home().map_err(|error| Stop::scratch(what(), &error))?;
        let (path, verb) = match program {
            KustomizeProgram::Kustomize(path) => (path, "build"),
            KustomizeProgram::Kubectl(path) => (path, "kustomize"),
        };
        let mut arguments: Vec<OsString> = vec![verb.into(), copy.root().join(&request.path).into()];
        arguments.extend(self.arguments.iter().map(OsString::from));
        if self.options.helm && self.closure.uses_helm.is_some() {
            let helm = workshop.programs.helm().map_err(|missing| Stop::missing(what(), missing))?;
            arguments.extend([OsString::from("--helm-command"), helm.into()]);
        }
        let call = Call {
            program: path,
            arguments,
            directory: copy.root(),
            home: home.path(),
            environment: if workshop.offline { Vec::new() } else { network_environment() },
            limits: Limits { memory: workshop.limits.memory.min(MEMORY), ..workshop.limits.clone() },
        };
        let output = call.run();
        Ok((copy, output))
    }

    /// Why a build failed: the user's fault where Argo CD would fail as well, else not judged.
    fn failed(&self, request: &Request<'_>, copy: &Copy, error: &ProgramError) -> Stop {
        let said = match error {
            ProgramError::Failed { stderr, .. } => self.closure.without_secrets(&copy.readable(&last_error(stderr))),
            other => other.to_string(),
        };
        let said = crate::repo::without_passwords(&said);
        let what = format!("kustomization {}", shown(&request.path));
        if self.options.runs_programs {
            return Stop::unjudged(what, format!("Argo CD lets it run programs (kustomize.buildOptions), which presync does not: {said}"));
        }
        let from_elsewhere = self.closure.remote.iter().chain(&self.closure.remote_charts).find(|(_, address)| {
            let shown = crate::repo::without_password(address);
            let host = shown.split("://").last().unwrap_or(&shown).split(['/', '?', ' ']).next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or(host);
            said.contains(&shown) || (!host.is_empty() && said.contains(host))
        });
        if let Some((file, address)) = from_elsewhere {
            let why = format!("{} named by {file} cannot be fetched: {said}", crate::repo::without_password(address));
            return Stop::unjudged(what, why);
        }
        if let Some(bound) = error.bound() {
            return Stop::unjudged(what, bound);
        }
        let message = format!("Kustomize cannot build {}, so Argo CD generates no manifests: {said}", shown(&request.path));
        let error = RenderError::new("render-failed", message, "Build the folder with `kustomize build` and mend what fails.");
        let broken =
            || closure::FILE_NAMES.iter().map(|name| closure::join(&request.path, name)).find(|path| request.tree.get(path).is_some());
        match self.closure.named_in(&said).or_else(|| broken().map(Arc::from)) {
            Some(file) => error.at(&file, request.side, message::line_in(&said), 1).into(),
            None => error.into(),
        }
    }
}

impl KustomizeTool {
    /// The objects that were built, and the notes on where they come from.
    fn read(&self, output: &Output) -> (ParsedFile, Vec<Note>) {
        let keeps_origins = self.built.as_ref().is_ok_and(|built| built.as_ref().is_none_or(|built| built.keeps_origins));
        let mut file = ParsedFile::of_output(&output.stdout);
        let mut notes = Vec::with_capacity(file.objects.len());
        for object in &mut file.objects {
            notes.push(if keeps_origins { note_of(&object.object) } else { object.object.edit(take_note) });
        }
        (file, notes)
    }

    /// What charts in it make anew at each build: it is built once more where one of them may.
    fn unstable(&self, request: &Request<'_>, program: KustomizeProgram<'_>, first: &ParsedFile) -> Vec<Unstable> {
        let has_charts = self.options.helm && self.closure.uses_helm.is_some();
        let is_suspicious = || !self.closure.remote_charts.is_empty() || Suspicion::of(&request.tree, &self.closure.inputs).random;
        if !has_charts || !is_suspicious() {
            return Vec::new();
        }
        let again = self.build(request, program, &self.closure.inputs).ok().and_then(|(_, output)| output.ok());
        again.map(|output| unstable::between(first, &self.read(&output).0)).unwrap_or_default()
    }
}

impl Tool for KustomizeTool {
    fn inputs(&self) -> Inputs {
        self.closure.inputs.clone()
    }

    fn outline(&self, request: &Request<'_>) -> Option<Outline> {
        let read = |kustomization: &Kustomization| {
            (whole(&kustomization.file, request.side), kustomization.folder.clone(), kustomization.fields())
        };
        let kustomizations = self.closure.kustomizations.iter().map(read).collect();
        Some(Outline { kustomizations, patches: Places::new(request, &self.closure).into_patches() })
    }

    fn parameters(&self) -> Option<String> {
        let built = match &self.built {
            Ok(Some(built)) => String::from_utf8_lossy(&built.contents).into_owned(),
            Ok(None) => String::new(),
            Err(error) => error.to_string(),
        };
        Some(format!("kustomize {:?} {:?} {:?} {built}", self.arguments, self.version, self.assumptions))
    }

    fn programs<'r>(&self, request: &Request<'r>) -> Vec<(&'r Path, &'static [&'static str])> {
        let programs = &request.workshop.programs;
        let mut found: Vec<(&Path, &'static [&'static str])> = match programs.kustomize() {
            Ok(KustomizeProgram::Kustomize(path)) => vec![(path, &["version"])],
            Ok(KustomizeProgram::Kubectl(path)) => vec![(path, &["version", "--client"])],
            Err(_) => Vec::new(),
        };
        if self.options.helm && self.closure.uses_helm.is_some() {
            found.extend(programs.helm().map(|path| (path, &["version"] as &[&str])));
        }
        found
    }

    fn is_lasting(&self) -> bool {
        // What is fetched from elsewhere may be another thing tomorrow.
        self.closure.remote.is_empty() && (self.closure.remote_charts.is_empty() || !self.options.helm)
    }

    fn render(&self, request: &Request<'_>) -> Result<Rendered, Stop> {
        if let Err(error) = &self.built {
            return Err(error.clone().into());
        }
        self.obstacle(request)?;
        let program = request.workshop.programs.kustomize();
        let program = program.map_err(|missing| Stop::missing(format!("kustomization {}", shown(&request.path)), missing))?;
        let (mut copy, mut output) = self.build(request, program, &self.closure.inputs)?;
        let is_transient = matches!(&output, Err(ProgramError::Failed { stderr, .. }) if misses_files(stderr));
        if is_transient {
            // The failure must not come from a file that was not laid out.
            let mut everything = Inputs::default();
            everything.folder("");
            (copy, output) = self.build(request, program, &everything)?;
        }
        let output = output.map_err(|error| self.failed(request, &copy, &error))?;
        let places = Places::new(request, &self.closure);
        let (file, notes) = self.read(&output);
        let unstable = self.unstable(request, program, &file);
        let is_transient = is_transient || !unstable.is_empty();
        let mut notes = notes.iter();
        let manifests = output::manifests("Kustomize", &file, |object: &ParsedObject, _| match notes.next() {
            Some(note) => places.of(note, &object.object, object.key.as_ref()),
            None => places.top().clone(),
        })?;
        let mut assumptions = self.assumptions.clone();
        if let Some(version) = &self.version {
            assumptions.push(format!("the Application asks for Kustomize {version}; it was built with the one that is installed here"));
        }
        Ok(Rendered { manifests, assumptions, is_transient, unstable, ..Rendered::default() })
    }
}

/// The kustomization of the source with the Application's settings and the wish for notes about origins.
fn built(
    request: &Request<'_>,
    top: Option<&Kustomization>,
    settings: &Settings<'_>,
    components: &[String],
) -> Result<Option<Built>, RenderError> {
    let path = shown(&request.path);
    let Some(top) = top.filter(|top| top.folder == request.path) else {
        if settings.change_anything() {
            let message = format!("{path} has no kustomization, so Argo CD cannot apply the Application's Kustomize settings");
            return Err(RenderError::new("render-failed", message, "Add a kustomization.yaml, or take the settings off the Application."));
        }
        return Ok(None);
    };
    let mut fields = top.fields();
    settings.apply(&mut fields, components, &Environment::of(request)).map_err(|error| {
        let message = format!("Argo CD cannot apply the Application's Kustomize settings to {}: {error}", top.file);
        let help = match error {
            EditError::Present { .. } => "Take it off one of the two, or set forceCommonLabels or forceCommonAnnotations.",
            _ => "Mend spec.source.kustomize.",
        };
        RenderError::new("render-failed", message, help).at(&top.file, request.side, 1, 1)
    })?;
    // A list of another shape is kustomize's to refuse.
    let keeps_origins = match edit::list_of(&mut fields, "buildMetadata") {
        Ok(list) => {
            let wanted = list.iter().any(|known| known == ORIGINS);
            if !wanted {
                list.push(ORIGINS.into());
            }
            wanted
        }
        Err(_) => true,
    };
    let contents = Value::Object(fields).to_string().into_bytes();
    Ok(Some(Built { file: Arc::clone(&top.file), contents, keeps_origins }))
}

/// Whether a failure may come from a file that is not there.
fn misses_files(stderr: &str) -> bool {
    ["no such file", "not a valid directory", "unable to find", "doesn't exist", "not found"].iter().any(|sign| stderr.contains(sign))
}

/// What the program says is wrong: its output without warnings before it.
fn last_error(stderr: &str) -> Cow<'_, str> {
    let stderr = stderr.trim();
    // kubectl logs it, with the time and its process.
    let logged = stderr.lines().find_map(|line| line.split_once("] \"command failed\" err=")).map(|(_, error)| error);
    if let Some(error) = logged.and_then(|error| serde_json::from_str::<String>(error).ok()) {
        return Cow::Owned(error);
    }
    let start = ["error: ", "Error: "].iter().filter_map(|sign| stderr.find(sign).map(|at| at + sign.len())).min().unwrap_or(0);
    Cow::Borrowed(stderr.get(start..).unwrap_or(stderr))
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the repository root" } else { path }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
