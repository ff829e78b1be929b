//! The order of a sync: phases, waves, kinds, and how Argo CD walks through them.
//!
//! Takes [`Task`]s; hands on the steps in the order in which they happen. Waves of prunes are mirrored anew before every step,
//! over the prunes that remain, as the engine does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::change::Phase;
use crate::argocd::{options, wave::wave};
use crate::manifest::{Manifest, ResourceKey};
use crate::snapshot::LiveObject;

/// One object in one phase of a sync.
#[derive(Clone, Debug)]
pub struct Task {
    /// The object; a target without a namespace counts as being in the destination namespace here.
    pub key: ResourceKey,
    /// The phase.
    pub phase: Phase,
    /// What is applied; `None` for a prune.
    pub target: Option<Arc<Manifest>>,
    /// What the cluster has.
    pub live: Option<Arc<LiveObject>>,
    /// Whether it is a hook.
    pub hook: bool,
}

impl Task {
    /// Whether the task removes a live object.
    pub fn is_prune(&self) -> bool {
        self.target.is_none()
    }

    fn object(&self) -> &Value {
        match (&self.target, &self.live) {
            (Some(target), _) => &target.object,
            (None, Some(live)) => live.object(),
            (None, None) => &Value::Null,
        }
    }
}

/// The effect of running one task of a step, as the caller foresees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is done; a pruned object is gone.
    Done,
    /// A prune that is skipped: the object stays and keeps its place among the waves.
    Kept,
    /// It fails; nothing after its step happens.
    Failed,
    /// It never becomes healthy; the next step never starts.
    Stuck,
    /// It needs a person's approval before its step starts.
    Waits,
}

/// A task with the place it has in the walk.
#[derive(Clone, Debug)]
pub struct Step {
    /// Index of the task.
    pub task: usize,
    /// Phase in which it happens.
    pub phase: Phase,
    /// Wave in which it happens.
    pub wave: i64,
    /// Whether the sync gets there.
    pub reached: bool,
    /// The prune of its namespace, which takes it along before its own turn.
    pub swept_by: Option<usize>,
}

impl Step {
    fn new(task: usize, phase: Phase, wave: i64, reached: bool) -> Self {
        Self { task, phase, wave, reached, swept_by: None }
    }
}

/// How the walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything ran.
    Succeeded,
    /// A task failed.
    Failed,
    /// A task never became healthy.
    Stuck,
    /// It waits for approval.
    Waits,
}

/// What steers a walk besides the tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Course {
    /// `PruneLast=true` on the Application.
    pub prune_last: bool,
    /// A task that is done before all others, whatever its phase and wave: it makes the missing destination namespace.
    pub first: Option<usize>,
}

