//! A call that waits for a person's word.

use crate::tool::Mode;
use serde::{Deserialize, Serialize};

/// A call that waits for a person's word, as a store keeps it. Another process can run it: it holds all that there is to
/// know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// Under which it waits: 32 hexadecimal digits.
    pub id: String,
    /// For whom the session speaks; empty where the host does not tell.
    pub principal: String,
    /// The session's id.
    pub session: String,
    /// The session's mode when it was asked.
    pub mode: Mode,
    /// The version of the tools when it was asked.
    pub version: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments in canonical form.
    pub arguments: String,
    /// When it expires, in milliseconds since 1970 by the clock of who asked. For people; the store keeps the time.
    pub expires_at: u64,
}
