//! Tools from OpenAPI documents: each operation of version 3.0 and 3.1 is a governed tool, or is
//! refused with the reason.
//!
//! See [`OpenApi`].

mod answer;
mod document;
mod encode;
mod headers;
mod multipart;
mod names;
mod numbers;
mod plan;
mod redact;
mod refusal;
mod request;
mod schemas;
mod security;
mod server;
mod style;
mod toolset;
mod yaml;

pub use crate::document::Operation;
pub use crate::refusal::MAX_DOCUMENT;
pub use crate::refusal::{OpenApiError, RefusalReason, RefusedOperation};
pub use crate::toolset::{OfferedOperation, OpenApi, OpenApiToolset};
