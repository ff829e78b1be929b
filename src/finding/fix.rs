//! A safe edit that does away with a finding: which fields of which documents get which value.

use serde_json::Value;

use crate::manifest::{Origin, Renderer, Side};

/// A safe edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What is edited, in this order; all of it or nothing.
    pub steps: Vec<Step>,
}

/// An edit of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The document.
    pub origin: Origin,
    /// JSON pointer from the object.
    pub pointer: String,
    /// What is done.
    pub operation: Operation,
}

/// What is done to a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// It gets this text, whether it was there or not.
    Set(String),
    /// It is taken out; a map that it leaves empty goes with it.
    Remove,
    /// This is put into the list that it is, unless it is in it.
    Add(Value),
    /// What stands there becomes a text.
    Quote,
}

impl Step {
    /// Why the document cannot be edited by a program, if so.
    pub fn obstacle(&self) -> Option<&'static str> {
        if self.origin.side == Side::Base {
            return Some("it leaves Git");
        }
        let rendered = self.origin.rendered.as_deref()?;
        match rendered.renderer {
            Renderer::Helm => Some("it is a Helm template"),
            Renderer::Chart => Some("it is a chart from elsewhere"),
            Renderer::Jsonnet => Some("it is a jsonnet program"),
            Renderer::Plugin => Some("a plugin makes the object out of it"),
            Renderer::Kustomize if !rendered.others.is_empty() => Some("a patch decides about the object as well"),
            Renderer::Kustomize => None,
        }
    }
}

impl Fix {
    /// Whether nothing stands in its way, as far as can be told without the text.
    pub fn is_possible(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.obstacle().is_none())
    }
}
