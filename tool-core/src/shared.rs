//! What tool-adapters shares with this crate. Not public: it changes without notice.

pub use crate::pointer::{child, percent_decoded};
pub use crate::runtime::PrometheusText;
pub use crate::schema::walk::{LIST, NAMED, ONE, is_annotation, is_schema};
pub use crate::text::hex;

use crate::response::{ErrorKind, ToolError};

#[cfg(feature = "agents")]
pub use crate::agents::shared::{agent_error, open_text, seal_text};

/// The error of a model that nobody listens to any longer.
pub fn cancelled(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, message, false)
}
