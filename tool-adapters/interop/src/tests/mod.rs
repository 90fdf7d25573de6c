//! Tests of the conversions.

#[cfg(feature = "async-openai")]
mod async_openai;
#[cfg(any(feature = "genai", feature = "rig"))]
mod convert;
#[cfg(feature = "genai")]
mod genai;
#[cfg(all(
    feature = "observe",
    feature = "async-openai",
    feature = "genai",
    feature = "rig"
))]
mod observe;
#[cfg(feature = "rig")]
mod rig;
