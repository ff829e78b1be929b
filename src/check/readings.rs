//! Applications read once: most of them stand in the same file, with the same contents, at both sides.
//!
//! Takes objects; hands on the Applications that they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::Value;

use crate::argocd::{Application, ApplicationError};

/// What was read, by the address of the object. Each Application holds its object, so that no address is used twice.
#[derive(Default)]
pub(super) struct Readings(Mutex<HashMap<usize, Arc<Application>>>);

impl Readings {
    /// The Application that an object is; without a namespace of its own it is in `default_namespace`, which is the same in all calls.
    ///
    /// # Errors
    /// What keeps the object from being one.
    pub(super) fn read(&self, object: &Arc<Value>, default_namespace: &str) -> Result<Arc<Application>, ApplicationError> {
        let address = Arc::as_ptr(object).addr();
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&address) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(Application::read(Arc::clone(object), default_namespace)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(address, Arc::clone(&read));
        Ok(read)
    }

    /// Reads many at the same time; what is wrong with one is told when it is asked for.
    pub(super) fn read_ahead<'o>(&self, objects: impl ParallelIterator<Item = &'o Arc<Value>>, default_namespace: &str) {
        objects.for_each(|object| {
            let _ = self.read(object, default_namespace);
        });
    }
}
