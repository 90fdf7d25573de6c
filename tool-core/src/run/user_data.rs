//! Values that the host hands to its tools, one a type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::sync::Arc;

/// One value of each type.
#[derive(Clone, Default)]
pub(crate) struct UserDataMap(HashMap<TypeId, Arc<dyn Any + Send + Sync>, rustc_hash::FxBuildHasher>);

impl UserDataMap {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(crate) fn shared<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, String> {
        let found = self.0.get(&TypeId::of::<T>()).cloned();
        found.and_then(|value| value.downcast().ok()).ok_or_else(|| {
            let name = type_name::<T>();
            format!(
                "no user data of type `{name}` in the run context; put it in with `RunContext::builder().user_data(..)`"
            )
        })
    }
}
