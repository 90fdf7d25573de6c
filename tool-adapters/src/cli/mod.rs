//! A command line for a set of tools: list, declare, call, lint and serve them.
#![doc = include_str!("cli.md")]

mod arguments;
mod call;
mod inspect;
mod output;
mod run;
mod tools;

#[cfg(test)]
mod tests;

pub use crate::cli::output::{CommandIo, CommandStatus};
pub use crate::cli::run::{main, main_with, run};
