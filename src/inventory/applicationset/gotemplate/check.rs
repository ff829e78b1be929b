//! What Go refuses when it parses a template and `gotmpl` does not: blocks that are not closed or closed twice, unknown functions and
//! variables.

use std::collections::BTreeMap;

use gotmpl::parse::{BranchNode, CommandNode, Expr, ListNode, Node, PipeNode};

use super::{TemplateError, functions};

/// Whether every block is opened and closed.
///
/// # Errors
/// Where one is not.
pub(super) fn structure(text: &str) -> Result<(), TemplateError> {
    let mut open: Vec<(&str, bool)> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let inner = rest.get(start + 2..).unwrap_or_default();
        let (action, tail) = action(inner)?;
        rest = tail;
        let mut words = action.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
        let first = if action.starts_with(|letter: char| letter.is_alphabetic()) { words.next().unwrap_or_default() } else { "" };
        match first {
            "if" | "range" | "with" | "define" | "block" => open.push((first, false)),
            "end" => drop(open.pop().ok_or_else(|| TemplateError::fails("unexpected {{end}}"))?),
            "else" => match (open.last_mut(), words.next()) {
                (None, _) => return Err(TemplateError::fails("unexpected {{else}}")),
                (Some((_, had_else @ false)), None) => *had_else = true,
                (Some(("if", false)), Some("if")) | (Some(("with", false)), Some("with")) => {}
                (Some((block, _)), _) => return Err(TemplateError::fails(format!("unexpected {{{{{action}}}}} in {block}"))),
            },
            "break" | "continue" if !open.iter().any(|(block, _)| *block == "range") => {
                return Err(TemplateError::fails(format!("{{{{{first}}}}} outside {{{{range}}}}")));
            }
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(TemplateError::fails("unexpected EOF")) }
}

/// The text of an action up to its closing braces, without trim marks, and what follows. Empty for a comment.
fn action(inner: &str) -> Result<(&str, &str), TemplateError> {
    let unclosed = || TemplateError::fails("unclosed action");
    let trimmed = inner.strip_prefix('-').filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or(inner);
    let body = trimmed.trim_start();
    if let Some(comment) = body.strip_prefix("/*") {
        let end = comment.find("*/").ok_or_else(|| TemplateError::fails("unclosed comment"))?;
        let after = comment.get(end + 2..).unwrap_or_default();
        let close = after.find("}}").ok_or_else(unclosed)?;
        return Ok(("", after.get(close + 2..).unwrap_or_default()));
    }
    let mut letters = body.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' | '\'' => loop {
                match letters.next() {
                    Some((_, '\\')) => drop(letters.next()),
                    Some((_, end)) if end == letter => break,
                    Some((_, '\n')) | None => return Err(TemplateError::fails("unterminated quoted string")),
                    Some(_) => {}
                }
            },
            '`' => {
                letters.find(|(_, end)| *end == '`').ok_or_else(|| TemplateError::fails("unterminated raw quoted string"))?;
            }
            '}' if body.get(at..).is_some_and(|rest| rest.starts_with("}}")) => {
                let action = body.get(..at).unwrap_or_default();
                let action = action.strip_suffix('-').filter(|rest| rest.ends_with(char::is_whitespace)).unwrap_or(action);
                return Ok((action.trim(), body.get(at + 2..).unwrap_or_default()));
            }
            _ => {}
        }
    }
    Err(unclosed())
}

/// Whether every function and every variable is known.
///
/// # Errors
/// Where one is not, or where a function is one that presync does not evaluate.
pub(super) fn names(body: &ListNode, named: &BTreeMap<String, ListNode>) -> Result<(), TemplateError> {
    for list in named.values().chain([body]) {
        Names { variables: vec!["$".to_owned()], versions: Vec::new() }.list(list)?;
    }
    Ok(())
}

struct Names {
    variables: Vec<String>,
    /// Variables that hold a version.
    versions: Vec<String>,
}

