//! A command line for a set of tools: list, show, call, declare, lint and serve them.
#![doc = include_str!("cli.md")]

mod arguments;
mod batch;
mod call;
mod caller;
mod declare;
mod indent;
mod inspector;
mod openapi;
mod output;
mod pairs;
mod parameters;
mod progress;
mod run;
mod serve;
mod show;
mod text;
mod tools;
mod user_data;

#[cfg(test)]
mod tests;

pub use crate::output::{CommandIo, CommandStatus};
pub use crate::run::{CommandLine, main, main_with, run};
