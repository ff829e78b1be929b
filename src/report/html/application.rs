//! The Applications with their changes: fields side by side, trees of what goes along.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Report;
use super::super::escape::{html, html_lines};
use super::super::summary::{Counts, listed, mode_words, plan_words, reason_words, resource};
use crate::plan::{Change, Dependent, FieldChange, SyncMode, SyncPlan};

/// The section of the Applications.
pub(super) fn section(report: &Report<'_>) -> String {
    let items: String = report.plans.iter().map(|plan| application(plan, report)).collect();
    let items = if items.is_empty() { "<p>No Application that presync found is affected by the change.</p>\n".to_owned() } else { items };
    format!("<section>\n<h2>Applications</h2>\n{items}</section>\n")
}

/// The actions that the report lists, by name.
pub(super) fn actions(report: &Report<'_>) -> Vec<String> {
    let changes = report.plans.iter().flat_map(|plan| listed(plan, report.all));
    let names: BTreeSet<&str> = changes.map(|change| change.action.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn application(plan: &SyncPlan, report: &Report<'_>) -> String {
    let id = html(&plan.application.id.to_string());
    let signs = Counts::of(listed(plan, false)).signs();
    let signs = if signs.is_empty() { String::new() } else { format!(" <code>{signs}</code>") };
    let bad = matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error | SyncMode::Deleted);
    let mode = if bad { "mode bad" } else { "mode" };
    let words: String = plan_words(plan).iter().map(|word| format!(" · {}", html(word))).collect();
    let mut text = format!(
        "<details class=\"application\" data-app=\"{id}\">\n<summary><h3>{id}</h3> <span class=\"{mode}\">{}</span>{signs}{words}</summary>\n",
        html(&mode_words(plan))
    );
    let destination = &plan.application.spec.destination;
    let cluster = if destination.name.is_empty() { &*plan.server } else { &*destination.name };
    text += &format!("<p>Goes to <code>{}</code>, namespace <code>{}</code>", html(cluster), html(&destination.namespace));
    if let Some(origin) = &plan.origin {
        let name = format!("{}:{}", html(&origin.path), origin.line);
        let page = report.setting.files.as_ref().and_then(|files| files.origin(origin));
        let name = page.map_or_else(|| name.clone(), |page| format!("<a href=\"{}\">{name}</a>", html(&page)));
        text += &format!("; defined in {name}");
    }
    text += "</p>\n";
    if !plan.sync.reason.is_empty() {
        text += &format!("<p>Sync: {}</p>\n", html(&plan.sync.reason));
    }
    for condition in &plan.conditions {
        text += &format!("<p>{}: {}</p>\n", html(condition.kind), html(&condition.message));
    }
    let changes: String = listed(plan, report.all).map(|change| row(change, &id)).collect();
    let changes = if changes.is_empty() { "<p>Nothing is listed.</p>\n".to_owned() } else { changes };
    text + &changes + "</details>\n"
}

fn row(change: &Change, id: &str) -> String {
    let action = change.action.as_str();
    let unreached = if change.reached { "" } else { " unreached" };
    let head = format!(
        "<span class=\"action {action}\">{action}</span> <code>{}</code> <span class=\"why\">{}, wave {}: {}</span>",
        html(&resource(change)),
        change.phase.as_str(),
        change.wave,
        html(&reason_words(change))
    );
    let data = format!("class=\"item change{unreached}\" data-action=\"{action}\" data-app=\"{id}\"");
    let mut content = fields(&change.diff);
    content += &tree("Goes along", &change.cascade);
    content += &tree("Stays", &change.stays);
    if content.is_empty() {
        return format!("<div {data}>{head}</div>\n");
    }
    format!("<details {data}>\n<summary>{head}</summary>\n{content}</details>\n")
}

fn fields(fields: &[FieldChange]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let rows: String = fields.iter().map(field).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Differing fields\"><table>\n\
         <thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Live</th><th scope=\"col\">After the sync</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn field(field: &FieldChange) -> String {
    let since = field.owner_time.as_ref().map(|time| format!(", {}", html(time))).unwrap_or_default();
    let owner = field.owner.as_ref().map(|owner| format!("<br><small>owned by {}{since}</small>", html(owner))).unwrap_or_default();
    let (live, target) = (shown(field.live.as_ref()), shown(field.target.as_ref()));
    let (live, target) = match (&live, &target) {
        (Some(live), Some(target)) => marked(live, target),
        _ => {
            let alone = |text: &Option<String>, element: &str| match text {
                Some(text) => format!("<{element}>{}</{element}>", html_lines(text)),
                None => "<em>absent</em>".to_owned(),
            };
            (alone(&live, "del"), alone(&target, "ins"))
        }
    };
    format!("<tr><th scope=\"row\">{}{owner}</th><td><pre>{live}</pre></td><td><pre>{target}</pre></td></tr>\n", html(&field.path))
}

/// A value as people read it: a text as it is, everything else as indented JSON.
fn shown(value: Option<&Value>) -> Option<String> {
    Some(match value? {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    })
}

/// Both texts with the lines marked that differ, between what both begin and end with.
fn marked(live: &str, target: &str) -> (String, String) {
    let (live, target): (Vec<&str>, Vec<&str>) = (live.split('\n').collect(), target.split('\n').collect());
    let before = live.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.len() - before;
    let most = rest(&live).min(rest(&target));
    let after = live.iter().rev().zip(target.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let side = |lines: &[&str], element: &str| {
        let lines: Vec<String> = lines.iter().map(|line| html_lines(line)).collect();
        let end = lines.len() - after;
        let part = |range: std::ops::Range<usize>| lines.get(range).unwrap_or_default().join("\n");
        let middle = if before < end { format!("<{element}>{}</{element}>", part(before..end)) } else { String::new() };
        let parts = [part(0..before), middle, part(end..lines.len())];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    };
    (side(&live, "del"), side(&target, "ins"))
}

/// What hangs on an object, as nested lists that fold.
fn tree(title: &str, dependents: &[Dependent]) -> String {
    if dependents.is_empty() {
        return String::new();
    }
    let mut rest = dependents;
    format!("<p>{title}: {}</p>\n{}", dependents.len(), level(&mut rest, 1))
}

/// The entries of one level, up to the first that belongs to a level above.
fn level(rest: &mut &[Dependent], depth: usize) -> String {
    let mut items = String::new();
    while let Some((dependent, below)) = rest.split_first().filter(|(dependent, _)| dependent.depth >= depth) {
        *rest = below;
        let deeper = rest.first().is_some_and(|next| next.depth > depth);
        let children = if deeper { level(rest, depth + 1) } else { String::new() };
        let cluster = dependent.cluster.as_ref().map(|cluster| format!(" on {}", html(cluster))).unwrap_or_default();
        let of = dependent.application.as_ref().map(|id| format!(", Application {}", html(id))).unwrap_or_default();
        let name =
            format!("<code>{}</code>{cluster} <small>{}{of}</small>", html(&dependent.key.to_string()), html(dependent.tie.as_str()));
        items += &if children.is_empty() {
            format!("<li>{name}</li>\n")
        } else {
            format!("<li><details open><summary>{name}</summary>\n{children}</details></li>\n")
        };
    }
    format!("<ul class=\"tree\">\n{items}</ul>\n")
}
