//! JSON Schema: the subschemas of a schema, its references, JSON pointers, and the rewrite of older
//! drafts.
//!
//! The schema of a tool ([`ToolDefinition::parameters`](crate::ToolDefinition::parameters)) is what
//! the tool accepts: it is published to models, and enforced. It is of draft 2020-12.

pub(crate) mod branches;
pub(crate) mod build;
pub(crate) mod compiled;
pub(crate) mod constraints;
pub(crate) mod drafts;
pub(crate) mod evaluation;
pub(crate) mod example;
pub(crate) mod flattened;
pub(crate) mod flattened_union;
pub(crate) mod format;
pub(crate) mod generator;
pub(crate) mod leaf;
pub(crate) mod meta;
pub(crate) mod node;
pub(crate) mod normalize;
pub(crate) mod nullable;
pub(crate) mod parameter;
pub(crate) mod pattern;
pub(crate) mod probe;
pub(crate) mod references;
pub(crate) mod timestamp;
pub(crate) mod type_set;
pub(crate) mod validator;
pub(crate) mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub use drafts::to_draft_2020_12;
pub use timestamp::ParseTimestampError;
pub use validator::is_standard_format;
pub use walk::{
    LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, is_annotation, is_schema, join_pointer,
    percent_decode,
};
