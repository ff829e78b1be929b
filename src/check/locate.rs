//! Turns the places of findings into lines, and keeps the texts that they point into.
//!
//! Takes findings with symbolic places; fills in their locations. The texts that are kept show no value of a Secret.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::deciding::{Decider, Deciders};
use super::overlay::Overlays;
use super::revisions::Revisions;
use super::sources::Sources;
use super::{Outcome, edited, mask};
use crate::argocd::{AppId, Application, Source};
use crate::finding::{Finding, Location, Place, Suppression};
use crate::inventory::Inventory;
use crate::manifest::reader;
use crate::manifest::span::{self, line_column, locate_nearest};
use crate::manifest::{Origin, Pointer, Side};
use crate::rules::suppress::{reason_in_comment, settle};

/// Texts of files, each read once.
type Texts = BTreeMap<(Side, Arc<str>), Arc<str>>;

/// Fills in the locations of all findings.
pub(super) fn locate(
    outcome: &mut Outcome,
    sources: &Sources<'_>,
    effective: &BTreeMap<(Side, AppId), Arc<Application>>,
    counts_of_this_change: bool,
) {
    let revisions = sources.revisions;
    let mut texts = Texts::new();
    let mut deciders = Deciders::new(sources, effective, &outcome.inventory, &outcome.plans);
    let mut overlays = Overlays::new(sources, effective);
    for finding in &mut outcome.findings {
        let mut values = Vec::new();
        let mut first = 0;
        for (index, place) in finding.places.iter().enumerate() {
            let decision = deciders.decision(finding, place, &mut |origin| text_of(origin, &mut texts, revisions));
            let (changed, unchanged): (Vec<&Decider>, Vec<&Decider>) = decision.deciders.iter().partition(|decider| decider.is_changed);
            let at = |deciders: &[&Decider], texts: &mut Texts| -> Vec<Location> {
                deciders.iter().filter_map(|decider| set_at(decider, texts, revisions)).collect()
            };
            let decides = at(&changed, &mut texts);
            let instead = of_fetched_chart(place, finding.application.as_deref(), &outcome.inventory, revisions);
            let instead = if decides.is_empty() { instead } else { instead.filter(|_| !place.origin.is_elsewhere()) };
            let place = instead.as_ref().unwrap_or(place);
            let of_patch = patched(place, &mut texts, revisions);
            let is_untouched = !revisions.changes.touches(&place.origin.path) && decides.is_empty() && of_patch.is_none();
            let cause = if index == 0 && finding.introduced && is_untouched {
                let owners = deciders.owners(finding, &place.origin);
                overlays.cause(finding, place, &owners).or_else(|| edited::cause(&outcome.inventory, &owners, place))
            } else {
                None
            };
            let cause = cause.and_then(|cause| Some(location(&cause, None, &text_of(&cause.origin, &mut texts, revisions)?)));
            let own = of_patch.or_else(|| Some(location(place, decision.field.as_ref(), &text_of(&place.origin, &mut texts, revisions)?)));
            finding.locations.extend(decides.into_iter().chain(cause));
            finding.locations.extend(own);
            finding.locations.extend(at(&unchanged, &mut texts));
            if index == 0 {
                first = finding.locations.len();
            }
            values.extend(decision.deciders.into_iter().map(|decider| decider.name));
        }
        name_values(finding, values);
        if finding.suppressed.is_none()
            && let Some((suppression, of_this_change)) = commented(finding, first, &texts, revisions)
        {
            settle(finding, suppression, of_this_change, counts_of_this_change);
        }
    }
    outcome.texts = shown(texts, &outcome.findings);
}

/// The texts as people may see them.
fn shown(texts: Texts, findings: &[Finding]) -> Texts {
    let mut pointed: BTreeMap<(Side, &str), BTreeSet<u32>> = BTreeMap::new();
    for place in findings.iter().flat_map(|finding| &finding.locations) {
        pointed.entry((place.side, &*place.path)).or_default().insert(place.line);
    }
    let none = BTreeSet::new();
    let masked = texts.into_iter().map(|((side, path), text)| {
        let text = mask::mask(&path, &text, pointed.get(&(side, &*path)).unwrap_or(&none)).into();
        ((side, path), text)
    });
    masked.collect()
}

