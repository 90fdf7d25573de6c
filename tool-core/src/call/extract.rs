//! Types that a `#[context]` parameter can take from the run context.

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::progress::Progress;
use serde_json::Value;
use std::any::type_name;
use std::ops::Deref;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A type that a tool takes from the run context instead of from the model.
///
/// The parameter is marked `#[context]`; `&RunContext` and `RunContext` need no mark.
///
/// ```
/// use tool_core::{FromRunContext, RunContext, ToolError, tool};
///
/// struct Caller(String);
///
/// impl FromRunContext<'_> for Caller {
///     fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
///         ctx.user_data::<String>().cloned().map(Caller).ok_or_else(|| ToolError::auth("the user is not signed in"))
///     }
/// }
///
/// /// Greet the user.
/// #[tool]
/// fn greet(#[context] caller: Caller) -> String {
///     format!("Hello {}", caller.0)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the run context",
    note = "a `#[context]` parameter implements `FromRunContext`: `&RunContext`, `CancellationToken`, `Progress`, `UserData<T>`, `SessionStateHandle`, or your own type"
)]
pub trait FromRunContext<'a>: Sized {
    /// Takes the value, or returns the error with which the call fails.
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

/// A value that the host put into the run context with [`user_data`](super::RunContextBuilder::user_data). It derefs to
/// the value.
///
/// Where the host has set none, the call fails with INTERNAL and the reason is logged. Take an `Option<UserData<T>>` to
/// handle that case in the tool, or implement [`FromRunContext`] for your own type to fail with AUTH.
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
        ctx.user_data_shared().map(Self).ok_or_else(|| {
            let name = type_name::<T>();
            ToolError::internal(format!(
                "no user data of type `{name}` in the run context; add it with `RunContext::builder().user_data(..)`"
            ))
        })
    }
}

/// The session's state, read-only. Tools change it by returning intents.
#[derive(Clone, Debug)]
pub struct SessionStateHandle(Arc<Value>);

impl SessionStateHandle {
    /// Returns the value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }
}

impl FromRunContext<'_> for SessionStateHandle {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(Self(ctx.shared_state()))
    }
}
