//! Spans for the model calls of other clients.

#[cfg(any(feature = "async-openai", feature = "rig"))]
mod bytes;
#[cfg(feature = "genai")]
pub(crate) mod genai_client;
#[cfg(feature = "async-openai")]
pub(crate) mod openai_client;
#[cfg(feature = "rig")]
pub(crate) mod rig_client;