/// Walks the tasks as Argo CD does and says in which order they happen and which are not reached.
///
/// `effect` says what running a task does. Tasks of the phase `SyncFail` only run after a failure.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:Sync`, `getSyncTasks`, `runTasks` and `sync_tasks.go`.
pub fn walk(tasks: &[Task], course: Course, effect: &dyn Fn(usize) -> Effect) -> (Vec<Step>, End) {
    let Course { prune_last, first } = course;
    let mut steps = Vec::with_capacity(tasks.len());
    let (fail_hooks, normal): (Vec<usize>, Vec<usize>) = (0..tasks.len()).partition(|&index| tasks[index].phase == Phase::SyncFail);
    // Prunes that were skipped stay live, so they keep taking part in the mirroring; pruned ones do not.
    let mut present = normal;
    let mut finished = vec![false; tasks.len()];
    let mut end = End::Succeeded;
    let mut first = first;
    loop {
        let planned = order(tasks, &present, prune_last);
        // A hook for a failure is a step of its own, though it may never run.
        let multi_step = !fail_hooks.is_empty()
            || planned.first().zip(planned.last()).is_some_and(|(first, last)| (first.1, first.2) != (last.1, last.2));
        let mut pending = planned.iter().filter(|(index, ..)| !finished[*index]);
        let Some(&(_, phase, wave)) = pending.next() else { break };
        if let Some(&(task, phase, wave)) = first.take().and_then(|first| planned.iter().find(|(index, ..)| *index == first)) {
            finished[task] = true;
            steps.push(Step::new(task, phase, wave, true));
            if effect(task) == Effect::Failed {
                end = End::Failed;
                let rest = planned.iter().filter(|(index, ..)| !finished[*index]);
                steps.extend(rest.map(|&(task, phase, wave)| Step::new(task, phase, wave, false)));
                break;
            }
            continue;
        }
        let group: Vec<usize> = planned
            .iter()
            .filter(|&&(index, its_phase, its_wave)| !finished[index] && (its_phase, its_wave) == (phase, wave))
            .map(|&(index, ..)| index)
            .collect();
        if group.iter().any(|&index| effect(index) == Effect::Waits) {
            end = End::Waits;
            // Nothing of the step happens; what waits is listed as the thing that is waited for.
            for &(index, phase, wave) in planned.iter().filter(|(index, ..)| !finished[*index]) {
                let reached = group.contains(&index) && effect(index) == Effect::Waits;
                steps.push(Step::new(index, phase, wave, reached));
            }
            break;
        }
        let (prunes, applies): (Vec<usize>, Vec<usize>) = group.into_iter().partition(|&index| tasks[index].is_prune());
        let mut stops = None;
        for index in prunes.into_iter().chain(applies) {
            finished[index] = true;
            steps.push(Step::new(index, phase, wave, true));
            match effect(index) {
                Effect::Done if tasks[index].is_prune() => present.retain(|&one| one != index),
                Effect::Failed => stops = Some(End::Failed),
                Effect::Stuck if stops.is_none() && (multi_step || tasks[index].hook) => stops = Some(End::Stuck),
                _ => {}
            }
        }
        // Argo CD waits until a namespace is gone, and what was in it is no task any more.
        let gone = steps.iter().rev().take_while(|step| (step.phase, step.wave) == (phase, wave)).map(|step| step.task);
        let namespaces: Vec<usize> = gone.filter(|&index| is_namespace_prune(&tasks[index]) && !present.contains(&index)).collect();
        for namespace in namespaces {
            let held = |index: usize| tasks[index].is_prune() && tasks[index].key.namespace == tasks[namespace].key.name;
            let swept: Vec<usize> = present.iter().copied().filter(|&index| !finished[index] && held(index)).collect();
            for index in swept {
                finished[index] = true;
                steps.push(Step { swept_by: Some(namespace), ..Step::new(index, phase, wave, true) });
            }
            present.retain(|&index| !held(index));
        }
        if let Some(stop) = stops {
            end = stop;
            let planned = order(tasks, &present, prune_last);
            let rest = planned.into_iter().filter(|(index, ..)| !finished[*index]);
            steps.extend(rest.map(|(task, phase, wave)| Step::new(task, phase, wave, false)));
            break;
        }
    }
    if end == End::Failed {
        let planned = order(tasks, &fail_hooks, prune_last);
        steps.extend(planned.into_iter().map(|(task, phase, wave)| Step::new(task, phase, wave, true)));
    }
    (steps, end)
}

/// The tasks in planned order with their effective phase and wave.
fn order(tasks: &[Task], present: &[usize], prune_last: bool) -> Vec<(usize, Phase, i64)> {
    let waves = effective_waves(tasks, present, prune_last);
    let mut planned: Vec<(usize, Phase, i64)> = present.iter().zip(waves).map(|(&index, wave)| (index, tasks[index].phase, wave)).collect();
    planned.sort_by(|&(a, phase_a, wave_a), &(b, phase_b, wave_b)| {
        let (a, b) = (&tasks[a], &tasks[b]);
        (phase_a, wave_a, kind_rank(&a.key.kind), &a.key.name)
            .cmp(&(phase_b, wave_b, kind_rank(&b.key.kind), &b.key.name))
            .then_with(|| (&a.key.namespace, &a.key.group, &a.key.kind).cmp(&(&b.key.namespace, &b.key.group, &b.key.kind)))
    });
    bubble(tasks, &mut planned, namespace_defined, namespace_used);
    bubble(tasks, &mut planned, kind_defined, kind_used);
    planned
}

/// The waves of the tasks: prunes mirrored, `PruneLast` moved behind everything.
fn effective_waves(tasks: &[Task], present: &[usize], prune_last: bool) -> Vec<i64> {
    let own: Vec<i64> = present.iter().map(|&index| wave(tasks[index].object())).collect();
    let mut prune_waves: Vec<i64> =
        present.iter().zip(&own).filter(|(index, _)| tasks[**index].is_prune()).map(|(_, wave)| *wave).collect();
    prune_waves.sort_unstable();
    prune_waves.dedup();
    let mirrored: BTreeMap<i64, i64> = prune_waves.iter().copied().zip(prune_waves.iter().rev().copied()).collect();
    let mut waves: Vec<i64> = present
        .iter()
        .zip(own)
        .map(|(&index, own)| if tasks[index].is_prune() { mirrored.get(&own).copied().unwrap_or(own) } else { own })
        .collect();
    let last = present.iter().zip(&waves).filter(|(index, _)| tasks[**index].phase == Phase::Sync).map(|(_, wave)| *wave).fold(0, i64::max);
    for (&index, wave) in present.iter().zip(&mut waves) {
        let task = &tasks[index];
        if task.is_prune() && (prune_last || options::object_has(task.object(), "PruneLast=true")) {
            *wave = last.saturating_add(1);
        }
    }
    waves
}

