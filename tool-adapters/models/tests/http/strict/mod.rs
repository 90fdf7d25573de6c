//! Servers that refuse what the real ones refuse.
//!
//! - `rules`: what each provider refuses, as data with the source of each rule
//! - `forms`: the steps and the errors of each protocol
//! - `loops`: conversations with each server. A row of its table is a server
//! - `histories`: random histories, whose requests are held to the rules

mod forms;
mod histories;
mod loops;
mod rules;
