//! The order in which a sync works, and what it does not get to.
//!
//! Takes the rows of an Application; hands on its changes, with remarks on what makes the sync hang.

mod ground;

use std::collections::{HashMap, HashSet};

use super::row::Row;
use super::{Planner, Run};
use crate::manifest::ResourceKey;
use crate::plan::change::{Action, Change, Condition, Phase};
use crate::plan::reason::Reason;
use crate::plan::tasks::{self, Course, Effect, End, Step, Task};
use crate::plan::waits::{self, Wait, WaitKind};

impl Planner<'_> {
    /// Puts the rows into the order of the sync and says what is not reached.
    pub(super) fn walk(&self, mut rows: Vec<Row>, aside: Vec<Row>, run: &Run<'_>, conditions: &mut Vec<Condition>) -> Vec<Change> {
        let tasks: Vec<Task> = rows.iter().map(|row| row.task(&self.input.application.spec.destination.namespace)).collect();
        let course = Course { prune_last: self.options().has("PruneLast=true"), first: self.created_first(&tasks) };
        let (mut undisturbed, _) = tasks::walk(&tasks, course, &|index| rows.get(index).map_or(Effect::Done, Row::effect));
        let applies_all = !run.partial && !self.options().has("ApplyOutOfSyncOnly=true");
        let lost = ground::lost(&rows, &tasks, &undisturbed, applies_all);
        if !lost.is_empty() {
            for (index, reason) in lost {
                if let Some(row) = rows.get_mut(index) {
                    (row.action, row.reason) = (Action::Fail, reason);
                    row.diff.clear();
                }
            }
            (undisturbed, _) = tasks::walk(&tasks, course, &|index| rows.get(index).map_or(Effect::Done, Row::effect));
        }
        let plain = |index: usize| rows.get(index).map_or(Effect::Done, Row::effect);
        let waits = waits::foresee(&tasks, &undisturbed, self.world.live, &self.server);
        let stuck: HashMap<usize, &Wait> = waits.iter().map(|wait| (wait.task, wait)).collect();
        let effect = |index: usize| match plain(index) {
            Effect::Done if stuck.contains_key(&index) => Effect::Stuck,
            other => other,
        };
        let (steps, end) = tasks::walk(&tasks, course, &effect);
        if end == End::Stuck {
            conditions.extend(steps.iter().filter(|step| step.reached).filter_map(|step| Some(hang(&tasks, stuck.get(&step.task)?))));
        }
        let names: Vec<Option<String>> = steps.iter().map(|step| Some(tasks.get(step.swept_by?)?.key.named())).collect();
        let mut slots: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
        let mut listed: HashSet<ResourceKey> = HashSet::new();
        let mut changes = Vec::with_capacity(slots.len() + aside.len());
        for (Step { task, phase, wave, reached, .. }, with) in steps.into_iter().zip(names) {
            let Some(mut row) = slots.get_mut(task).and_then(Option::take) else { continue };
            if let Some(object) = with {
                (row.action, row.reason) = (Action::Prune, Reason::GoesWith { object });
            }
            // A hook of several phases, and a live object under a hook's name, are one change: the first that happens.
            if row.action == Action::None || listed.insert(row.key.clone()) {
                changes.push(row.change(changes.len() + 1, phase, wave, reached));
            }
        }
        for row in aside {
            changes.push(row.change(changes.len() + 1, Phase::Sync, 0, true));
        }
        changes.extend(self.left_behind(changes.len()));
        changes
    }
}

/// The remark on a hang that rules read: `HookNeedsLater` or `WaveDeadlock`.
fn hang(tasks: &[Task], wait: &Wait) -> Condition {
    let task = tasks.get(wait.task);
    let named = task.map(|task| task.key.named()).unwrap_or_default();
    let needs = wait.needs.named();
    let (kind, message) = match wait.kind {
        WaitKind::PodNeeds => {
            ("HookNeedsLater", format!("{named} needs {needs}, which comes later in the sync and does not exist live: the sync hangs"))
        }
        WaitKind::ClaimNeedsConsumer => {
            ("WaveDeadlock", format!("{named} binds only when a pod uses it, but {needs} comes in a later wave: the sync hangs"))
        }
    };
    let target = task.and_then(|task| task.target.as_ref());
    Condition { kind, message, key: task.map(|task| task.key.clone()), origin: target.map(|target| target.origin.clone()) }
}
