//! The strict forms.

mod anthropic;
mod budget;
mod checker;
mod openai;
