//! Models for tool-core: the agent loop, models over HTTP and live models over a WebSocket.
//!
//! You reach them through `tool-adapters`: [`agent`] is `tool_adapters::agent`, and [`http`] and [`websocket`] are in
//! `tool_adapters::transport`. [`model_access`] is what both transports share: URL, key, headers and retries.
//!
//! [`ag_ui`] is `tool_adapters::ag_ui`: an agent behind a front end.
//!
//! [`engines`] is what the packages of engines for durable execution share.
//!
//! Begin with [`agent`] for a conversation that calls tools, and with [`http::HttpModel`] for a request and its answer.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod ag_ui;
pub mod agent;
mod agent_handoffs;
mod agent_input;
mod agent_models;
mod agent_streams;
mod conversation_log;
mod durable_agent;
pub mod engines;
#[cfg(test)]
mod held_store;
mod history_keeper;
#[cfg(feature = "http")]
pub mod http;
mod instructions;
#[cfg(any(feature = "http", feature = "websocket"))]
pub mod model_access;
mod open_agent_error;
mod open_decision;
mod opened_agent;
mod recording_steps;
mod sub_agent;
#[cfg(feature = "websocket")]
pub mod websocket;

#[cfg(any(feature = "http", feature = "websocket"))]
pub use crate::model_access::{ProviderModel, RetryPolicy};
#[cfg(any(feature = "http", feature = "websocket"))]
pub use tool_adapters_http::api_key::ProvidedKey;
