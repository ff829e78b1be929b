//! The variables of expressions with their types: one list out of which the documentation is written and expressions are checked.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Kind {
    Text,
    Int,
    Bool,
    /// A list; its elements are not known.
    List,
    /// A map with keys that are not known, such as labels.
    Map,
    /// Whatever stands in a manifest, or `null`.
    Any,
}

impl Kind {
    /// With its article, for messages.
    fn named(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Int => "a whole number",
            Self::Bool => "true or false",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Any => "anything",
        }
    }

    /// The word of CEL.
    #[cfg(test)]
    pub(in crate::rules) fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Int => "int",
            Self::Bool => "bool",
            Self::List => "list",
            Self::Map => "map",
            Self::Any => "any",
        }
    }
}

/// Path, type, and what it says.
pub(in crate::rules) const FACTS: &[(&str, Kind, &str)] = &[
    (
        "object",
        Kind::Any,
        "The object as the sync will apply it; `null` where it leaves Git. In a rule with `each: application` or `each: sync` the Application.",
    ),
    ("oldObject", Kind::Any, "The live object; `null` where there is none"),
    ("baseObject", Kind::Any, "The object as the base revision has it; `null` where there is none"),
    ("namespaceObject", Kind::Any, "The Namespace that the object is in, live or else from Git; `null` where neither is known"),
    (
        "change.action",
        Kind::Text,
        "What Argo CD does: create, update, adopt, replace, recreate, none, hook, skip, fail, prune, leftover, retain, confirm, delete or orphan",
    ),
    ("change.reason", Kind::Text, "Why, as a word such as `removed-from-git` or `prune-false`"),
    ("change.sentence", Kind::Text, "Why, as a sentence"),
    ("change.phase", Kind::Text, "PreDelete, PreSync, Sync, PostSync, SyncFail or PostDelete"),
    ("change.wave", Kind::Int, "The sync wave"),
    ("change.introduced", Kind::Bool, "Whether the change under review brings it about"),
    ("change.reached", Kind::Bool, "Whether the sync gets that far"),
    ("change.edited", Kind::Bool, "Whether the change under review adds the object or edits its manifest"),
    ("change.hook", Kind::Bool, "Whether the target is a hook"),
    ("change.group", Kind::Text, "API group; empty for the core group"),
    ("change.kind", Kind::Text, "Kind"),
    ("change.namespace", Kind::Text, "Namespace; empty for what is cluster-scoped"),
    ("change.name", Kind::Text, "Name"),
    ("change.named", Kind::Text, "Kind, namespace and name as messages name the object"),
    ("change.refusedFields", Kind::List, "JSON pointers of fields that the API server refuses to change"),
    (
        "change.refused",
        Kind::Text,
        "Of what kind the refusal is, for example `immutable`, `schema` or `missing`; empty where nothing is refused",
    ),
    (
        "change.cascade",
        Kind::List,
        "What is deleted along with it: maps with `kind`, `namespace`, `name`, `named`, `because` and `application`",
    ),
    (
        "change.diff",
        Kind::List,
        "Fields that differ: maps with `path`, `live`, `target` and `owner`, the field manager that wrote the live value",
    ),
    (
        "change.scalers",
        Kind::List,
        "HorizontalPodAutoscalers and ScaledObjects that scale it, rendered by any Application or live: maps with `kind`, `namespace`, `name`, `named`, `min`, `max` (`null` where it has none) and `inGit`",
    ),
    (
        "change.consumers",
        Kind::List,
        "Workloads that read it after the sync: maps with `kind`, `namespace`, `name`, `named`, `application` (`''` where none tracks it), `way` (env, envFrom, subPath, volume or name), `key` (`''` where all are read), `optional`, and `restarted`: whether their pods start anew with this change, by another pod template (a checksum, a hashed name) or by a reloader",
    ),
    ("change.volume.name", Kind::Text, "The PersistentVolume behind a live claim; empty where there is none"),
    ("change.volume.size", Kind::Text, "Its capacity, or what the claim asks for"),
    ("change.volume.policy", Kind::Text, "Its reclaim policy; empty where the snapshot does not show it"),
    (
        "change.dependents",
        Kind::List,
        "What would be deleted along with the live object: what it owns, all of a namespace, the custom resources of a CustomResourceDefinition, volumes by their policy: maps like those of `change.cascade`",
    ),
    (
        "change.protection.prune",
        Kind::Text,
        "The value of `Prune=` that counts, on the live object or else on its Application; empty where there is none",
    ),
    ("change.protection.delete", Kind::Text, "The value of `Delete=` that counts likewise"),
    ("change.protection.pruneInGit", Kind::Text, "The value of `Prune=` on the object in Git, at head or else at base"),
    ("change.protection.misspelled", Kind::List, "Texts in its sync options that look like a protection and are none"),
    ("change.protection.misplaced", Kind::Bool, "Whether a protection stands on its pod template only, where it has no effect"),
    ("app.name", Kind::Text, "Name of the Application"),
    ("app.namespace", Kind::Text, "Its namespace"),
    ("app.project", Kind::Text, "Its project"),
    ("app.labels", Kind::Map, "Its labels"),
    ("app.annotations", Kind::Map, "Its annotations"),
    ("app.path", Kind::Text, "The file that defines it; empty where none in the repository does"),
    ("app.folders", Kind::List, "The paths of its sources"),
    ("app.change", Kind::Text, "What happens to its definition: added, removed, modified or unchanged"),
    ("app.destination.server", Kind::Text, "URL of the cluster"),
    ("app.destination.name", Kind::Text, "Name of the cluster, where the Application gives one"),
    ("app.destination.namespace", Kind::Text, "Namespace of objects that name none"),
    ("app.options", Kind::List, "Sync options, as texts"),
    ("app.mode", Kind::Text, "automated, manual, refused, error, blocked or deleted"),
    ("app.automated", Kind::Bool, "Whether it is synced automatically"),
    ("app.prune", Kind::Bool, "Whether the sync prunes"),
    ("app.selfHeal", Kind::Bool, "Whether drift is undone at once"),
    ("app.starts", Kind::Bool, "Whether a sync starts after the merge"),
    ("app.parents", Kind::List, "The Applications above it, as `namespace/name`, the nearest first"),
    ("app.set", Kind::Text, "The ApplicationSet that generates it, as `namespace/name`; empty where none does"),
    (
        "app.running",
        Kind::Text,
        "What is known of another sync of the Application that started long ago, or needs a person, and has to end first; empty where there is none",
    ),
    ("app.needsApproval", Kind::Bool, "Whether that sync goes on only when a person approves a deletion"),
    ("app.waiting", Kind::List, "Changes that the sync does not reach: maps with `action` and `named`"),
    ("argocd.version.major", Kind::Int, "Argo CD's major version"),
    ("argocd.version.minor", Kind::Int, "Its minor version"),
    ("argocd.version.text", Kind::Text, "Both, as text"),
    ("argocd.namespace", Kind::Text, "The namespace of Argo CD"),
    ("argocd.tracking", Kind::Text, "annotation, annotation+label or label"),
    ("argocd.progressiveSyncs", Kind::Bool, "Whether progressive syncs are switched on"),
    ("now.date", Kind::Text, "The day of the merge, such as `2026-12-04` (UTC; `--now` sets it)"),
    ("now.weekday", Kind::Text, "Monday to Sunday"),
    ("now.hour", Kind::Int, "0 to 23"),
    ("now.minute", Kind::Int, "0 to 59"),
    ("params", Kind::Map, "The rule's parameters, with the configuration's values"),
    ("variables", Kind::Map, "What the rule has named under `variables`"),
];

