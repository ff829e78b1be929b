//! Markdown for a pull request: the verdict, findings, then each Application folded with its plan.
//!
//! Takes a [`Report`]; hands on a text that GitHub takes as a comment. Where it would be too long, the differing fields of whole objects are
//! left out, the longest first, then other parts; findings come last.

mod application;
mod diagram;
mod findings;

use std::io::{self, Write};

use super::Report;
use super::escape::{code, markdown};
use super::style::plural;
use super::summary::{Counts, Summary, listed};
use crate::plan::Action;
use application::Section;
use findings::Detail;

/// The first line, by which a comment is found again.
pub const MARKER: &str = "<!-- presync:report -->";
/// Characters that GitHub takes in one comment, as UTF-16 counts them.
pub const LIMIT: usize = 65_536;
/// Characters left for what an action puts before and after.
const ROOM: usize = 536;

/// Writes the report as Markdown.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(fitted(report, LIMIT - ROOM).as_bytes())
}

/// The report in at most `limit` characters.
fn fitted(report: &Report<'_>, limit: usize) -> String {
    let mut page = Page {
        report,
        sections: report.plans.iter().map(|plan| Section::of(plan, report)).collect(),
        diagram: diagram::of(report),
        detail: Detail::Full,
        cut: Cut::default(),
    };
    loop {
        let text = page.text();
        let length = length(&text);
        if length <= limit || !page.shorten(length - limit) {
            return text;
        }
    }
}

/// Length as GitHub counts it.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What was left out.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// Objects whose fields and trees are left out.
    blocks: usize,
    /// Applications whose changes are left out.
    sections: usize,
    /// The diagram is left out.
    diagram: bool,
}

struct Page<'a> {
    report: &'a Report<'a>,
    sections: Vec<Section>,
    diagram: Option<String>,
    detail: Detail,
    cut: Cut,
}

