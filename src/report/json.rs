//! The JSON report, version 1, for programs.
//!
//! Takes a [`Report`]; hands on JSON with members in a fixed order: the same report gives the same bytes. The types stand here and are
//! filled from the inner ones, so that a change inside never changes the format. Members that have no value are left out, lists are written
//! even if empty.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::Report;
use super::escape::write_json;
use super::summary::{Summary, listed};
use crate::finding::{Finding, Location, Suppression, Unjudged};
use crate::manifest::{Origin, ResourceKey};
use crate::plan::{Change, Condition, Dependent, FieldChange, SyncPlan};
use crate::snapshot::SnapshotSource;

/// The version of the format. It grows only by members; what is there keeps its name and meaning.
pub const VERSION: u32 = 1;

/// Writes the report as JSON, indented by two spaces, with a final newline.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_json(&ReportJson::of(report), out)
}

#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    tool: ToolJson,
    base: RevisionJson<'a>,
    head: RevisionJson<'a>,
    snapshots: Vec<SnapshotJson<'a>>,
    verdict: &'static str,
    summary: SummaryJson,
    applications: Vec<ApplicationJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    unjudged: Vec<UnjudgedJson<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

impl<'a> ReportJson<'a> {
    fn of(report: &'a Report<'_>) -> Self {
        let mut plans: Vec<&SyncPlan> = report.plans.iter().collect();
        plans.sort_by(|a, b| a.application.id.cmp(&b.application.id));
        Self {
            version: VERSION,
            tool: ToolJson { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
            base: RevisionJson { revision: &report.base },
            head: RevisionJson { revision: &report.head },
            snapshots: report.snapshots.iter().map(SnapshotJson::of).collect(),
            verdict: if report.fails() { "fail" } else { "pass" },
            summary: SummaryJson::of(&Summary::of(report)),
            applications: plans.into_iter().map(|plan| ApplicationJson::of(plan, report.all)).collect(),
            findings: report.findings.iter().map(FindingJson::of).collect(),
            unjudged: report.unjudged.iter().map(UnjudgedJson::of).collect(),
            notes: report.notes,
        }
    }
}

#[derive(Serialize)]
struct ToolJson {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct RevisionJson<'a> {
    revision: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotJson<'a> {
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    captured_at: Option<&'a str>,
    cluster: &'a str,
    objects: usize,
}

impl<'a> SnapshotJson<'a> {
    fn of(snapshot: &'a SnapshotSource) -> Self {
        Self {
            source: &snapshot.source,
            captured_at: snapshot.captured_at.as_deref(),
            cluster: &snapshot.cluster,
            objects: snapshot.objects,
        }
    }
}

#[derive(Serialize)]
struct SummaryJson {
    applications: usize,
    create: usize,
    update: usize,
    prune: usize,
    delete: usize,
    leftover: usize,
    retain: usize,
    confirm: usize,
    orphan: usize,
    errors: usize,
    warnings: usize,
    infos: usize,
    suppressed: usize,
    unjudged: usize,
}

impl SummaryJson {
    fn of(summary: &Summary) -> Self {
        let changes = summary.changes;
        Self {
            applications: summary.applications,
            create: changes.create,
            update: changes.update,
            prune: changes.prune,
            delete: changes.delete,
            leftover: changes.leftover,
            retain: changes.retain,
            confirm: changes.confirm,
            orphan: changes.orphan,
            errors: summary.errors,
            warnings: summary.warnings,
            infos: summary.infos,
            suppressed: summary.suppressed,
            unjudged: summary.unjudged,
        }
    }
}

#[derive(Serialize)]
struct ApplicationJson<'a> {
    name: &'a str,
    namespace: &'a str,
    project: &'a str,
    destination: DestinationJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<ApplicationOriginJson<'a>>,
    change: &'static str,
    sync: SyncJson<'a>,
    basis: &'static str,
    changes: Vec<ChangeJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<ConditionJson<'a>>,
}

