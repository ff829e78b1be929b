//! One Application, folded: how it is synced, and its changes with their fields and trees.

use super::super::Report;
use super::super::dependents::write_dependents;
use super::super::escape::{code, fenced, html, markdown};
use super::super::fields::sides;
use super::super::style::{Style, clean, plural};
use super::super::summary::{Counts, listed, mode_words, plan_words, reason_words, resource};
use crate::plan::{Change, SyncMode, SyncPlan};

/// Columns of a line in a block.
const WIDTH: usize = 120;
/// Fields shown of one object.
const MAX_FIELDS: usize = 30;

/// One Application's part of the page.
pub(super) struct Section {
    summary: String,
    lead: String,
    rows: Vec<Row>,
    /// The rows are left out.
    cut: bool,
}

struct Row {
    line: String,
    block: Option<String>,
    /// The block is left out.
    cut: bool,
}

impl Section {
    /// Lays out an Application.
    pub(super) fn of(plan: &SyncPlan, report: &Report<'_>) -> Self {
        let signs = Counts::of(listed(plan, false)).signs();
        let mut parts = vec![format!("<b><code>{}</code></b>", html(&plan.application.id.to_string())), html(&mode_words(plan))];
        if !signs.is_empty() {
            parts.push(format!("<code>{signs}</code>"));
        }
        parts.extend(plan_words(plan));
        let is_plain = plan.sync.mode == SyncMode::Automated && plan.sync.starts;
        let reason =
            if is_plain || plan.sync.reason.is_empty() { String::new() } else { format!("Sync: {}\n\n", markdown(&plan.sync.reason)) };
        let conditions: String = plan
            .conditions
            .iter()
            .map(|condition| format!("- ⚠️ {}: {}\n", markdown(condition.kind), markdown(&condition.message)))
            .collect();
        let conditions = if conditions.is_empty() { conditions } else { conditions + "\n" };
        Self {
            summary: parts.join(" · "),
            lead: format!("{}{reason}{conditions}", destination(plan, report)),
            rows: listed(plan, report.all).map(|change| Row::of(change, report)).collect(),
            cut: false,
        }
    }

    /// The Application as Markdown.
    pub(super) fn text(&self) -> String {
        let rows = if self.cut {
            format!("{} left out\n", plural(self.rows.len(), "change is", "changes are"))
        } else {
            self.rows.iter().map(Row::text).collect()
        };
        format!("<details><summary>{}</summary>\n\n{}{rows}\n</details>\n\n", self.summary, self.lead)
    }

    /// Characters that leaving the rows out saves.
    pub(super) fn size(&self) -> usize {
        if self.cut { 0 } else { self.rows.iter().map(|row| super::length(&row.text())).sum() }
    }

    /// Leaves the rows out.
    pub(super) fn cut(&mut self) {
        self.cut = true;
    }

    /// The rows that have a block, with its length.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (usize, usize)> {
        let blocks = self.rows.iter().enumerate().filter(|(_, row)| !self.cut && !row.cut);
        blocks.filter_map(|(index, row)| Some((index, super::length(row.block.as_ref()?))))
    }

    /// Leaves the block of a row out.
    pub(super) fn cut_block(&mut self, row: usize) {
        if let Some(row) = self.rows.get_mut(row) {
            row.cut = true;
        }
    }
}

fn destination(plan: &SyncPlan, report: &Report<'_>) -> String {
    let destination = &plan.application.spec.destination;
    let cluster = if destination.name.is_empty() { &*plan.server } else { &*destination.name };
    let mut place = if cluster.is_empty() { "unknown cluster".to_owned() } else { code(cluster) };
    if !destination.namespace.is_empty() {
        place += &format!(", namespace {}", code(&destination.namespace));
    }
    let origin = plan.origin.as_ref().map(|origin| {
        let name = code(&format!("{}:{}", origin.path, origin.line));
        let page = report.setting.files.as_ref().and_then(|files| files.origin(origin));
        format!("; defined in {}", page.map_or_else(|| name.clone(), |page| format!("[{name}]({page})")))
    });
    format!("Goes to {place}{}\n\n", origin.unwrap_or_default())
}

impl Row {
    fn of(change: &Change, report: &Report<'_>) -> Self {
        let step = if change.wave == 0 { String::new() } else { format!(" (wave {})", change.wave) };
        let line = format!("- **{}** {}{step}: {}\n", change.action.as_str(), code(&resource(change)), markdown(&reason_words(change)));
        let lines = block(change, report.all);
        Self { line, block: (!lines.is_empty()).then(|| fenced("diff", &lines, "  ")), cut: false }
    }

    fn text(&self) -> String {
        match &self.block {
            Some(_) if self.cut => format!("{}  *(left out here)*\n", self.line),
            Some(block) => format!("{}{block}", self.line),
            None => self.line.clone(),
        }
    }
}

/// The differing fields and what hangs on the object, as lines of a diff.
fn block(change: &Change, all: bool) -> Vec<String> {
    let style = Style { color: false, width: WIDTH, unicode: true };
    let mut lines = Vec::new();
    let shown = if all { change.diff.len() } else { change.diff.len().min(MAX_FIELDS) };
    for field in change.diff.iter().take(shown) {
        let owner = field.owner.as_ref().map(|owner| format!(" owned by {}", style.shorten(&clean(owner), 40))).unwrap_or_default();
        lines.push(format!("@@ {} @@{owner}", style.shorten(&clean(&field.path), WIDTH)));
        lines.extend(sides(field, WIDTH, style).into_iter().map(|(sign, text)| format!("{sign} {text}")));
    }
    if shown < change.diff.len() {
        lines.push(format!("  {}", plural(change.diff.len() - shown, "more field differs", "more fields differ")));
    }
    let mut tree = Vec::new();
    // A vector takes everything.
    let _ = write_dependents(change, "", all, style, &mut tree);
    lines.extend(String::from_utf8_lossy(&tree).lines().map(|line| format!("  {line}")));
    lines
}