/// Functions: how they are called, what they yield, and what that is.
pub(in crate::rules) const FUNCTIONS: &[(&str, Kind, &str)] = &[
    ("annotation(object, 'name')", Kind::Text, "The annotation's value, or `''`"),
    ("label(object, 'name')", Kind::Text, "The label's value, or `''`"),
    ("option(object, 'Prune')", Kind::Text, "The value of `Prune=` in the object's sync options as Argo CD reads them, or `''`"),
    ("hasOption(object, 'Replace=true')", Kind::Bool, "Whether the object's sync options hold exactly this entry"),
    ("field(object, '/spec/replicas')", Kind::Any, "The value at a JSON pointer, or `null`"),
    ("items(value)", Kind::List, "The elements of a list; none of anything else"),
    ("keys(value)", Kind::List, "The keys of a map, sorted; none of anything else"),
    ("plural(3, 'object')", Kind::Text, "`3 objects`, and `1 object` for one"),
];

/// What the functions of the CEL library yield, where that does not depend on their arguments.
const LIBRARY: &[(&str, Kind)] = &[
    ("size", Kind::Int),
    ("int", Kind::Int),
    ("string", Kind::Text),
    ("bool", Kind::Bool),
    ("has", Kind::Bool),
    ("contains", Kind::Bool),
    ("startsWith", Kind::Bool),
    ("endsWith", Kind::Bool),
    ("matches", Kind::Bool),
    ("split", Kind::List),
    ("join", Kind::Text),
    ("replace", Kind::Text),
    ("substring", Kind::Text),
    ("trim", Kind::Text),
    ("lowerAscii", Kind::Text),
    ("upperAscii", Kind::Text),
    ("indexOf", Kind::Int),
    ("lastIndexOf", Kind::Int),
    ("format", Kind::Text),
    (operators::IN, Kind::Bool),
];