impl<'a> ApplicationJson<'a> {
    fn of(plan: &'a SyncPlan, all: bool) -> Self {
        let application = &plan.application;
        let destination = &application.spec.destination;
        Self {
            name: &application.id.name,
            namespace: &application.id.namespace,
            project: &application.spec.project,
            destination: DestinationJson {
                server: filled(&plan.server),
                namespace: &destination.namespace,
                name: filled(&destination.name),
            },
            origin: plan.origin.as_ref().map(|origin| ApplicationOriginJson { path: &origin.path, line: origin.line }),
            change: plan.change.as_str(),
            sync: SyncJson {
                mode: plan.sync.mode.as_str(),
                prune: plan.sync.prune,
                self_heal: plan.sync.self_heal,
                reason: &plan.sync.reason,
                starts: plan.sync.starts,
            },
            basis: plan.basis.as_str(),
            changes: listed(plan, all).map(ChangeJson::of).collect(),
            conditions: plan.conditions.iter().map(ConditionJson::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct DestinationJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    namespace: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct ApplicationOriginJson<'a> {
    path: &'a str,
    line: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SyncJson<'a> {
    mode: &'static str,
    prune: bool,
    self_heal: bool,
    reason: &'a str,
    starts: bool,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    action: &'static str,
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    phase: &'static str,
    wave: i64,
    order: usize,
    introduced: bool,
    /// Only where it is so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    earlier: bool,
    reached: bool,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginJson<'a>>,
    diff: Vec<FieldJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    cascade: Vec<DependentJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stays: Vec<DependentJson<'a>>,
}

impl<'a> ChangeJson<'a> {
    fn of(change: &'a Change) -> Self {
        let key = &change.key;
        Self {
            action: change.action.as_str(),
            group: &key.group,
            version: &change.version,
            kind: &key.kind,
            namespace: &key.namespace,
            name: &key.name,
            phase: change.phase.as_str(),
            wave: change.wave,
            order: change.order,
            introduced: change.introduced,
            earlier: change.earlier,
            reached: change.reached,
            reason: change.reason.to_string(),
            origin: change.origin().filter(|origin| !origin.is_elsewhere()).map(OriginJson::of),
            diff: change.diff.iter().map(FieldJson::of).collect(),
            cluster: change.cluster.as_deref(),
            cascade: change.cascade.iter().map(DependentJson::of).collect(),
            stays: change.stays.iter().map(DependentJson::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct OriginJson<'a> {
    path: &'a str,
    line: u32,
    revision: &'static str,
}

impl<'a> OriginJson<'a> {
    fn of(origin: &'a Origin) -> Self {
        Self { path: &origin.path, line: origin.line, revision: origin.side.as_str() }
    }
}

/// A field that is absent on one side has no member for it; a field that is there and null has a null member.
#[derive(Serialize)]
struct FieldJson<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    #[serde(rename = "ownerTime", skip_serializing_if = "Option::is_none")]
    owner_time: Option<&'a str>,
}

impl<'a> FieldJson<'a> {
    fn of(field: &'a FieldChange) -> Self {
        Self {
            path: &field.path,
            live: field.live.as_ref(),
            target: field.target.as_ref(),
            owner: field.owner.as_deref(),
            owner_time: field.owner_time.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct DependentJson<'a> {
    #[serde(flatten)]
    key: KeyJson<'a>,
    because: &'static str,
    depth: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
}

impl<'a> DependentJson<'a> {
    fn of(dependent: &'a Dependent) -> Self {
        Self {
            key: KeyJson::of(&dependent.key),
            because: dependent.tie.as_str(),
            depth: dependent.depth,
            application: dependent.application.as_deref(),
            cluster: dependent.cluster.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct KeyJson<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> KeyJson<'a> {
    fn of(key: &'a ResourceKey) -> Self {
        Self { group: &key.group, kind: &key.kind, namespace: &key.namespace, name: &key.name }
    }
}

#[derive(Serialize)]
struct ConditionJson<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<KeyJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginJson<'a>>,
}

impl<'a> ConditionJson<'a> {
    fn of(condition: &'a Condition) -> Self {
        Self {
            kind: condition.kind,
            message: &condition.message,
            resource: condition.key.as_ref().map(KeyJson::of),
            origin: condition.origin.as_ref().filter(|origin| !origin.is_elsewhere()).map(OriginJson::of),
        }
    }
}

#[derive(Serialize)]
struct FindingJson<'a> {
    rule: &'a str,
    severity: &'static str,
    message: &'a str,
    help: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<KeyJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<LocationJson<'a>>,
    introduced: bool,
    basis: &'static str,
    fingerprint: String,
    fixable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressed: Option<SuppressionJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedJson<'a>>,
}

impl<'a> FindingJson<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self {
            rule: &finding.rule,
            severity: finding.severity.as_str(),
            message: &finding.message,
            help: &finding.help,
            application: finding.application.as_deref(),
            resource: finding.resource.as_ref().map(KeyJson::of),
            location: finding.locations.first().map(LocationJson::of),
            introduced: finding.introduced,
            basis: if finding.assumed { "assumed" } else { "live" },
            fingerprint: finding.fingerprint(),
            fixable: finding.fixable,
            suppressed: finding.suppressed.as_ref().map(SuppressionJson::of),
            related: finding.locations.iter().skip(1).map(RelatedJson::of).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LocationJson<'a> {
    path: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    revision: &'static str,
}

impl<'a> LocationJson<'a> {
    fn of(location: &'a Location) -> Self {
        Self {
            path: &location.path,
            line: location.line,
            column: location.column,
            end_line: location.end_line,
            end_column: location.end_column,
            revision: location.side.as_str(),
        }
    }
}

#[derive(Serialize)]
struct RelatedJson<'a> {
    #[serde(flatten)]
    location: LocationJson<'a>,
    label: &'a str,
}

impl<'a> RelatedJson<'a> {
    fn of(location: &'a Location) -> Self {
        Self { location: LocationJson::of(location), label: &location.label }
    }
}

#[derive(Serialize)]
struct SuppressionJson<'a> {
    by: &'static str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<&'a str>,
}

impl<'a> SuppressionJson<'a> {
    fn of(suppression: &'a Suppression) -> Self {
        Self { by: suppression.by, reason: &suppression.reason, expires: suppression.expires.as_deref() }
    }
}

#[derive(Serialize)]
struct UnjudgedJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
    what: &'a str,
    why: &'a str,
}

impl<'a> UnjudgedJson<'a> {
    fn of(unjudged: &'a Unjudged) -> Self {
        Self { application: unjudged.application.as_deref(), what: &unjudged.what, why: &unjudged.why }
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
