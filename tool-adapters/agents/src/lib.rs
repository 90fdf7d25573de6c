//! Toolsets of agents that users configure.
//!
//! You reach it through `tool-adapters`: [`oauth2`] is `tool_adapters::oauth2`. The records of
//! agents, their secrets and their executor are in `tool_core::agents`, and their stores in
//! `tool_adapters::stores`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod oauth2;
