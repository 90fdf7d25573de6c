//! The declarations of a server, with all that it has sent.

use serde_json::{Map, Value};

/// An entry of a list.
pub(crate) struct Declared<T> {
    pub(crate) item: T,
    /// The entry as the server has sent it, without the members that cannot be read.
    pub(crate) sent: Map<String, Value>,
}
