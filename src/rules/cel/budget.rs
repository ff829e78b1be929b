//! What evaluating a rule may cost: the rounds of its loops, and the size of what they and its variables make.
//!
//! The CEL crate counts nothing, so expressions are rewritten before they run: each loop round, each concatenation and each call that makes
//! a text or a list goes through a function of ours that takes from a budget and refuses what is over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, SelectExpr, operators};
use cel::objects::Map;
use cel::{Context, DeclarationError, ExecutionError, Value};

/// What one rule may spend on one change: a unit is a value looked at or made, or 16 bytes of text.
pub(super) const BUDGET: u64 = 5_000_000;
/// The largest value that an expression may make, in the same units.
const MAX_VALUE: u64 = 500_000;

/// What errors about the budget name in place of a function.
pub(super) const NAME: &str = "@budget";

/// The functions that rewritten expressions call. No source can name them.
const CHARGED: &str = "@charged";
const SQUARED: &str = "@squared";
const REPLACE: &str = "@replace";
const JOIN: &str = "@join";

/// Calls that make a text or a list.
const MAKERS: [&str; 12] =
    [operators::ADD, "format", "split", "join", "replace", "flatten", "substring", "sort", "sortBy", "distinct", "slice", "range"];

/// What is left for the rule that is evaluated.
#[derive(Clone)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    /// A full one.
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(BUDGET)))
    }

    /// Fills it again, for the next rule or change.
    pub(super) fn refill(&self) {
        self.0.store(BUDGET, Ordering::Relaxed);
    }

    fn take(&self, units: u64) -> Result<(), ExecutionError> {
        if units > MAX_VALUE {
            return Err(fails(format!("makes a text or list of more than {MAX_VALUE} parts")));
        }
        self.spend(units)
    }

    fn spend(&self, units: u64) -> Result<(), ExecutionError> {
        let Some(left) = self.0.load(Ordering::Relaxed).checked_sub(units) else {
            return Err(fails(format!("takes more than {BUDGET} steps, as loops inside of each other over long lists do")));
        };
        self.0.store(left, Ordering::Relaxed);
        Ok(())
    }

    /// Takes what a value is worth.
    pub(super) fn charge(&self, value: &Value) -> Result<(), ExecutionError> {
        self.take(weight(value))
    }

    /// Adds the functions that rewritten expressions call.
    pub(super) fn add(&self, context: &mut Context<'_, '_>) -> Result<(), DeclarationError> {
        let budget = self.clone();
        context.add_function(CHARGED, move |value: Value| budget.charge(&value).map(|()| value))?;
        let budget = self.clone();
        context.add_function(SQUARED, move |list: Value| {
            let length = if let Value::List(items) = &list { items.len() } else { 0 };
            budget.spend(u64::try_from(length.saturating_mul(length)).unwrap_or(u64::MAX))?;
            Ok::<_, ExecutionError>(list)
        })?;
        let budget = self.clone();
        context.add_function(REPLACE, move |text: Arc<String>, old: Arc<String>, new: Arc<String>| {
            budget.take(text_weight(text.len().saturating_mul(new.len().max(1))))?;
            Ok::<_, ExecutionError>(Arc::new(text.replace(old.as_str(), &new)))
        })?;
        let budget = self.clone();
        context.add_function(JOIN, move |list: Arc<Vec<Value>>, separator: Arc<String>| {
            budget.take(text_weight(list.len().saturating_mul(separator.len())))?;
            let texts = list.iter().map(|item| match item {
                Value::String(text) => Ok(text.as_str()),
                _ => Err(fails("joins something that is no text".into())),
            });
            let joined = texts.collect::<Result<Vec<_>, _>>()?.join(&separator);
            budget.take(text_weight(joined.len()))?;
            Ok(Arc::new(joined))
        })
    }
}

/// The expression with its loops, and the calls that make texts and lists, charged to the budget; on a large stack.
pub(super) fn metered(node: &IdedExpr) -> IdedExpr {
    let boxed = |node: &IdedExpr| Box::new(metered(node));
    let expr = match &node.expr {
        Expr::Call(call) => return metered_call(node.id, call),
        Expr::Comprehension(one) => Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: metered(&one.iter_range),
            iter_var: one.iter_var.clone(),
            iter_var2: one.iter_var2.clone(),
            accu_var: one.accu_var.clone(),
            accu_init: metered(&one.accu_init),
            loop_cond: metered(&one.loop_cond),
            loop_step: charged(metered(&one.loop_step)),
            result: metered(&one.result),
        })),
        Expr::List(list) => Expr::List(ListExpr { elements: list.elements.iter().map(metered).collect(), ..list.clone() }),
        Expr::Map(map) => {
            let mut map = map.clone();
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    entry.key = metered(&entry.key);
                    entry.value = metered(&entry.value);
                }
            }
            Expr::Map(map)
        }
        Expr::Select(select) => Expr::Select(SelectExpr { operand: boxed(&select.operand), ..select.clone() }),
        // Message types are refused when an expression is checked.
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => node.expr.clone(),
    };
    IdedExpr { id: node.id, expr }
}

fn metered_call(id: u64, call: &CallExpr) -> IdedExpr {
    let target = call.target.as_deref().map(metered);
    let args: Vec<IdedExpr> = call.args.iter().map(metered).collect();
    let of = |func_name: &str, target: Option<IdedExpr>, args: Vec<IdedExpr>| {
        let call = CallExpr { func_name: func_name.to_owned(), target: target.map(Box::new), args };
        IdedExpr { id, expr: Expr::Call(call) }
    };
    let name = call.func_name.as_str();
    match (name, target, args.len()) {
        ("replace", Some(text), 2) => charged(of(REPLACE, None, std::iter::once(text).chain(args).collect())),
        ("join", Some(list), 1) => of(JOIN, None, std::iter::once(list).chain(args).collect()),
        ("distinct", Some(list), _) => charged(of(name, Some(of(SQUARED, None, vec![list])), args)),
        (_, target, _) if MAKERS.contains(&name) => charged(of(name, target, args)),
        (_, target, _) => of(name, target, args),
    }
}

fn charged(node: IdedExpr) -> IdedExpr {
    let id = node.id;
    IdedExpr { id, expr: Expr::Call(CallExpr { func_name: CHARGED.into(), target: None, args: vec![node] }) }
}

fn fails(message: String) -> ExecutionError {
    ExecutionError::FunctionError { function: NAME.into(), message }
}

fn text_weight(bytes: usize) -> u64 {
    1 + u64::try_from(bytes / 16).unwrap_or(u64::MAX / 2)
}

/// Size of a value. What several places of it share counts each time, as the CEL crate copies it.
fn weight(value: &Value) -> u64 {
    let mut sum: u64 = 0;
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        sum = sum.saturating_add(match value {
            Value::String(text) => text_weight(text.len()),
            _ => 1,
        });
        if sum > MAX_VALUE {
            return sum;
        }
        match value {
            Value::List(items) => stack.extend(items.iter()),
            Value::Map(Map { map }) => stack.extend(map.values()),
            _ => {}
        }
    }
    sum
}
