//! One Application source and a tree → target manifests, with the inputs that were read.
//!
//! Takes a [`Request`]; a [`Job`] says which inputs decide the result, under which key equal results are known, and hands on [`Rendered`].
//! Knows nothing of live state.

pub mod cache;
pub mod calls;
pub mod charts;
pub mod directory;
pub mod environment;
#[cfg(test)]
#[cfg(unix)]
mod fixture;
mod helm;
pub mod inputs;
pub mod jsonnet;
pub mod kind;
mod kustomize;
pub mod leftovers;
pub mod output;
mod overrides;
mod plugin;
pub mod program;
mod request;
pub mod scratch;

use std::borrow::Cow;
use std::path::Path;

use crate::repo::Tree;

pub use cache::Cache;
pub use calls::{Calls, Made};
pub use charts::{Charts, Wanted};
pub use helm::{Deciding, Scope, SetAt, Values};
pub use inputs::Inputs;
pub use kind::SourceKind;
pub use kustomize::Outline;
pub use program::Programs;
pub use request::{Capabilities, Duplicate, Identity, Reference, RenderError, Rendered, Request, Stop, Unstable, Workshop};

/// Paths of a tree that is not the source's own: that of a source which it names as `$ref`.
#[derive(Debug)]
struct Elsewhere {
    tree: Tree,
    inputs: Inputs,
    /// Whether these are the files that the change alters.
    is_compared: bool,
}

/// Something that renders sources of one kind. It is made for one request, without running anything.
trait Tool {
    /// The paths of the tree that decide the result.
    fn inputs(&self) -> Inputs;

    /// The paths of other trees that decide the result: those of sources that this one names as `$ref`.
    fn elsewhere(&self) -> &[Elsewhere] {
        &[]
    }

    /// All that decides the result besides the contents of the inputs; `None` where rendering costs no more than finding an earlier result.
    fn parameters(&self) -> Option<String>;

    /// The programs that render, each with the arguments that make it say its version.
    fn programs<'r>(&self, _request: &Request<'r>) -> Vec<(&'r Path, &'static [&'static str])> {
        Vec::new()
    }

    /// Whether the result is the same in a later run: nothing but the inputs, the parameters and the program decides it.
    fn is_lasting(&self) -> bool {
        true
    }

    /// The values that a chart is rendered with.
    fn values(&self, _request: &Request<'_>) -> Option<Values> {
        None
    }

    /// What a kustomization is made of.
    fn outline(&self, _request: &Request<'_>) -> Option<Outline> {
        None
    }

    /// Renders.
    fn render(&self, request: &Request<'_>) -> Result<Rendered, Stop>;
}

/// A source that is ready to be rendered: its tool and its inputs are known.
pub struct Job<'a> {
    request: Request<'a>,
    kind: SourceKind,
    tool: Box<dyn Tool>,
    inputs: Inputs,
}

/// What equal jobs have in common.
pub type Key = [u8; 32];

impl<'a> Job<'a> {
    /// Finds out how a source is rendered, and what it reads. Runs no program.
    ///
    /// # Errors
    /// When nothing can render it.
    pub fn new(mut request: Request<'a>) -> Result<Self, Stop> {
        if let Some(source) = overrides::merged(&request)? {
            request.source = Cow::Owned(source);
        }
        let kind = kind::of(&request.source, &request.tree, &request.path, &request.workshop.settings);
        let tool = tool(&request, &kind)?;
        let mut inputs = tool.inputs();
        overrides::add_inputs(&request, &mut inputs);
        Ok(Self { inputs: inputs.through_links(&request.tree), request, kind, tool })
    }

    /// Which tool renders the source.
    pub fn kind(&self) -> &SourceKind {
        &self.kind
    }

    /// The paths of the tree that decide the result.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The paths of sources with a `ref` that decide the result, of those whose files are the ones that the change alters.
    pub fn inputs_of_references(&self) -> Inputs {
        let mut inputs = Inputs::default();
        for there in self.tool.elsewhere().iter().filter(|there| there.is_compared) {
            inputs.extend(&there.inputs.through_links(&there.tree));
        }
        inputs
    }

    /// The values that the source's chart is rendered with; `None` where it is no chart, or one that cannot be rendered.
    pub fn values(&self) -> Option<Values> {
        self.tool.values(&self.request)
    }

    /// What the source's kustomization is made of; `None` where it is none.
    pub fn outline(&self) -> Option<Outline> {
        self.tool.outline(&self.request)
    }

    /// Under which key an equal result is known; `None` where finding out costs as much as rendering.
    pub fn key(&self) -> Option<Key> {
        let parameters = self.tool.parameters()?;
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(&self.inputs.digest(&self.request.tree))
            .update(self.request.path.as_bytes())
            .update(&[0])
            .update(parameters.as_bytes());
        Some(*hasher.finalize().as_bytes())
    }

    /// Renders the source, or finds what an earlier run made of the same.
    ///
    /// # Errors
    /// When Argo CD could not generate manifests from it, or presync cannot tell.
    pub fn run(&self) -> Result<Rendered, Stop> {
        let Some((cache, key)) = self.cache() else { return self.tool.render(&self.request) };
        if let Some(known) = cache.get(&key, self.request.side) {
            return Ok(known);
        }
        let rendered = self.tool.render(&self.request)?;
        cache.put(&key, &rendered);
        Ok(rendered)
    }

    /// The cache, and under which key it has the result; `None` where it may not be kept.
    fn cache(&self) -> Option<(&Cache, Key)> {
        let workshop = self.request.workshop;
        let cache = workshop.cache.as_ref().filter(|_| self.tool.is_lasting())?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.key()?).update(env!("CARGO_PKG_VERSION").as_bytes()).update(&[0]);
        for (program, arguments) in self.tool.programs(&self.request) {
            hasher.update(workshop.versions.of(program, arguments, &workshop.scratch)?.as_bytes());
        }
        Some((cache, *hasher.finalize().as_bytes()))
    }
}

/// The tool of a source.
fn tool(request: &Request<'_>, kind: &SourceKind) -> Result<Box<dyn Tool>, Stop> {
    match kind {
        SourceKind::Directory => Ok(Box::new(directory::DirectoryTool::new(request)?)),
        SourceKind::Kustomize => Ok(Box::new(kustomize::KustomizeTool::new(request))),
        SourceKind::Helm | SourceKind::Chart => Ok(Box::new(helm::HelmTool::new(request))),
        SourceKind::Conflict(names) => {
            let message =
                format!("multiple application sources defined: {names}. Argo CD refuses to choose a tool and generates no manifests");
            Err(RenderError::new("render-failed", message, "Keep one of helm, kustomize, directory and plugin.").into())
        }
        SourceKind::Plugin => Ok(Box::new(plugin::PluginTool::new(request)?)),
    }
}