impl Names {
    fn list(&mut self, list: &ListNode) -> Result<(), TemplateError> {
        let known = self.variables.len();
        let result = list.nodes.iter().try_for_each(|node| self.node(node));
        self.variables.truncate(known);
        result
    }

    fn node(&mut self, node: &Node) -> Result<(), TemplateError> {
        match node {
            Node::List(list) => self.list(list),
            Node::Action(action) => self.pipe(&action.pipe),
            Node::If(branch) | Node::Range(branch) | Node::With(branch) => self.branch(branch),
            Node::Template(call) => call.pipe.as_ref().map_or(Ok(()), |pipe| self.pipe(pipe)),
            Node::Define(define) => self.list(&define.body),
            Node::Text(_) | Node::Break(_) | Node::Continue(_) => Ok(()),
        }
    }

    fn branch(&mut self, branch: &BranchNode) -> Result<(), TemplateError> {
        let known = self.variables.len();
        let result = self
            .pipe(&branch.pipe)
            .and_then(|()| self.list(&branch.body))
            .and_then(|()| branch.else_body.as_ref().map_or(Ok(()), |body| self.list(body)));
        self.variables.truncate(known);
        result
    }

    fn pipe(&mut self, pipe: &PipeNode) -> Result<(), TemplateError> {
        for argument in pipe.commands.iter().flat_map(|command| &command.args) {
            self.expression(argument)?;
        }
        if pipe.commands.split_last().is_some_and(|(_, before)| before.iter().any(reads_version)) {
            return Err(whole_version());
        }
        if makes_version(pipe) {
            if pipe.decl.is_empty() {
                return Err(whole_version());
            }
            self.versions.extend(pipe.decl.iter().map(ToString::to_string));
        }
        for name in &pipe.decl {
            if pipe.is_assign {
                self.variable(name)?;
            } else {
                self.variables.push(name.to_string());
            }
        }
        Ok(())
    }

    fn expression(&mut self, expression: &Expr) -> Result<(), TemplateError> {
        match expression {
            Expr::Identifier(_, name) => function(name),
            Expr::Variable(_, name, fields) if fields.is_empty() && self.versions.iter().any(|version| version == name) => {
                Err(whole_version())
            }
            Expr::Variable(_, name, _) => self.variable(name),
            Expr::Pipe(_, pipe) => self.pipe(pipe),
            Expr::Chain(_, inner, _) => match &**inner {
                Expr::Pipe(_, pipe) if makes_version(pipe) => {
                    pipe.commands.iter().flat_map(|command| &command.args).try_for_each(|argument| self.expression(argument))
                }
                inner => self.expression(inner),
            },
            _ => Ok(()),
        }
    }

    fn variable(&self, name: &str) -> Result<(), TemplateError> {
        let known = self.variables.iter().any(|known| known == name);
        if known { Ok(()) } else { Err(TemplateError::fails(format!("undefined variable {name:?}"))) }
    }
}

/// Whether a pipe ends in a version, of which only the parts are known here.
fn makes_version(pipe: &PipeNode) -> bool {
    pipe.commands.last().is_some_and(reads_version)
}

fn reads_version(command: &CommandNode) -> bool {
    matches!(command.args.first(), Some(Expr::Identifier(_, name)) if name == "semver")
}

fn whole_version() -> TemplateError {
    TemplateError::Unjudged(
        "the template uses a whole version that `semver` has read; presync knows its parts, such as `.Major`".to_owned(),
    )
}

fn function(name: &str) -> Result<(), TemplateError> {
    if functions::find(name).is_some() || matches!(name, "and" | "or") {
        return Ok(());
    }
    if functions::NOT_DETERMINISTIC.contains(&name) {
        return Err(TemplateError::Unjudged(format!(
            "the template uses the function `{name}`, which gives something else each time it runs"
        )));
    }
    if functions::NOT_EVALUATED.contains(&name) {
        return Err(TemplateError::Unjudged(format!("the template uses the function `{name}`, which presync does not evaluate")));
    }
    Err(TemplateError::fails(format!("function {name:?} not defined")))
}
