//! Walks a parsed template over its parameters.
//!
//! Source: Go `text/template/exec.go`.

use std::collections::BTreeMap;
use std::rc::Rc;

use gotmpl::parse::{BranchNode, CommandNode, Expr, ListNode, Node, Number, PipeNode, TemplateNode};

use super::{MissingKey, TemplateError, functions};
use crate::inventory::applicationset::params::{Params, Value};

/// Steps of loops that one template may take.
const STEPS: u32 = 1_000_000;
/// Bytes that one template may write.
const OUTPUT: usize = 16 << 20;
/// Levels of nested templates and blocks.
const DEPTH: u32 = 100;

/// Runs a template.
///
/// # Errors
/// Where Go would fail.
pub(super) fn run(
    body: &ListNode,
    named: &BTreeMap<String, ListNode>,
    params: &Params,
    missing: MissingKey,
) -> Result<String, TemplateError> {
    let data = Value::Map(Rc::clone(params));
    let mut run = Run { named, missing, variables: vec![("$".to_owned(), data.clone())], out: String::new(), steps: 0, depth: 0 };
    run.list(body, &data)?;
    Ok(run.out)
}

/// What comes after a node.
#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

struct Run<'a> {
    named: &'a BTreeMap<String, ListNode>,
    missing: MissingKey,
    variables: Vec<(String, Value)>,
    out: String,
    steps: u32,
    depth: u32,
}

