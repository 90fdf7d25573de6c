//! Authorization of the Model Context Protocol: checked access tokens at the server, and logins at
//! the client.
//!
//! - `fetch`: requests to authorization servers, with limits; `metadata`: the addresses and
//!   contents of their documents
//! - `resource`: the public `OAuthResource`, and the admission of requests; `token`: the check of
//!   one access token; `keys`: the keys of an issuer
//! - `login`: the public `OAuthLogin`; `tokens`: the tokens of one server, their refresh and their
//!   store
//! - `flow`: discovery, registration and the consent of a person; `challenge`: the header of a
//!   refusal; `loopback`: the page that a browser is sent back to; `error`: errors of logins

mod challenge;
mod error;
mod fetch;
mod flow;
mod keys;
mod login;
mod loopback;
mod metadata;
mod resource;
mod token;
mod tokens;

pub(crate) use crate::auth::challenge::Challenge;
pub use crate::auth::error::LoginError;
pub use crate::auth::login::{LoginLock, LoginRequest, LoginStore, MemoryLoginStore, OAuthLogin};
pub use crate::auth::resource::OAuthResource;
pub(crate) use crate::auth::resource::{Refusal, ResourceGate};
pub use crate::auth::token::AccessClaims;
pub(crate) use crate::auth::token::TokenProblem;
pub(crate) use crate::auth::tokens::{Refused, ServerTokens};