/// Says in words which values decide.
fn name_values(finding: &mut Finding, mut names: Vec<String>) {
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let named: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let said = match named.as_slice() {
        [] => return,
        [one] => format!("The chart's value {one} decides this."),
        [first @ .., last] => format!("The chart's values {} and {last} decide this.", first.join(", ")),
    };
    finding.help = format!("{} {said}", finding.help).trim().to_owned();
}

/// Where a deciding value is set.
fn set_at(decider: &Decider, texts: &mut Texts, revisions: &Revisions) -> Option<Location> {
    let place = decider.place.as_ref()?;
    let text = text_of(&place.origin, texts, revisions)?;
    let Some(line) = decider.line else { return Some(location(place, None, &text)) };
    let span = first_line(&text, 0, line);
    let content = text.get(span.clone()).unwrap_or_default();
    let start = span.start + (content.len() - content.trim_start().len());
    Some(at_span(place, start..start + content.trim().len(), &text))
}

/// Adds findings about files of the repository, in their order.
pub(super) fn add(mut findings: Vec<Finding>, outcome: &mut Outcome, revisions: &Revisions) {
    let mut texts = Texts::new();
    findings.retain(|finding| {
        !outcome
            .findings
            .iter()
            .any(|other| other.rule == finding.rule && other.message == finding.message && other.places.first() == finding.places.first())
    });
    for finding in &mut findings {
        let found = finding.places.iter().filter_map(|place| Some(location(place, None, &text_of(&place.origin, &mut texts, revisions)?)));
        finding.locations.extend(found);
    }
    outcome.findings.append(&mut findings);
    crate::rules::sort(&mut outcome.findings);
    let texts = shown(texts, &outcome.findings);
    outcome.texts.extend(texts);
}

/// What stands for a place in a chart that is not in the repository: a value file that the change alters, else the Application that names the
/// chart.
fn of_fetched_chart(place: &Place, application: Option<&str>, inventory: &Inventory, revisions: &Revisions) -> Option<Place> {
    let rendered = place.origin.rendered.as_deref().filter(|_| place.origin.is_elsewhere())?;
    let at = |origin: &Origin, pointer: String| Place { origin: origin.clone(), pointer, label: place.label.clone() };
    if let Some(values) = rendered.others.iter().find(|values| revisions.changes.touches(&values.path)) {
        return Some(at(values, String::new()));
    }
    let (namespace, name) = application?.split_once('/')?;
    let definition = inventory.entries.get(&AppId::new(namespace, name))?.definition()?;
    let sources = definition.application.spec.sources();
    let is_it = |source: &Source| !source.chart.is_empty() && place.origin.path.starts_with(&format!("{}-", source.chart));
    let index = sources.iter().position(is_it)?;
    let named = if definition.application.spec.is_multi_source() { format!("sources/{index}") } else { "source".to_owned() };
    Some(at(&definition.manifest.origin, format!("/spec/{named}/targetRevision")))
}

fn text_of(origin: &Origin, texts: &mut Texts, revisions: &Revisions) -> Option<Arc<str>> {
    let key = (origin.side, Arc::clone(&origin.path));
    if let Some(known) = texts.get(&key) {
        return Some(Arc::clone(known));
    }
    let bytes = revisions.tree(origin.side).read(&origin.path).ok()?;
    let text: Arc<str> = (*reader::decode(&bytes).text).into();
    texts.insert(key, Arc::clone(&text));
    Some(text)
}

/// Where a patch sets the field, if one does: it decides, not the file that is patched. Positions in lists are other ones in a patch.
fn patched(place: &Place, texts: &mut Texts, revisions: &Revisions) -> Option<Location> {
    let rendered = place.origin.rendered.as_deref().filter(|rendered| !rendered.is_program())?;
    let tokens = place.pointer.split('/').skip(1);
    if place.pointer.is_empty() || tokens.into_iter().any(|token| token.parse::<usize>().is_ok()) {
        return None;
    }
    rendered.others.iter().find_map(|patch| {
        let text = text_of(patch, texts, revisions)?;
        let pointer = Pointer::parse(&format!("{}{}", patch.within, place.pointer)).ok()?;
        span::locate(&text, patch.document.clone(), &pointer)?;
        Some(location(&Place { origin: patch.clone(), ..place.clone() }, None, &text))
    })
}

