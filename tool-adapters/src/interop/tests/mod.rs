//! Tests of the conversions.

mod async_openai;
mod convert;
mod genai;
mod rig;
