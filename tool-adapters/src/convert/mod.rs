//! What the conversions to other crates' types share: the functions of declarations, and what can be wrong with them.

#[cfg(any(feature = "async-openai", feature = "genai"))]
mod error;
#[cfg(any(feature = "genai", feature = "rig"))]
mod function;

#[cfg(any(feature = "async-openai", feature = "genai"))]
pub use error::ConvertError;
#[cfg(any(feature = "async-openai", feature = "genai"))]
pub(crate) use error::declared_to;
#[cfg(feature = "rig")]
pub(crate) use function::Function;
#[cfg(any(feature = "genai", feature = "rig"))]
pub(crate) use function::{Declared, items};

#[cfg(test)]
pub(crate) mod tests;
