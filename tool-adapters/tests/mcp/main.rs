//! The Model Context Protocol: what a server answers, to whom, and what an import trusts.
#![cfg(feature = "mcp")]

mod answers;
mod confirmation;
mod guard;
mod import;
mod lists;
mod malformed;
mod pins;
mod routing;
mod support;
