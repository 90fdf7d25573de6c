//! OAuth 2 grants of toolsets: sending a person to the provider, exchanging the code for tokens,
//! and refreshing them. Uses the [`oauth2`](https://docs.rs/oauth2) crate, always with PKCE (S256).
//!
#![doc = include_str!("oauth2.md")]

mod authorization;
mod client;
mod error;

pub use crate::oauth2::authorization::CallbackParams;
pub use crate::oauth2::authorization::{Authorization, Callback, OAuth2Clients};
pub use crate::oauth2::client::HttpClient;
pub use crate::oauth2::client::OAuth2Client;
pub use crate::oauth2::error::OAuth2Error;
pub use crate::oauth2::error::shown;
