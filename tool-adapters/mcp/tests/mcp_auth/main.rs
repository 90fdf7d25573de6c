//! Authorization of the Model Context Protocol: tokens at the server, logins at the client, and an authorization server that is
//! sound or hostile.

#[allow(dead_code, reason = "no person cancels here")]
#[path = "../../../agents/tests/oauth2/browser.rs"]
mod browser;
mod client;
mod hostile;
mod issuer;
mod oidc;
mod secrets;
mod server;
mod support;
