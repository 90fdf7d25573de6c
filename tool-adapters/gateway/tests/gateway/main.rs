//! The gateway before real servers, which are processes of this program.
#![cfg(unix)]

mod audit;
#[cfg(feature = "postgres")]
mod audit_table;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../agents/tests/oauth2/browser.rs"]
mod browser;
mod child;
mod choices;
mod draining;
mod files;
mod health;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../mcp/tests/mcp_auth/issuer.rs"]
mod issuer;
mod logins;
mod network;
mod passing;
mod policies;
mod program;
mod raw_server;
mod reload;
mod servers;
mod stores;
mod support;
mod updates;
