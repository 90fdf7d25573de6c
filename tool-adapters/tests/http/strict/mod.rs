//! Servers that refuse what the real ones refuse.
//!
//! - `rules`: what each provider refuses, as data with the source of each rule
//! - `histories`: random histories, whose requests are held to the rules

mod histories;
pub(crate) mod rules;
