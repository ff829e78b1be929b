//! One Application source and a tree → target manifests, with the inputs that were read.
//!
//! Takes a [`Request`]; a [`Job`] says which inputs decide the result, under which key equal results are known, and hands on [`Rendered`].
//! Knows nothing of live state.

pub mod directory;
#[cfg(test)]
#[cfg(unix)]
mod fixture;
pub mod inputs;
pub mod kind;
pub mod program;
mod request;
pub mod scratch;

pub use inputs::Inputs;
pub use kind::SourceKind;
pub use program::Programs;
pub use request::{Capabilities, Duplicate, Identity, Reference, RenderError, Rendered, Request, Stop, Workshop};

/// Something that renders sources of one kind. It is made for one request, without running anything.
trait Tool {
    /// The paths of the tree that decide the result.
    fn inputs(&self) -> Inputs;

    /// All that decides the result besides the contents of the inputs; `None` where rendering costs no more than finding an earlier result.
    fn parameters(&self) -> Option<String>;

    /// Renders.
    fn render(&self, request: &Request<'_>) -> Result<Rendered, Stop>;
}

/// A source that is ready to be rendered: its tool and its inputs are known.
pub struct Job<'a> {
    request: Request<'a>,
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
    pub fn new(request: Request<'a>) -> Result<Self, Stop> {
        let tool = tool(&request)?;
        let inputs = tool.inputs().through_links(request.tree);
        Ok(Self { request, tool, inputs })
    }

    /// The paths of the tree that decide the result.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Under which key an equal result is known; `None` where finding out costs as much as rendering.
    pub fn key(&self) -> Option<Key> {
        let parameters = self.tool.parameters()?;
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(&self.inputs.digest(self.request.tree))
            .update(self.request.path.as_bytes())
            .update(&[0])
            .update(parameters.as_bytes());
        Some(*hasher.finalize().as_bytes())
    }

    /// Renders the source.
    ///
    /// # Errors
    /// When Argo CD could not generate manifests from it, or presync cannot tell.
    pub fn run(&self) -> Result<Rendered, Stop> {
        self.tool.render(&self.request)
    }
}

/// The tool of a source.
fn tool(request: &Request<'_>) -> Result<Box<dyn Tool>, Stop> {
    let path = &request.path;
    match kind::of(&request.source, request.tree, path) {
        SourceKind::Directory => Ok(Box::new(directory::DirectoryTool::new(request))),
        SourceKind::Conflict => {
            let message = "the source configures more than one tool, which Argo CD refuses";
            Err(RenderError::new("render-failed", message, "Keep one of helm, kustomize, directory and plugin.").into())
        }
        SourceKind::Plugin => Err(Stop::unjudged(format!("plugin source {path}"), "config management plugins are never run")),
        other => {
            let why = format!("presync does not render {} sources yet", other.name());
            Err(Stop::unjudged(format!("{} {path}", other.name()), why))
        }
    }
}
