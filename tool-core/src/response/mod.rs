//! What a call answers: the response envelope, errors, intents, and what a tool may return.

mod content;
mod cut;
mod encode;
mod envelope;
mod error;
mod intent;
mod meta;
mod model;
mod output;
mod plain;
mod schema;
mod write;

pub use content::Content;
pub use cut::{SizeUnit, Truncated};
pub use envelope::ToolResponse;
pub use error::{ErrorBody, ErrorKind, IntoToolError, ToolError};
pub use intent::Intent;
pub use meta::{Confirmation, Meta, SCHEMA_VERSION};
pub use model::{ModelResult, ResultForm};
pub use output::{Form, IntoToolOutput, ToolOutput};

pub(crate) use cut::{bound, cut, narrow};
pub(crate) use encode::{List, encode, encode_tree};
pub(crate) use meta::{RareMeta, Slim, milliseconds};

/// What an internal error tells the model; its own text goes to the log.
pub(crate) const MASKED: &str = "An internal error occurred";
