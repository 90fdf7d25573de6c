//! The rules, one function each. A rule looks at the model and reports mistakes; it changes
//! nothing.

mod arguments;
mod limits;
mod signature;
mod texts;
mod tool;
mod toolset;

pub(crate) use signature::check_agent;
pub(crate) use tool::check_function;
pub(crate) use toolset::check_toolset;
