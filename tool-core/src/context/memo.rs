//! What others have made of a context, kept with it.

use std::any::{Any, TypeId};
use std::sync::{Arc, PoisonError, RwLock};

type Kept = (TypeId, Arc<dyn Any + Send + Sync>);

/// One value of each type.
#[derive(Default)]
pub(super) struct Memo(RwLock<Vec<Kept>>);

impl Memo {
    pub(super) fn get_or_default<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        if let Some(found) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return found;
        }
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        find(&kept).unwrap_or_else(|| {
            let made = Arc::new(T::default());
            kept.push((TypeId::of::<T>(), Arc::clone(&made) as Arc<dyn Any + Send + Sync>));
            made
        })
    }
}

fn find<T: Any + Send + Sync>(kept: &[Kept]) -> Option<Arc<T>> {
    let (_, value) = kept.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
    Arc::clone(value).downcast().ok()
}
