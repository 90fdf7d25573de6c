//! Conversions to and from the types of other crates, and spans for the model calls of their clients.

#[cfg(feature = "async-openai")]
pub mod async_openai;
#[cfg(any(feature = "genai", feature = "rig"))]
mod convert;
#[cfg(any(feature = "async-openai", feature = "genai"))]
mod error;
#[cfg(feature = "genai")]
pub mod genai;
#[cfg(feature = "observe")]
mod observe;
#[cfg(feature = "rig")]
pub mod rig;

#[cfg(test)]
mod tests;

#[cfg(any(feature = "async-openai", feature = "genai"))]
pub use crate::error::ConvertError;