/// Moves a task that others depend on before the first of them, into its phase and wave.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_tasks.go:adjustDeps`.
fn bubble(tasks: &[Task], planned: &mut Vec<(usize, Phase, i64)>, defines: fn(&Task) -> Option<String>, uses: fn(&Task) -> Option<String>) {
    let mut first_use: HashMap<String, usize> = HashMap::new();
    for position in 0..planned.len() {
        let task = &tasks[planned[position].0];
        if task.is_prune() {
            continue;
        }
        if let Some(defined) = defines(task) {
            if let Some(&earlier) = first_use.get(&defined) {
                let (_, phase, wave) = planned[earlier];
                let (index, ..) = planned.remove(position);
                planned.insert(earlier, (index, phase, wave));
                for place in first_use.values_mut().filter(|place| **place >= earlier) {
                    *place += 1;
                }
            }
        } else if let Some(used) = uses(task) {
            first_use.entry(used).or_insert(position);
        }
    }
}

fn is_namespace_prune(task: &Task) -> bool {
    task.is_prune() && task.key.is("", "Namespace")
}

fn namespace_defined(task: &Task) -> Option<String> {
    task.key.is("", "Namespace").then(|| task.key.name.to_string())
}

fn namespace_used(task: &Task) -> Option<String> {
    (!task.key.namespace.is_empty()).then(|| task.key.namespace.to_string())
}

fn kind_defined(task: &Task) -> Option<String> {
    if !task.key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return None;
    }
    let object = task.object();
    let group = object.pointer("/spec/group")?.as_str()?;
    let kind = object.pointer("/spec/names/kind")?.as_str()?;
    Some(format!("{group}/{kind}"))
}

fn kind_used(task: &Task) -> Option<String> {
    Some(format!("{}/{}", task.key.group, task.key.kind))
}