impl Page<'_> {
    /// Leaves out what is worth at least `excess` characters if possible; `false` where nothing is left to leave out.
    fn shorten(&mut self, excess: usize) -> bool {
        // The remark on what was left out takes some room itself.
        let wanted = excess + 400;
        let mut saved = 0;
        let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
        for (section, content) in self.sections.iter().enumerate() {
            blocks.extend(content.blocks().map(|(row, size)| (size, section, row)));
        }
        blocks.sort_unstable_by_key(|(size, section, row)| (std::cmp::Reverse(*size), *section, *row));
        for (size, section, row) in blocks {
            if saved >= wanted {
                return true;
            }
            if let Some(content) = self.sections.get_mut(section) {
                content.cut_block(row);
                self.cut.blocks += 1;
                saved += size;
            }
        }
        if saved > 0 {
            return true;
        }
        if let Some(section) = self.sections.iter_mut().max_by_key(|section| section.size()).filter(|section| section.size() > 0) {
            section.cut();
            self.cut.sections += 1;
            return true;
        }
        if self.diagram.take().is_some() {
            self.cut.diagram = true;
            return true;
        }
        self.detail.shorten(excess)
    }

    fn text(&self) -> String {
        let mut text = format!("{MARKER}\n");
        text += &self.head();
        text += &self.left_out();
        text += &findings::text(self.report, self.detail);
        text += &self.along();
        text += &self.applications();
        text += &self.unjudged();
        text += &self.closing();
        text
    }

    fn head(&self) -> String {
        let report = self.report;
        let summary = Summary::of(report);
        let (sign, verdict) = match (report.fails(), summary.errors + summary.warnings) {
            (true, _) => ("❌", "failed"),
            (false, 0) => ("✅", "passed"),
            (false, _) => ("⚠️", "passed, with findings"),
        };
        let counts = [(summary.errors, "error", "errors"), (summary.warnings, "warning", "warnings"), (summary.infos, "info", "infos")];
        let mut words = super::summary::parts(counts);
        if words.is_empty() {
            words.push("no findings".to_owned());
        }
        let suppressed = if summary.suppressed > 0 { format!(" ({} suppressed)", summary.suppressed) } else { String::new() };
        let mut parts = vec![format!("**{}**{suppressed}", words.join(", "))];
        let signs = summary.changes.signs();
        let changes: Vec<String> = (!signs.is_empty()).then(|| format!("`{signs}`")).into_iter().chain(summary.changes.words()).collect();
        let changes = if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
        parts.push(format!("{}{changes}", plural(summary.applications, "Application affected", "Applications affected")));
        if summary.unjudged > 0 {
            parts.push(format!("**{} not judged**", summary.unjudged));
        }
        format!("## {sign} presync {verdict}\n\n{}\n\n", parts.join(" · "))
    }

    fn left_out(&self) -> String {
        let mut parts = super::summary::parts([
            (self.cut.blocks, "object's differing fields or tree", "objects' differing fields and trees"),
            (self.cut.sections, "Application's list of changes", "Applications' lists of changes"),
        ]);
        if self.cut.diagram {
            parts.push("the diagram".to_owned());
        }
        if self.detail != Detail::Full {
            parts.push("the help of findings".to_owned());
        }
        if parts.is_empty() {
            return String::new();
        }
        let rest = match &self.report.setting.complete {
            Some(page) => format!("They are in the [complete report]({page})."),
            None => "`presync plan --all` and the formats html and json show them.".to_owned(),
        };
        format!("> [!NOTE]\n> Left out to stay below {LIMIT} characters, the longest first: {}. {rest}\n\n", parts.join(", "))
    }

    /// What the sync also carries out, though the change under review does not bring it about.
    fn along(&self) -> String {
        let mut lines = Vec::new();
        for plan in self.report.plans.iter().filter(|plan| plan.sync.starts) {
            let due = listed(plan, false).filter(|change| !change.introduced && change.action != Action::None);
            // The heading says already that they are due anyway.
            let counts = Counts { standing: 0, ..Counts::of(due) };
            if counts != Counts::default() {
                let signs = counts.signs();
                let words: Vec<String> = (!signs.is_empty()).then(|| format!("`{signs}`")).into_iter().chain(counts.words()).collect();
                lines.push(format!("- {}: {}\n", code(&plan.application.id.to_string()), words.join(", ")));
            }
        }
        if lines.is_empty() {
            return String::new();
        }
        format!(
            "### Also carried out by this merge\n\nThe cluster differs from the base already, and the sync makes up for it:\n\n{}\n",
            lines.concat()
        )
    }

    fn applications(&self) -> String {
        if self.sections.is_empty() {
            return "### Applications\n\nNo Application that presync found is affected by the change.\n\n".to_owned();
        }
        let diagram = self.diagram.as_deref().unwrap_or_default();
        let sections: String = self.sections.iter().map(Section::text).collect();
        format!("### Applications\n\n{diagram}{sections}")
    }

    fn unjudged(&self) -> String {
        if self.report.unjudged.is_empty() {
            return String::new();
        }
        let shown = self.detail.unjudged();
        let mut text = "### Not judged\n\nThis could not be looked at. It is not a pass.\n\n".to_owned();
        for unjudged in self.report.unjudged.iter().take(shown) {
            let name = unjudged.application.as_ref().map(|id| format!("{} ", code(id))).unwrap_or_default();
            text += &format!("- {name}{}: {}\n", markdown(&unjudged.what), markdown(&unjudged.why));
        }
        if shown < self.report.unjudged.len() {
            text += &format!("- {} more\n", self.report.unjudged.len() - shown);
        }
        text + "\n"
    }

    fn closing(&self) -> String {
        let report = self.report;
        let mut parts = vec![format!("base {} → head {}", code(short(&report.base)), code(short(&report.head)))];
        for snapshot in report.snapshots {
            let captured = match &snapshot.captured_at {
                Some(time) => {
                    let age = report.setting.age(time).map(|age| format!(", {age} old")).unwrap_or_default();
                    format!(", captured {}{age}", markdown(time))
                }
                None => String::new(),
            };
            parts.push(format!("live {}: {}{captured}", code(&snapshot.source), plural(snapshot.objects, "object", "objects")));
        }
        if report.snapshots.is_empty() {
            parts.push("no snapshot: the base stands in for the cluster".to_owned());
        }
        if let Some(elapsed) = report.setting.elapsed {
            parts.push(format!("{:.1} s", elapsed.as_secs_f64()));
        }
        let notes: String = report.notes.iter().take(self.detail.unjudged()).map(|note| format!("- {}\n", markdown(note))).collect();
        let notes = if notes.is_empty() { String::new() } else { format!("<details><summary>Notes</summary>\n\n{notes}\n</details>\n\n") };
        format!("{notes}<sub>presync {} · {}</sub>\n", env!("CARGO_PKG_VERSION"), parts.join(" · "))
    }
}

/// The beginning of a commit id; other names as they are.
fn short(revision: &str) -> &str {
    let is_commit = revision.len() >= 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit { revision.get(..8).unwrap_or(revision) } else { revision }
}
