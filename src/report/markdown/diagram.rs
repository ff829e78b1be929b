//! The tree of the affected Applications as a Mermaid diagram.

use std::collections::BTreeMap;

use super::super::Report;
use super::super::applications::Node;
use super::super::escape::mermaid;
use super::super::summary::{Counts, listed, mode_words};
use crate::plan::{SyncMode, SyncPlan};

/// Applications from which on a diagram is drawn.
const FEWEST: usize = 3;
/// Boxes that a reader can still follow, and GitHub still draws.
const MOST: usize = 60;

/// The diagram, where more than two Applications are involved and they fit into one.
pub(super) fn of(report: &Report<'_>) -> Option<String> {
    if report.plans.len() < FEWEST {
        return None;
    }
    let plans = report.plans.iter().map(|plan| (plan.application.id.to_string(), plan)).collect();
    let mut drawing = Drawing { plans, lines: Vec::new(), boxes: 0 };
    for node in report.tree {
        drawing.draw(node, None);
    }
    let fits = drawing.boxes > 0 && drawing.boxes <= MOST;
    fits.then(|| format!("```mermaid\nflowchart LR\n{}{CLASSES}```\n\n", drawing.lines.concat()))
}

const CLASSES: &str = "  classDef bad stroke:#d1242f,stroke-width:2px\n  classDef waits stroke:#bf8700,stroke-width:2px\n  classDef same stroke-dasharray:3\n";

struct Drawing<'a> {
    plans: BTreeMap<String, &'a SyncPlan>,
    lines: Vec<String>,
    boxes: usize,
}

impl Drawing<'_> {
    /// Draws a branch in which an Application is affected.
    fn draw(&mut self, node: &Node, parent: Option<usize>) {
        if !self.involved(node) {
            return;
        }
        let number = self.boxes;
        self.boxes += 1;
        let plan = if node.kind == "Application" { self.plans.get(&id(node)) } else { None };
        let (words, class) = match plan {
            Some(plan) => {
                let signs = Counts::of(listed(plan, false)).signs();
                let class = match plan.sync.mode {
                    SyncMode::Refused | SyncMode::Error | SyncMode::Deleted => ":::bad",
                    SyncMode::Blocked | SyncMode::Manual => ":::waits",
                    SyncMode::Automated => "",
                };
                (format!("{} {signs}", mode_words(plan)), class)
            }
            None if node.kind == "Application" => (node.change.to_owned(), ":::same"),
            None => (format!("ApplicationSet {}", node.change), ":::same"),
        };
        let label = format!("{}<br/>{}", mermaid(&id(node)), mermaid(words.trim_end()));
        self.lines.push(format!("  a{number}[\"{label}\"]{class}\n"));
        if let Some(parent) = parent {
            self.lines.push(format!("  a{parent} --> a{number}\n"));
        }
        for child in &node.children {
            self.draw(child, Some(number));
        }
    }

    fn involved(&self, node: &Node) -> bool {
        (node.kind == "Application" && self.plans.contains_key(&id(node))) || node.children.iter().any(|child| self.involved(child))
    }
}

fn id(node: &Node) -> String {
    format!("{}/{}", node.namespace, node.name)
}
