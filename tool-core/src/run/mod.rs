//! What a running tool sees of the run that it is part of.

mod builder;
mod context;
mod extract;
mod progress;
mod scope;
mod user_data;

pub use builder::RunContextBuilder;
pub use context::RunContext;
pub use extract::{FromRunContext, State, UserData};
pub use progress::{Progress, Update};

pub(crate) use scope::{Boxed, Governor, Run, Scope};
pub(crate) use user_data::UserDataMap;

pub use tokio_util::sync::CancellationToken;
