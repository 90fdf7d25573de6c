//! The declarations that were made of a context.

use super::{Declarations, DeclareOptions};
use crate::Provider;
use std::sync::{PoisonError, RwLock};

type Key = (Provider, DeclareOptions);

/// Kept with the context, by provider and options: a handful of each.
#[derive(Default)]
pub(super) struct Cache(RwLock<Vec<(Key, Declarations)>>);

impl Cache {
    pub(super) fn get_or_make(
        &self,
        provider: Provider,
        options: DeclareOptions,
        declare: impl FnOnce() -> Declarations,
    ) -> Declarations {
        let key = (provider, options);
        if let Some(found) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner), key) {
            return found;
        }
        // Made outside the lock: two that ask at once make it twice, and the first is kept.
        let made = declare();
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        find(&kept, key).unwrap_or_else(|| {
            kept.push((key, made.clone()));
            made
        })
    }
}

fn find(kept: &[(Key, Declarations)], key: Key) -> Option<Declarations> {
    kept.iter().find(|(known, _)| *known == key).map(|(_, made)| made.clone())
}