/// Functions of texts.
const OF_TEXTS: [&str; 4] = ["startsWith", "endsWith", "matches", "trim"];

/// The roots of facts.
pub(super) fn roots() -> Vec<&'static str> {
    let mut roots: Vec<&str> = FACTS.iter().filter_map(|(path, ..)| path.split('.').next()).collect();
    roots.dedup();
    roots
}

/// Whether there is such a fact, or facts below it, or it lies in one of any shape.
pub(super) fn knows(path: &str) -> bool {
    FACTS.iter().any(|(fact, kind, _)| {
        let below = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
        *fact == path || below(fact, path) || (below(path, fact) && matches!(kind, Kind::Any | Kind::Map))
    })
}

/// The fact that was probably meant.
pub(super) fn nearest(path: &str) -> Option<&'static str> {
    let parent = path.rsplit_once('.').map(|(parent, _)| parent)?;
    let of_parent = FACTS.iter().map(|(fact, ..)| *fact).filter(|fact| fact.rsplit_once('.').is_some_and(|(own, _)| own == parent));
    let apart = |fact: &str| {
        fact.chars().filter(|letter| !path.contains(*letter)).count() + path.chars().filter(|letter| !fact.contains(*letter)).count()
    };
    of_parent
        .map(|fact| (apart(fact), fact.len().abs_diff(path.len()), fact))
        .filter(|(apart, longer, _)| *apart <= 1 && *longer <= 2)
        .min()
        .map(|(_, _, fact)| fact)
}

/// The path that an expression spells, such as `change.kind`.
pub(super) fn path_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) => Some(format!("{}.{}", path_of(&select.operand.expr)?, select.field)),
        _ => None,
    }
}

/// What an expression yields, where that can be told; names that it binds itself hide facts.
///
/// # Errors
/// Where types do not fit together.
pub(super) fn infer(node: &IdedExpr, bound: &[&str]) -> Result<Option<Kind>, String> {
    Ok(match &node.expr {
        Expr::Literal(LiteralValue::Boolean(_)) => Some(Kind::Bool),
        Expr::Literal(LiteralValue::Int(_)) => Some(Kind::Int),
        Expr::Literal(LiteralValue::String(_)) => Some(Kind::Text),
        Expr::List(_) => Some(Kind::List),
        Expr::Map(_) => Some(Kind::Map),
        Expr::Select(select) if select.test => Some(Kind::Bool),
        Expr::Ident(_) | Expr::Select(_) => {
            let path = path_of(&node.expr).filter(|path| !bound.contains(&path.split('.').next().unwrap_or_default()));
            path.and_then(|path| FACTS.iter().find(|(fact, ..)| *fact == path)).map(|(_, kind, _)| *kind).filter(|kind| *kind != Kind::Any)
        }
        Expr::Call(call) => infer_call(call, bound)?,
        Expr::Comprehension(comprehension) => {
            let range = infer(&comprehension.iter_range, bound)?;
            if let Some(kind @ (Kind::Text | Kind::Int | Kind::Bool)) = range {
                return Err(format!("goes over the elements of {}", kind.named()));
            }
            None
        }
        _ => None,
    })
}

