//! Objects whose namespace the same sync deletes before it applies them.
//!
//! Takes the rows of a sync with their tasks and the order in which they would run; hands on which rows fail then, and why. Prunes come
//! first in a step, and Argo CD waits for a deletion before the next one (`gitops-engine/pkg/sync/sync_context.go:runTasks`, `Sync`).

use std::collections::HashMap;

use crate::plan::application::row::Row;
use crate::plan::change::{Action, Phase};
use crate::plan::reason::{LiveCopy, Reason, Refused};
use crate::plan::tasks::{Step, Task};

/// The rows that fail, with the reason. `applies_all` says whether the sync also applies what does not differ.
pub(super) fn lost(rows: &[Row], tasks: &[Task], steps: &[Step], applies_all: bool) -> Vec<(usize, Reason)> {
    let mut gone: HashMap<&str, (Phase, i64)> = HashMap::new();
    let mut found = Vec::new();
    for step in steps.iter().filter(|step| step.reached) {
        let (Some(row), Some(task)) = (rows.get(step.task), tasks.get(step.task)) else { continue };
        let place = (step.phase, step.wave);
        if task.is_prune() {
            if row.action == Action::Prune && task.key.is("", "Namespace") {
                gone.insert(&task.key.name, place);
            }
            continue;
        }
        let Some(deleted) = gone.get(&*task.key.namespace) else { continue };
        let same_step = *deleted == place;
        if !is_refused(row, same_step, applies_all) {
            continue;
        }
        let namespace = &task.key.namespace;
        let message = if same_step {
            format!(
                "the same step of the sync deletes Namespace {namespace} first, and nothing can be created in a namespace that is being deleted: \
                 creating {} will likely fail",
                task.key.named()
            )
        } else {
            format!("the sync deletes Namespace {namespace} in an earlier step: applying {} will fail", task.key.named())
        };
        found.push((step.task, Reason::Fails { message, cause: Refused::Missing, fields: Vec::new() }));
    }
    found
}

/// Whether the API server refuses it. While its namespace is being deleted, an object that is still there can be updated.
fn is_refused(row: &Row, same_step: bool, applies_all: bool) -> bool {
    let creates = match row.action {
        Action::Create | Action::Recreate => true,
        Action::Hook => row.live.is_none() || matches!(row.reason, Reason::Hook { live_copy: LiveCopy::DeletedFirst }),
        _ => false,
    };
    let applies = match row.action {
        Action::Update | Action::Adopt | Action::Replace | Action::Hook => true,
        Action::None => applies_all,
        _ => false,
    };
    creates || (applies && !same_step)
}