/// The rank of a kind in one wave; unknown kinds come last. The group does not count.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_tasks.go:init`.
pub fn kind_rank(kind: &str) -> usize {
    const ORDER: [&str; 35] = [
        "Namespace",
        "NetworkPolicy",
        "ResourceQuota",
        "LimitRange",
        "PodSecurityPolicy",
        "PodDisruptionBudget",
        "ServiceAccount",
        "Secret",
        "SecretList",
        "ConfigMap",
        "StorageClass",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleList",
        "ClusterRoleBinding",
        "ClusterRoleBindingList",
        "Role",
        "RoleList",
        "RoleBinding",
        "RoleBindingList",
        "Service",
        "DaemonSet",
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "Job",
        "CronJob",
        "IngressClass",
        "Ingress",
        "APIService",
    ];
    ORDER.iter().position(|&one| one == kind).unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::argocd::names::{SYNC_OPTIONS, SYNC_WAVE};
    use crate::manifest::{Origin, Side};
    use crate::plan::sample;

    fn object(kind: &str, namespace: &str, name: &str, wave: &str, options: &str) -> Value {
        json!({"kind": kind, "metadata": {"name": name, "namespace": namespace, "annotations": {SYNC_WAVE: wave, SYNC_OPTIONS: options}}})
    }

    fn task(phase: Phase, object: Value, prune: bool) -> Task {
        let key = ResourceKey::of(&object).unwrap();
        let origin = Origin { path: "a".into(), side: Side::Head, document: 0..0, line: 1, within: String::new(), rendered: None };
        Task {
            phase,
            hook: phase != Phase::Sync,
            target: (!prune).then(|| Arc::new(Manifest { key: key.clone(), object: object.clone().into(), origin })),
            live: prune.then(|| sample::live(object)),
            key,
        }
    }

    fn create(name: &str, wave: &str) -> Task {
        task(Phase::Sync, object("Pod", "", name, wave, ""), false)
    }

    fn prune(name: &str, wave: &str) -> Task {
        task(Phase::Sync, object("Pod", "", name, wave, ""), true)
    }

    fn planned(tasks: &[Task], prune_last: bool) -> Vec<(String, i64)> {
        let present: Vec<usize> = (0..tasks.len()).collect();
        order(tasks, &present, prune_last).into_iter().map(|(index, _, wave)| (tasks[index].key.name.to_string(), wave)).collect()
    }

    fn wave_of(plan: &[(String, i64)], name: &str) -> i64 {
        plan.iter().find(|(one, _)| one == name).unwrap().1
    }

    #[test]
    fn s9_34_waves_of_prunes_are_mirrored() {
        let tasks: Vec<_> = ["0", "1", "2", "3", "4"].iter().map(|wave| prune(&format!("p{wave}"), wave)).collect();
        let plan = planned(&tasks, false);
        for (name, wave) in [("p0", 4), ("p1", 3), ("p2", 2), ("p3", 1), ("p4", 0)] {
            assert_eq!(wave_of(&plan, name), wave, "{name}");
        }
    }

    #[test]
    fn s9_35_waves_of_prunes_are_swapped_among_creates() {
        let tasks = [create("ns", "0"), prune("pod1", "1"), create("pod2", "2"), prune("pod3", "3"), prune("pod4", "4")];
        let plan = planned(&tasks, false);
        for (name, wave) in [("pod1", 4), ("pod3", 3), ("pod4", 1), ("ns", 0), ("pod2", 2)] {
            assert_eq!(wave_of(&plan, name), wave, "{name}");
        }
    }

    #[test]
    fn s9_36_only_the_waves_of_prunes_are_swapped() {
        let tasks = [
            create("ns", "-1"),
            prune("pod1", "1"),
            prune("pod3", "3"),
            prune("pod4", "3"),
            prune("pod5", "4"),
            prune("pod7", "5"),
            create("pod2", "3"),
            create("pod6", "5"),
        ];
        let plan = planned(&tasks, false);
        for (name, wave) in [("pod1", 5), ("pod3", 4), ("pod4", 4), ("pod5", 3), ("pod7", 1), ("pod2", 3), ("pod6", 5), ("ns", -1)] {
            assert_eq!(wave_of(&plan, name), wave, "{name}");
        }
    }

    #[test]
    fn s9_37_prune_last_comes_one_wave_after_the_last() {
        let plan = planned(&[create("c", "2"), prune("p1", "1"), prune("p7", "7")], true);
        assert_eq!((wave_of(&plan, "p1"), wave_of(&plan, "p7")), (8, 8));
        let plan = planned(&[create("c", "0"), prune("p", "0")], true);
        assert_eq!(wave_of(&plan, "p"), 1);
    }

    #[test]
    fn s9_38_prune_last_on_one_object_moves_that_one() {
        let mut tasks = vec![create("ns", "0"), prune("pod1", "1"), prune("pod3", "3"), prune("pod4", "4")];
        tasks.push(task(Phase::Sync, object("Pod", "", "pod2", "2", "PruneLast=true"), true));
        let plan = planned(&tasks, false);
        for (name, wave) in [("pod1", 4), ("pod2", 5), ("pod3", 2), ("pod4", 1)] {
            assert_eq!(wave_of(&plan, name), wave, "{name}");
        }
    }

    #[test]
    fn s9_39_namespaces_move_before_the_hooks_that_live_in_them() {
        let tasks = [
            task(Phase::Sync, object("Namespace", "", "n1", "1", ""), false),
            task(Phase::Sync, object("Namespace", "", "n2", "2", ""), false),
            task(Phase::PreSync, object("Job", "n1", "job1", "1", ""), false),
            task(Phase::PreSync, object("Job", "n2", "job2", "2", ""), false),
        ];
        let names: Vec<_> = planned(&tasks, false).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["n1", "job1", "n2", "job2"]);
    }

    #[test]
    fn s9_40_a_definition_moves_before_the_hook_that_is_of_its_kind() {
        let mut definition = object("CustomResourceDefinition", "", "mills.parts.example.test", "0", "");
        definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
        definition["spec"] = json!({"group": "parts.example.test", "names": {"kind": "Mill"}});
        let mut mill = object("Mill", "", "mill", "0", "");
        mill["apiVersion"] = json!("parts.example.test/v1");
        let tasks = [task(Phase::Sync, definition, false), task(Phase::PreSync, mill, false)];
        let order = order(&tasks, &[0, 1], false);
        assert_eq!(order, [(0, Phase::PreSync, 0), (1, Phase::PreSync, 0)]);
    }

    #[test]
    fn s9_42_kinds_are_ranked_within_a_wave_and_custom_kinds_come_last() {
        let tasks: Vec<_> = ["Widget", "Deployment", "Ingress", "Service", "ConfigMap", "StatefulSet"]
            .iter()
            .map(|kind| task(Phase::Sync, object(kind, "", &kind.to_lowercase(), "0", ""), false))
            .collect();
        let names: Vec<_> = planned(&tasks, false).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["configmap", "service", "deployment", "statefulset", "ingress", "widget"]);
    }

    #[test]
    fn prunes_are_mirrored_again_at_every_step_over_those_that_remain() {
        let tasks = [create("s", "0"), prune("p4", "4"), create("c2", "2"), prune("p3", "3"), prune("p1", "1"), create("c5", "5")];
        let (steps, end) = walk(&tasks, Course::default(), &|_| Effect::Done);
        let names: Vec<_> = steps.iter().map(|step| &*tasks[step.task].key.name).collect();
        assert_eq!(names, ["s", "p4", "p3", "p1", "c2", "c5"]);
        assert_eq!(end, End::Succeeded);
    }

    #[test]
    fn a_failure_lets_its_wave_finish_and_nothing_after_it() {
        let tasks = [create("a", "0"), create("b", "0"), create("c", "1")];
        let (steps, end) = walk(&tasks, Course::default(), &|index| if index == 0 { Effect::Failed } else { Effect::Done });
        assert_eq!(steps.iter().map(|step| step.reached).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(end, End::Failed);
    }

    #[test]
    fn a_confirmation_holds_back_its_whole_step() {
        let tasks = [create("a", "0"), prune("p", "0"), create("b", "-1")];
        let (steps, end) = walk(&tasks, Course::default(), &|index| if index == 1 { Effect::Waits } else { Effect::Done });
        let reached: Vec<_> = steps.iter().map(|step| (&*tasks[step.task].key.name, step.reached)).collect();
        assert_eq!(reached, [("b", true), ("a", false), ("p", true)]);
        assert_eq!(end, End::Waits);
    }

    #[test]
    fn what_never_gets_healthy_stops_only_a_sync_of_several_steps() {
        let single = [create("a", "0")];
        assert_eq!(walk(&single, Course::default(), &|_| Effect::Stuck).1, End::Succeeded);
        let stuck_first = |index| if index == 0 { Effect::Stuck } else { Effect::Done };
        let several = [create("a", "0"), create("b", "1")];
        assert_eq!(walk(&several, Course::default(), &stuck_first).1, End::Stuck);
        let with_hook = [create("a", "0"), task(Phase::SyncFail, object("Job", "", "hook", "0", ""), false)];
        assert_eq!(walk(&with_hook, Course::default(), &stuck_first).1, End::Stuck);
    }

    #[test]
    fn the_destination_namespace_is_made_before_waves_and_hooks() {
        let namespace = task(Phase::Sync, object("Namespace", "", "shop", "3", ""), false);
        let tasks = [create("a", "-1"), task(Phase::PreSync, object("Job", "", "hook", "0", ""), false), namespace];
        let course = Course { first: Some(2), ..Course::default() };
        let names =
            |steps: &[Step]| steps.iter().map(|step| (tasks[step.task].key.name.to_string(), step.wave, step.reached)).collect::<Vec<_>>();
        let (steps, _) = walk(&tasks, course, &|_| Effect::Done);
        assert_eq!(names(&steps), [("shop".into(), 3, true), ("hook".into(), 0, true), ("a".into(), -1, true)]);
        let (steps, end) = walk(&tasks, course, &|index| if index == 2 { Effect::Failed } else { Effect::Done });
        assert_eq!(names(&steps), [("shop".into(), 3, true), ("hook".into(), 0, false), ("a".into(), -1, false)]);
        assert_eq!(end, End::Failed);
    }

    #[test]
    fn what_is_in_a_pruned_namespace_goes_with_it_and_not_in_a_wave_of_its_own() {
        let mut tasks = vec![create("a", "3"), task(Phase::Sync, object("Namespace", "", "x", "0", ""), true)];
        tasks.push(task(Phase::Sync, object("Pod", "x", "in", "0", "PruneLast=true"), true));
        tasks.push(task(Phase::Sync, object("Pod", "y", "out", "0", "PruneLast=true"), true));
        let (steps, end) = walk(&tasks, Course::default(), &|_| Effect::Done);
        let found: Vec<_> = steps.iter().map(|step| (&*tasks[step.task].key.name, step.wave, step.swept_by)).collect();
        assert_eq!(found, [("x", 0, None), ("in", 0, Some(1)), ("a", 3, None), ("out", 4, None)]);
        assert_eq!(end, End::Succeeded);
        let kept = |index| if index == 1 { Effect::Kept } else { Effect::Done };
        assert!(walk(&tasks, Course::default(), &kept).0.iter().all(|step| step.swept_by.is_none()));
    }
}
