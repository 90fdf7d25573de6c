//! OAuth 2 grants: against a real authorisation server (`OIDC_ISSUER`, see tests/conformance/oauth2), and against one
//! that does what servers should not.

mod browser;
mod edges;
mod expiry;
mod grants;
mod misbehaving;
mod processes;
mod provider;
mod refusals;
mod resting;
mod states;
mod toolsets;