/// The waiver in a comment on one of the first lines that are reported or on the line above it, and whether the change itself adds it.
fn commented(finding: &Finding, first: usize, texts: &Texts, revisions: &Revisions) -> Option<(Suppression, bool)> {
    finding.locations.iter().take(first.max(1)).find_map(|location| commented_at(finding, location, texts, revisions))
}

fn commented_at(finding: &Finding, location: &Location, texts: &Texts, revisions: &Revisions) -> Option<(Suppression, bool)> {
    let text = texts.get(&(location.side, Arc::clone(&location.path)))?;
    let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
    let near = text.lines().skip(line.saturating_sub(1)).take(if line == 0 { 1 } else { 2 });
    let (waiver, reason) = near.filter_map(|line| Some((line, reason_in_comment(line, &finding.rule)?))).next()?;
    let stood_before = || {
        let before = revisions.base.read(&location.path).ok()?;
        let comment = waiver.split_once('#').map(|(_, comment)| comment.trim())?;
        Some(reader::decode(&before).text.lines().any(|line| line.split_once('#').is_some_and(|(_, other)| other.trim() == comment)))
    };
    let of_this_change = location.side == Side::Head && !stood_before().unwrap_or(false);
    Some((Suppression { by: "comment", reason, expires: None }, of_this_change))
}

/// A place in lines; `field` is where a template writes the field, if that is known.
fn location(place: &Place, field: Option<&Range<usize>>, text: &Arc<str>) -> Location {
    let document = place.origin.document.clone();
    let document = if document.is_empty() { 0..text.len() } else { document };
    let pointer = Pointer::parse(&format!("{}{}", place.origin.within, place.pointer)).unwrap_or_else(|_| Pointer::root());
    // In a template or a program there are no fields to look up.
    let is_program = place.origin.rendered.as_ref().is_some_and(|rendered| rendered.is_program());
    let span = if let Some(field) = field.filter(|field| is_program && text.get((*field).clone()).is_some()) {
        field.clone()
    } else if is_program || (place.pointer.is_empty() && place.origin.within.is_empty()) {
        first_line(text, document.start, place.origin.line)
    } else {
        match locate_nearest(text, document.clone(), &pointer) {
            Some(found) => entry_span(text, found.key.as_ref(), &found.value),
            None => first_line(text, document.start, place.origin.line),
        }
    };
    at_span(place, span, text)
}

fn at_span(place: &Place, span: Range<usize>, text: &str) -> Location {
    let (line, column) = line_column(text, span.start);
    let (end_line, end_column) = line_column(text, span.end);
    Location {
        path: Arc::clone(&place.origin.path),
        side: place.origin.side,
        line,
        column,
        end_line,
        end_column,
        span,
        label: place.label.clone(),
    }
}

/// Key and value where they stand on one line, else the key alone.
fn entry_span(text: &str, key: Option<&Range<usize>>, value: &Range<usize>) -> Range<usize> {
    let start = key.map_or(value.start, |key| key.start);
    let one_line = text.get(start..value.end).is_some_and(|entry| !entry.trim_end().contains('\n'));
    match key {
        Some(key) if !one_line => key.clone(),
        _ => {
            let end =
                if one_line { value.end } else { value.start + text.get(value.clone()).and_then(|value| value.find('\n')).unwrap_or(0) };
            start..end.max(start)
        }
    }
}

/// The first line with content of a document.
fn first_line(text: &str, from: usize, line: u32) -> Range<usize> {
    let (first, _) = line_column(text, from);
    let mut start = from;
    for _ in first..line {
        start = match text.get(start..).and_then(|rest| rest.find('\n')) {
            Some(newline) => start + newline + 1,
            None => break,
        };
    }
    let length = text.get(start..).map_or(0, |rest| rest.find('\n').unwrap_or(rest.len()));
    start..start + length
}
