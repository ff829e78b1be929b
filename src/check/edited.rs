//! The edit of an Application's own source that brings about what a finding says.
//!
//! Takes a place in a file that the change leaves alone; hands on the field of the Application that the change alters.

use serde_json::Value;

use super::deciding::narrowed;
use crate::argocd::AppId;
use crate::finding::Place;
use crate::inventory::Inventory;
use crate::manifest::Origin;
use crate::manifest::pointer::escape;

/// Fields of `spec` that say what is rendered.
const FIELDS: [&str; 3] = ["source", "sources", "sourceHydrator"];

/// The field of the first of these Applications whose source the change edits.
pub(super) fn cause(inventory: &Inventory, owners: &[AppId], place: &Place) -> Option<Place> {
    owners.iter().find_map(|id| {
        let entry = inventory.entries.get(id)?;
        let (base, head) = (entry.base.as_ref()?, entry.head.as_ref()?);
        let is_readable = |origin: &Origin| !origin.rendered.as_ref().is_some_and(|rendered| rendered.is_program());
        if base.generated.is_some()
            || head.generated.is_some()
            || !is_readable(&base.manifest.origin)
            || !is_readable(&head.manifest.origin)
        {
            return None;
        }
        let (before, after) = (base.manifest.object.get("spec")?, head.manifest.object.get("spec")?);
        let field = FIELDS.iter().find(|field| before.get(**field) != after.get(**field))?;
        let mut path = vec!["spec".to_owned(), (*field).to_owned()];
        let of = |spec: &Value| spec.get(*field).cloned();
        let (_, after) = narrowed(of(before), of(after), &mut path);
        let manifest = if after.is_some() { &head.manifest } else { &base.manifest };
        let pointer = path.iter().map(|name| format!("/{}", escape(name))).collect();
        Some(Place { origin: manifest.origin.clone(), pointer, label: place.label.clone() })
    })
}
