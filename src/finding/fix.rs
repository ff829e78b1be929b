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
    /// What was judged; `None` where there is no object, because rendering it fails.
    pub judged: Option<Judged>,
}

/// What a rule saw at the place of an edit. A document that says something else is not the one that decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The object's kind.
    pub kind: Option<String>,
    /// The object's name, or what its generated name begins with.
    pub name: Option<String>,
    /// What stands at the pointer.
    pub value: Option<Value>,
}

impl Judged {
    /// What an object says at a pointer.
    pub fn of(object: &Value, pointer: &str) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let name = text("/metadata/name").or_else(|| text("/metadata/generateName"));
        let value = object.pointer(pointer).filter(|value| !value.is_null()).cloned();
        Self { kind: text("/kind"), name, value }
    }

    /// Whether what a document says is what was judged. Prefixes and suffixes may have been put around the name.
    fn is_said_by(&self, written: &Self) -> bool {
        let same_name = match (&self.name, &written.name) {
            (Some(judged), Some(written)) => judged.contains(written.as_str()),
            (judged, written) => judged == written,
        };
        same_name && self.kind == written.kind && self.value == written.value
    }
}

/// What is done to a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// It gets this text, whether it was there or not.
    Set(String),
    /// It is taken out; a map that it leaves empty goes with it.
    Remove,
    /// It is taken to this JSON pointer of the same object, with its comments; nothing may be there yet.
    Move(String),
    /// This is put into the list that it is, unless it is in it.
    Add(Value),
    /// What stands there becomes a text.
    Quote,
}

impl Operation {
    /// The same, with pointers from the document instead of from an object in it.
    pub fn within(&self, object: &str) -> Self {
        match self {
            Self::Move(to) => Self::Move(format!("{object}{to}")),
            other => other.clone(),
        }
    }
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

    /// Why editing this object of the document would not change what was judged, if so.
    pub fn mismatch(&self, written: Option<&Value>) -> Option<&'static str> {
        let judged = self.judged.as_ref()?;
        if written.is_some_and(|object| judged.is_said_by(&Judged::of(object, &self.pointer))) {
            return None;
        }
        Some(match self.origin.rendered {
            Some(_) => "a kustomization decides about it as well",
            None => "the file says something else than what was judged",
        })
    }
}

impl Fix {
    /// Whether nothing stands in its way, as far as can be told without the text.
    pub fn is_possible(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.obstacle().is_none())
    }
}
