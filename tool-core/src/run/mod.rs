//! What a running tool sees of the run that it is part of.

mod context;
mod extract;
mod progress;
mod user_data;

pub use context::{RunContext, RunContextBuilder};
pub use extract::{FromRunContext, State, UserData};
pub use progress::{Progress, Update};

pub use tokio_util::sync::CancellationToken;
