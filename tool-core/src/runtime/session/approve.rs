//! A person's word on a call that waits for it. R-C1, R-C2

use super::core::Core;
use crate::call::{ToolCall, refused};
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::runtime::pipeline::{self, nothing_waits};
use crate::runtime::store::PendingCall;
use crate::runtime::token::Signer;
use std::sync::Arc;
use tokio::time::Instant;

pub(super) async fn approve(core: &Arc<Core>, token: &str) -> ToolResponse {
    match waiting(core, token).await {
        Ok(pending) => {
            core.call(ToolCall::new(pending.call_id, pending.tool, pending.arguments).approved(&pending.id)).await
        }
        Err(error) => unanswerable(error),
    }
}

pub(super) async fn deny(core: &Arc<Core>, token: &str) -> ToolResponse {
    let began = Instant::now();
    let pending = match waiting(core, token).await {
        Ok(pending) => pending,
        Err(error) => return unanswerable(error),
    };
    let call = ToolCall::new(&pending.call_id, &*pending.tool, "");
    match core.store(core.record.consume(&pending.id)).await {
        Ok(true) => {
            let message =
                format!("a person has refused this call of `{}`; it was not run. Do not call it again.", pending.tool);
            refused(&call, ToolError::new(ErrorKind::Denied, message, false), began)
        }
        Ok(false) => refused(&call, nothing_waits(), began),
        Err(error) => unanswerable(store_down(core, &error)),
    }
}

#[cfg(feature = "agents")]
impl super::Session {
    /// The answer to a token of another session.
    pub(crate) fn nothing_waits() -> ToolResponse {
        unanswerable(nothing_waits())
    }

    /// Whether a call waits under this id. A store that does not answer has not said that none does.
    pub(crate) async fn waits(&self, id: &str) -> bool {
        self.0.store(self.0.record.pending(id)).await.map_or(true, |pending| pending.is_some())
    }

    /// Whether a call waits under this very token, or the answer where none does.
    pub(crate) async fn awaits(&self, token: &str) -> Result<(), ToolResponse> {
        waiting(&self.0, token).await.map(drop).map_err(unanswerable)
    }
}

/// The call that waits under a token, if the token is one of ours and for this session.
async fn waiting(core: &Core, token: &str) -> Result<PendingCall, ToolError> {
    let Some(_inside) = core.drain.enter() else { return Err(pipeline::over()) };
    let id = Signer::id_of(token).ok_or_else(nothing_waits)?;
    let found = core.store(core.record.pending(id)).await.map_err(|error| store_down(core, &error))?;
    let pending = found.ok_or_else(nothing_waits)?;
    let ours = pending.session == core.id.as_str()
        && *pending.principal == *core.principal
        && pending.mode == core.mode
        && *pending.version == *core.toolbox.version;
    if ours && core.shared.signer.verify(token, &pending) { Ok(pending) } else { Err(nothing_waits()) }
}

fn store_down(core: &Core, error: &crate::runtime::store::StoreError) -> ToolError {
    tracing::error!(session = %core.id.as_str().escape_debug(), %error, "a token could not be looked up");
    ToolError::transient("the approval cannot be looked up at the moment, so nothing was done; try again")
}

/// An answer without a call.
fn unanswerable(error: ToolError) -> ToolResponse {
    refused(&ToolCall::new("", "", ""), error, Instant::now())
}
