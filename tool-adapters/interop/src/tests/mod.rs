//! Tests of the conversions.

#[cfg(feature = "async-openai")]
mod async_openai;
#[cfg(any(feature = "genai", feature = "rig"))]
mod convert;
#[cfg(feature = "genai")]
mod genai;
#[cfg(feature = "rig")]
mod rig;