impl Run<'_> {
    fn list(&mut self, list: &ListNode, dot: &Value) -> Result<Flow, TemplateError> {
        for node in &list.nodes {
            let flow = self.node(node, dot)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, node: &Node, dot: &Value) -> Result<Flow, TemplateError> {
        match node {
            Node::Text(text) => self.write(&text.text)?,
            Node::Action(action) => {
                let value = self.pipe(dot, &action.pipe)?;
                if action.pipe.decl.is_empty() {
                    match value {
                        Value::Missing | Value::Nil => self.write("<no value>")?,
                        Value::Text(text) => self.write(&text)?,
                        other => self.write(&other.print())?,
                    }
                }
            }
            Node::If(branch) => return self.within(|run| run.condition(branch, dot, false)),
            Node::With(branch) => return self.within(|run| run.condition(branch, dot, true)),
            Node::Range(branch) => return self.within(|run| run.range(branch, dot)),
            Node::Template(call) => return self.within(|run| run.call(call, dot)),
            Node::List(list) => return self.list(list, dot),
            Node::Define(_) => {}
            Node::Break(_) => return Ok(Flow::Break),
            Node::Continue(_) => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn write(&mut self, text: &str) -> Result<(), TemplateError> {
        if self.out.len() + text.len() > OUTPUT {
            return Err(TemplateError::Unjudged("the template writes more text than presync follows".to_owned()));
        }
        self.out.push_str(text);
        Ok(())
    }

    /// Runs a block with variables of its own.
    fn within(&mut self, block: impl FnOnce(&mut Self) -> Result<Flow, TemplateError>) -> Result<Flow, TemplateError> {
        if self.depth == DEPTH {
            return Err(TemplateError::Unjudged("the template is nested deeper than presync follows".to_owned()));
        }
        self.depth += 1;
        let known = self.variables.len();
        let result = block(self);
        self.variables.truncate(known);
        self.depth -= 1;
        result
    }

    fn condition(&mut self, branch: &BranchNode, dot: &Value, with: bool) -> Result<Flow, TemplateError> {
        let value = self.pipe(dot, &branch.pipe)?;
        if value.is_true() {
            return self.list(&branch.body, if with { &value } else { dot });
        }
        match &branch.else_body {
            Some(body) => self.list(body, dot),
            None => Ok(Flow::Next),
        }
    }

    fn range(&mut self, branch: &BranchNode, dot: &Value) -> Result<Flow, TemplateError> {
        let value = self.pipe_value(dot, &branch.pipe)?;
        let items: Vec<(Value, Value)> = match &value {
            Value::Missing | Value::Nil => Vec::new(),
            Value::List(items) => (0_i64..).map(Value::Int).zip(items.iter().cloned()).collect(),
            Value::Map(map) => map.entries.borrow().iter().map(|(key, value)| (Value::Text(Rc::clone(key)), value.clone())).collect(),
            Value::Int(count) | Value::Int64(count) if branch.pipe.decl.len() < 2 => {
                (0..(*count).min(i64::from(STEPS) + 1)).map(|index| (Value::Int(index), Value::Int(index))).collect()
            }
            other => return Err(TemplateError::fails(format!("range can't iterate over {}", other.print()))),
        };
        if items.is_empty() {
            return branch.else_body.as_ref().map_or(Ok(Flow::Next), |body| self.list(body, dot));
        }
        for (index, item) in items {
            self.steps += 1;
            if self.steps > STEPS {
                return Err(TemplateError::Unjudged("the template loops more often than presync follows".to_owned()));
            }
            let known = self.variables.len();
            match branch.pipe.decl.as_slice() {
                [] => {}
                [one] => self.set(one, item.clone(), branch.pipe.is_assign),
                [first, second, ..] => {
                    self.set(first, index, branch.pipe.is_assign);
                    self.set(second, item.clone(), branch.pipe.is_assign);
                }
            }
            let flow = self.list(&branch.body, &item)?;
            self.variables.truncate(known);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn call(&mut self, call: &TemplateNode, dot: &Value) -> Result<Flow, TemplateError> {
        let named = self.named;
        let body = named.get(call.name.as_str()).ok_or_else(|| TemplateError::fails(format!("template {:?} not defined", &*call.name)))?;
        let data = call.pipe.as_ref().map_or(Ok(Value::Missing), |pipe| self.pipe(dot, pipe))?;
        let variables = std::mem::replace(&mut self.variables, vec![("$".to_owned(), data.clone())]);
        let result = self.list(body, &data);
        self.variables = variables;
        result
    }

    fn set(&mut self, name: &str, value: Value, assigns: bool) {
        match self.variables.iter_mut().rev().find(|(known, _)| assigns && known == name) {
            Some((_, slot)) => *slot = value,
            None => self.variables.push((name.to_owned(), value)),
        }
    }

    /// The value of a pipeline, with its variable set.
    fn pipe(&mut self, dot: &Value, pipe: &PipeNode) -> Result<Value, TemplateError> {
        let value = self.pipe_value(dot, pipe)?;
        for name in &pipe.decl {
            self.set(name, value.clone(), pipe.is_assign);
        }
        Ok(value)
    }

    fn pipe_value(&mut self, dot: &Value, pipe: &PipeNode) -> Result<Value, TemplateError> {
        let mut value: Option<Value> = None;
        for command in &pipe.commands {
            // An empty interface loses its wrapping between commands: `nil` is then nothing at all.
            value = Some(match self.command(dot, command, value)? {
                Value::Nil => Value::Missing,
                other => other,
            });
        }
        Ok(value.unwrap_or(Value::Missing))
    }

    fn command(&mut self, dot: &Value, command: &CommandNode, last: Option<Value>) -> Result<Value, TemplateError> {
        let (first, arguments) = command.args.split_first().ok_or_else(|| TemplateError::fails("empty command"))?;
        let (callee, fields) = match first {
            Expr::Identifier(_, name) => (Some(name), [].as_slice()),
            Expr::Chain(_, inner, fields) => match inner.as_ref() {
                Expr::Identifier(_, name) => (Some(name), fields.as_slice()),
                _ => (None, [].as_slice()),
            },
            _ => (None, [].as_slice()),
        };
        if let Some(name) = callee {
            let value = self.function(dot, name, arguments, last)?;
            return self.fields(value, fields);
        }
        if last.is_some() || !arguments.is_empty() {
            return Err(TemplateError::fails("can't give argument to non-function"));
        }
        if matches!(first, Expr::Nil(_)) {
            return Err(TemplateError::fails("nil is not a command"));
        }
        self.expression(dot, first)
    }

    fn function(&mut self, dot: &Value, name: &str, arguments: &[Expr], last: Option<Value>) -> Result<Value, TemplateError> {
        if name == "and" || name == "or" {
            return self.short_circuit(dot, name, arguments, last);
        }
        let function = functions::find(name).ok_or_else(|| TemplateError::fails(format!("function {name:?} not defined")))?;
        let mut values = arguments.iter().map(|argument| self.expression(dot, argument)).collect::<Result<Vec<_>, _>>()?;
        values.extend(last);
        function.call(values)
    }

    fn short_circuit(&mut self, dot: &Value, name: &str, arguments: &[Expr], last: Option<Value>) -> Result<Value, TemplateError> {
        let mut value = None;
        for argument in arguments {
            let found = self.expression(dot, argument)?;
            if found.is_true() == (name == "or") {
                return Ok(found);
            }
            value = Some(found);
        }
        last.or(value).ok_or_else(|| TemplateError::fails(format!("wrong number of args for {name}: want at least 1 got 0")))
    }

    fn expression(&mut self, dot: &Value, expression: &Expr) -> Result<Value, TemplateError> {
        match expression {
            Expr::Dot(_) => Ok(dot.clone()),
            Expr::Field(_, fields) => self.fields(dot.clone(), fields),
            Expr::Variable(_, name, fields) => {
                let value = self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                self.fields(value.ok_or_else(|| TemplateError::fails(format!("undefined variable: {name}")))?, fields)
            }
            Expr::String(_, text) => Ok(Value::text(text)),
            Expr::Number(_, Number::Int(number)) => Ok(Value::Int(*number)),
            Expr::Number(_, Number::Float(number)) => Ok(Value::Float(*number)),
            Expr::Number(_, Number::Uint(number)) => Err(TemplateError::fails(format!("{number} overflows int"))),
            Expr::Bool(_, on) => Ok(Value::Bool(*on)),
            Expr::Nil(_) => Ok(Value::Nil),
            Expr::Pipe(_, pipe) => self.pipe(dot, pipe),
            Expr::Identifier(_, name) => self.function(dot, name, &[], None),
            Expr::Chain(_, inner, fields) => {
                let value = self.expression(dot, inner)?;
                self.fields(value, fields)
            }
        }
    }

    fn fields<Name: AsRef<str>>(&self, value: Value, fields: &[Name]) -> Result<Value, TemplateError> {
        fields.iter().try_fold(value, |value, name| self.field(&value, name.as_ref()))
    }

    /// Source: Go `text/template/exec.go:evalField`.
    fn field(&self, value: &Value, name: &str) -> Result<Value, TemplateError> {
        match value {
            Value::Missing if self.missing == MissingKey::Error => {
                Err(TemplateError::fails(format!("nil data; no entry for key {name:?}")))
            }
            Value::Missing => Ok(Value::Missing),
            Value::Nil => Err(TemplateError::fails(format!("nil pointer evaluating interface {{}}.{name}"))),
            Value::Map(map) => match (map.get(name), self.missing) {
                (Some(found), _) => Ok(found),
                (None, MissingKey::Default) => Ok(Value::Missing),
                (None, MissingKey::Zero) => Ok(if map.texts { Value::text("") } else { Value::Nil }),
                (None, MissingKey::Error) => Err(TemplateError::MissingKey(name.to_owned())),
            },
            other => Err(TemplateError::fails(format!("can't evaluate field {name} in type {}", other.type_name()))),
        }
    }
}
