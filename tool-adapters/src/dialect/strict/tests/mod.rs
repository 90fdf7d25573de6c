//! The strict forms.

mod anthropic;
mod budget;
pub(crate) mod checker;
mod openai;
mod round_trip;
