//! Bounds on expressions: their length, their size, how deep their loops nest, and the names they use.
//!
//! The CEL crate has no cost limit and recurses over the expression, so what may be too much is refused before it runs.

use std::collections::BTreeMap;

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use super::{facts, functions};

/// Longest source, in bytes.
const MAX_SOURCE: usize = 2_000;
/// Most nodes after macros are expanded.
const MAX_NODES: usize = 2_000;
/// Deepest nesting of `all`, `exists`, `map` and `filter`.
const MAX_LOOPS: usize = 3;

/// Functions and operators of the CEL library that expressions may use, besides operators.
const LIBRARY: &str = "size int uint double string bool type dyn has contains startsWith endsWith matches split join replace substring trim \
    lowerAscii upperAscii charAt indexOf lastIndexOf format sort sortBy distinct flatten slice reverse range \
    or orValue hasValue value optional.of optional.none optional.ofNonZeroValue min max quote strings.quote";

/// The names that an expression may use besides the built-in ones.
pub(super) struct Names<'a> {
    /// Members of `variables` that are defined before it.
    pub(super) variables: &'a [&'a str],
    /// Members of `params`.
    pub(super) parameters: &'a BTreeMap<String, serde_json::Value>,
    /// Whether there is a change to look at.
    pub(super) has_change: bool,
}

/// Refuses a source that is too long to parse safely.
pub(super) fn check_source(source: &str) -> Result<(), String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("is {} bytes long; at most {MAX_SOURCE} are read", source.len()));
    }
    Ok(())
}

struct Visit<'e> {
    node: &'e IdedExpr,
    loops: usize,
    bound: Vec<&'e str>,
}

/// Refuses an expression that is too large, nests loops too deep, or uses a name that nobody defines.
pub(super) fn check_expression(root: &IdedExpr, names: &Names<'_>) -> Result<(), String> {
    let mut stack = vec![Visit { node: root, loops: 0, bound: Vec::new() }];
    let mut nodes = 0;
    while let Some(Visit { node, loops, bound }) = stack.pop() {
        nodes += 1;
        if nodes > MAX_NODES {
            return Err(format!("has more than {MAX_NODES} parts"));
        }
        let mut visit = |node, loops| stack.push(Visit { node, loops, bound: bound.clone() });
        match &node.expr {
            Expr::Ident(name) => check_variable(name, &bound, names)?,
            Expr::Call(call) => {
                check_function(&call.func_name)?;
                call.target.iter().for_each(|target| visit(target, loops));
                call.args.iter().for_each(|argument| visit(argument, loops));
            }
            Expr::Select(select) => {
                check_member(&node.expr, &select.operand.expr, &select.field, &bound, names)?;
                visit(&select.operand, loops);
            }
            Expr::List(list) => list.elements.iter().for_each(|element| visit(element, loops)),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        visit(&entry.key, loops);
                        visit(&entry.value, loops);
                    }
                }
            }
            Expr::Struct(_) => return Err("builds a message type; there are none".into()),
            Expr::Comprehension(comprehension) => {
                if loops + 1 > MAX_LOOPS {
                    return Err(format!("nests all, exists, map or filter more than {MAX_LOOPS} deep"));
                }
                visit(&comprehension.iter_range, loops);
                visit(&comprehension.accu_init, loops);
                let mut bound = bound.clone();
                bound.push(&comprehension.iter_var);
                bound.push(&comprehension.accu_var);
                bound.extend(comprehension.iter_var2.as_deref());
                for inner in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
                    stack.push(Visit { node: inner, loops: loops + 1, bound: bound.clone() });
                }
            }
            Expr::Literal(_) | Expr::Unspecified => {}
        }
    }
    Ok(())
}

fn check_variable(name: &str, bound: &[&str], names: &Names<'_>) -> Result<(), String> {
    if bound.contains(&name) {
        return Ok(());
    }
    if !names.has_change && matches!(name, "change" | "namespaceObject") {
        return Err(format!("uses `{name}`, which a rule with `each: application` does not have"));
    }
    let roots = facts::roots();
    let known = (roots.contains(&name) && (name != "variables" || !names.variables.is_empty()))
        // The root of a function with a dotted name, and type names.
        || matches!(name, "lists" | "strings" | "optional" | "int" | "uint" | "double" | "string" | "bool" | "list" | "map" | "null_type" | "type");
    if known { Ok(()) } else { Err(format!("uses `{name}`, which nobody defines; known are {}", roots.join(", "))) }
}

fn check_member(whole: &Expr, operand: &Expr, field: &str, bound: &[&str], names: &Names<'_>) -> Result<(), String> {
    let Some(path) = facts::path_of(whole) else { return Ok(()) };
    let root = path.split('.').next().unwrap_or_default();
    let is_own = matches!(operand, Expr::Ident(_));
    let known = match root {
        _ if bound.contains(&root) => true,
        "variables" if is_own => names.variables.contains(&field),
        "params" if is_own => names.parameters.contains_key(field),
        _ if facts::roots().contains(&root) => facts::knows(&path),
        _ => true,
    };
    if known {
        return Ok(());
    }
    let meant = facts::nearest(&path).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!("uses `{path}`, which is not defined{meant}"))
}

fn check_function(name: &str) -> Result<(), String> {
    // Operators are calls of functions such as `_==_`, `!_`, `@in` and `_?._`.
    let is_operator = name.contains('_') || name.contains('@') || name.contains('?') || name.contains('[');
    if is_operator || functions::NAMES.contains(&name) || LIBRARY.split_whitespace().any(|known| known == name) {
        return Ok(());
    }
    Err(format!("calls `{name}`, which is no function"))
}
