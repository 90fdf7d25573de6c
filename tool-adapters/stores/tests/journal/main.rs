//! The journal in a file: what it keeps, what a killed process leaves, and what it does with files that are none.

mod calls;
mod conformance;
mod crash;
mod files;
mod support;
