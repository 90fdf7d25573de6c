//! Trials: a prompt, the calls that a model has to make, and a rate of runs that have to pass.

pub(crate) mod answer_check;
pub(crate) mod argument_match;
pub(crate) mod expected_calls;
pub(crate) mod junit;
pub(crate) mod outcome;
pub(crate) mod run;
pub(crate) mod runner;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod trial;

#[cfg(test)]
mod tests;
