//! One copy of each text that many objects share: groups, kinds, namespaces, UIDs of owners.

use std::collections::HashSet;
use std::sync::Arc;

/// Hands out shared texts.
#[derive(Debug, Default)]
pub(super) struct Interner(HashSet<Arc<str>>);

impl Interner {
    /// The shared copy of a text.
    pub(super) fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.0.get(text) {
            return shared.clone();
        }
        let shared: Arc<str> = text.into();
        self.0.insert(shared.clone());
        shared
    }
}
