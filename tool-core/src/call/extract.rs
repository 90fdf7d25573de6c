//! What a `#[context]` parameter may be.

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::progress::Progress;
use serde_json::Value;
use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A type that a tool can take from the run context instead of from the model.
///
/// The parameter bears `#[context]`; `&RunContext` and `RunContext` need no mark.
///
/// ```
/// use tool_core::{FromRunContext, RunContext, ToolError, tool};
///
/// struct Caller(String);
///
/// impl FromRunContext<'_> for Caller {
///     fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
///         ctx.user_data::<String>().cloned().map(Caller).ok_or_else(|| ToolError::auth("nobody is signed in"))
///     }
/// }
///
/// /// Greet whoever is calling.
/// #[tool]
/// fn greet(#[context] caller: Caller) -> String {
///     format!("Hello {}", caller.0)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the run context",
    note = "a `#[context]` parameter implements `FromRunContext`: `&RunContext`, `CancellationToken`, `Progress`, `UserData<T>`, `State`, or a type of your own"
)]
pub trait FromRunContext<'a>: Sized {
    /// Takes it, or says why the call cannot run.
    fn from_run_context(ctx: &'a RunContext) -> Result<Self, ToolError>;
}

impl<'a> FromRunContext<'a> for &'a RunContext {
    fn from_run_context(ctx: &'a RunContext) -> Result<Self, ToolError> {
        Ok(ctx)
    }
}

impl FromRunContext<'_> for RunContext {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(ctx.clone())
    }
}

impl FromRunContext<'_> for CancellationToken {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(ctx.cancellation().clone())
    }
}

impl FromRunContext<'_> for Progress {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(ctx.progress().clone())
    }
}

impl<'a, T: FromRunContext<'a>> FromRunContext<'a> for Option<T> {
    fn from_run_context(ctx: &'a RunContext) -> Result<Self, ToolError> {
        Ok(T::from_run_context(ctx).ok())
    }
}

/// A value that the host put into the run context with [`user_data`](super::RunContextBuilder::user_data); derefs to it.
///
/// Where there is none the call answers INTERNAL and the log tells. Take an `Option<UserData<T>>` to decide yourself, or
/// implement [`FromRunContext`] for a type of your own to answer AUTH.
#[derive(Debug)]
pub struct UserData<T>(pub Arc<T>);

impl<T> Clone for UserData<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for UserData<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> FromRunContext<'_> for UserData<T> {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        ctx.user_data_map().shared().map(Self).map_err(ToolError::internal)
    }
}

/// The session's state, read-only: tools change it by returning intents.
#[derive(Clone, Debug)]
pub struct SessionStateHandle(Arc<Value>);

impl SessionStateHandle {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }
}

impl FromRunContext<'_> for SessionStateHandle {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(Self(ctx.shared_state()))
    }
}

// ---- Values that the host hands to its tools, one a type.

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