fn infer_call(call: &CallExpr, bound: &[&str]) -> Result<Option<Kind>, String> {
    let target = call.target.as_deref().map(|target| infer(target, bound)).transpose()?.flatten();
    let arguments = call.args.iter().map(|argument| infer(argument, bound)).collect::<Result<Vec<_>, _>>()?;
    let name = call.func_name.as_str();
    let wants = |kind: Option<Kind>, wanted: Kind, what: &str| match kind {
        Some(kind) if kind != wanted => Err(format!("{what} {}, where {} is needed", kind.named(), wanted.named())),
        _ => Ok(()),
    };
    let both = |verb: &str| match arguments.as_slice() {
        [Some(left), Some(right)] if left != right => Err(format!("{verb} {} and {}", left.named(), right.named())),
        [left, right] => Ok(left.or(*right)),
        _ => Ok(None),
    };
    Ok(match name {
        operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT => {
            arguments.iter().try_for_each(|kind| wants(*kind, Kind::Bool, "negates or joins"))?;
            Some(Kind::Bool)
        }
        operators::CONDITIONAL => {
            wants(arguments.first().copied().flatten(), Kind::Bool, "decides by")?;
            match arguments.as_slice() {
                [_, Some(left), Some(right)] if left == right => Some(*left),
                _ => None,
            }
        }
        operators::EQUALS
        | operators::NOT_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS => {
            both("compares")?;
            Some(Kind::Bool)
        }
        operators::ADD => both("adds")?,
        _ if OF_TEXTS.contains(&name) => {
            wants(target, Kind::Text, &format!("calls {name} of"))?;
            LIBRARY.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
        }
        _ => {
            let own = FUNCTIONS.iter().find(|(signature, ..)| signature.split('(').next() == Some(name)).map(|(_, kind, _)| *kind);
            own.or_else(|| LIBRARY.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)).filter(|kind| *kind != Kind::Any)
        }
    })
}

/// Refuses an expression that yields something else.
pub(super) fn check_yields(node: &IdedExpr, wanted: Kind) -> Result<(), String> {
    match infer(node, &[])? {
        Some(kind) if kind != wanted => Err(format!("yields {}, but must be {}", kind.named(), wanted.named())),
        _ => Ok(()),
    }
}

/// The page about variables and functions, `docs/facts.md`, which a test writes.
#[cfg(test)]
pub(in crate::rules) fn page() -> String {
    use std::fmt::Write as _;
    let mut text = String::from(
        "# Facts for rules of your own\n\nThis page is written from the code. The expressions of a rule see these variables; how a rule is written and tested, is told in [own rules](own-rules.md).\n\n\
         `change`, `oldObject`, `baseObject` and `namespaceObject` are about one object of one Application. A rule with `each: application` looks at each Application once: there is no `change`, `object` is the Application as it will be, `oldObject` the live one.\n\n\
         ## Variables\n\n| name | type | says |\n|---|---|---|\n",
    );
    for (path, kind, about) in FACTS {
        let _ = writeln!(text, "| `{path}` | {} | {about} |", kind.word());
    }
    text.push_str("\n## Functions\n\nBesides those of CEL itself (strings and lists included). Each takes `null` for an object.\n\n| call | yields | that is |\n|---|---|---|\n");
    for (call, kind, about) in FUNCTIONS {
        let _ = writeln!(text, "| `{call}` | {} | {about} |", kind.word());
    }
    text.push_str(
        "\n## Limits\n\nAn expression has at most 2,000 bytes and 2,000 parts, and nests `all`, `exists`, `map` and `filter` at most three deep. On one change a rule may take 5,000,000 steps (a value looked at or made in a loop, or 16 bytes of text) and make texts and lists of 500,000 parts. \
         Names, functions and types are checked when the rules are loaded; an expression that fails later, for example because a field is not there, ends the check with exit code 2 and names the rule, the object and the expression. `field(object, '/spec/x')` and `object.?spec.?x` yield `null` or nothing in place of an error.\n",
    );
    text
}

#[cfg(test)]
mod tests;
