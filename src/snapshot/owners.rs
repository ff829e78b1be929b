//! Who owns an object: its owner references and the owners that Argo CD infers without one.

use std::collections::HashMap;
use std::sync::Arc;

use super::intern::Interner;
use super::peek::{Pairs, Peek};
use crate::manifest::key::split_api_version;

/// An owner of an object, as the object names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
    /// Name; in the object's namespace, or cluster-wide.
    pub name: Arc<str>,
    /// UID; empty for inferred owners that nothing gives one.
    pub uid: Arc<str>,
    /// Whether it is the managing controller.
    pub controller: bool,
    /// Whether Argo CD infers the owner and the object has no reference to it.
    pub inferred: bool,
}

/// The owners an object shows by itself. A claim's StatefulSet is not among them: see [`ClaimTemplates`].
///
/// Source: Argo CD `gitops-engine/pkg/cache/references.go:resolveResourceReferences`.
pub(super) fn of(peek: &Peek<'_>, group: &str, interner: &mut Interner) -> Vec<Owner> {
    let references = &peek.metadata.owners.0;
    let mut owners: Vec<Owner> = references
        .iter()
        .map(|reference| Owner {
            group: interner.get(split_api_version(&reference.api_version).0),
            kind: interner.get(&reference.kind),
            name: interner.get(&reference.name),
            uid: interner.get(&reference.uid),
            controller: reference.controller,
            inferred: false,
        })
        .collect();
    if let Some((group, kind, name, uid)) = inferred(peek, group) {
        let [group, kind, name, uid] = [group, kind, name, uid].map(|text| interner.get(text));
        owners.push(Owner { group, kind, name, uid, controller: false, inferred: true });
    }
    owners
}

type Parts<'a> = (&'a str, &'a str, &'a str, &'a str);

fn inferred<'a>(peek: &'a Peek<'_>, group: &str) -> Option<Parts<'a>> {
    let annotations: &Pairs<'_> = &peek.metadata.annotations;
    let annotation = |name: &str| annotations.get(name).filter(|value| !value.is_empty());
    match (group, &*peek.kind) {
        ("", "Endpoints") if peek.metadata.owners.0.is_empty() => Some(("", "Service", &peek.metadata.name, "")),
        ("", "Secret") if peek.kind_of_secret == "kubernetes.io/service-account-token" => {
            let name = annotation("kubernetes.io/service-account.name")?;
            Some(("", "ServiceAccount", name, annotation("kubernetes.io/service-account.uid")?))
        }
        ("operators.coreos.com", "ClusterServiceVersion") => {
            Some(("operators.coreos.com", "OperatorGroup", annotation("olm.operatorGroup")?, ""))
        }
        _ => None,
    }
}

/// The claims that live StatefulSets make: `<template>-<statefulset>-<number>` in the StatefulSet's namespace.
///
/// Source: Argo CD `gitops-engine/pkg/cache/references.go:isStatefulSetChild`.
#[derive(Debug, Default)]
pub(super) struct ClaimTemplates {
    owners: HashMap<(Arc<str>, String), Vec<Owner>>,
}

impl ClaimTemplates {
    /// Notes a StatefulSet's templates.
    pub(super) fn add<'a>(&mut self, namespace: &Arc<str>, statefulset: &Owner, templates: impl Iterator<Item = &'a str>) {
        for template in templates {
            let stem = (namespace.clone(), format!("{template}-{}", statefulset.name));
            self.owners.entry(stem).or_default().push(statefulset.clone());
        }
    }

    /// The StatefulSets that a claim's name points to. Argo CD's pattern is not bound to the start of the name, so any beginning will do.
    pub(super) fn owners_of(&self, namespace: &Arc<str>, claim: &str) -> Vec<Owner> {
        let Some((stem, number)) = claim.rsplit_once('-') else { return Vec::new() };
        if self.owners.is_empty() || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Vec::new();
        }
        let starts = stem.char_indices().map(|(start, _)| start);
        let stems = starts.map(|start| (namespace.clone(), stem[start..].to_owned()));
        stems.filter_map(|stem| self.owners.get(&stem)).flatten().cloned().collect()
    }
}
