//! The strict forms.

pub(crate) mod anthropic;
pub(crate) mod budget;
pub(crate) mod checker;
pub(crate) mod openai;
pub(crate) mod round_trip;
