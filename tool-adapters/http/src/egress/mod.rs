//! The egress guard: HTTP requests of tools to public hosts, where a model may have chosen the URL.
//!
//! A tool that fetches takes its client from the run context:
//!
//! ```
//! use tool_adapters::egress::{EgressError, RunContextExt};
//! use tool_core::{RunContext, tool};
//!
//! /// Fetch a page of the web as text.
//! #[tool(category = "retrieval", open_world)]
//! async fn fetch(
//!     ctx: &RunContext,
//!     /// The URL, with https
//!     url: &str,
//! ) -> Result<String, EgressError> {
//!     ctx.http()?.get(url).send().await?.error_for_status()?.text().await
//! }
//! ```
//!
//! Without a setting, every public host is allowed. An operator sets another policy once, in the
//! user data of each session:
//!
//! ```
//! use tool_adapters::egress::{EgressClient, EgressPolicy};
//! use tool_core::{Mode, Runtime};
//!
//! # async fn open(runtime: &Runtime) -> Result<(), Box<dyn std::error::Error>> {
//! let egress = EgressClient::new(EgressPolicy::new().allow_host("intranet.example"))?;
//! let session = runtime.session("s-1", Mode::Text).user_data(egress.clone()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! For agents, `AgentsBuilder::each_session` is the place, and for a server of MCP,
//! `Server::session`.
//!
//! # What is refused
//!
//! - schemes other than `http` and `https`, and URLs with a user name or a password
//! - addresses that are not public, in every notation: private, loopback, link-local, multicast,
//!   documentation and all other special ranges of IANA's registries, IPv6 that embeds IPv4, and
//!   the metadata services of clouds
//! - names that resolve to such addresses only. The connection goes to an address that was checked,
//!   so that a second answer of a name server changes nothing
//! - redirects to any of these, more than 5 of them, and those that would send the body to another
//!   origin. Another origin gets neither `Authorization`, cookies and `Referer` nor other headers
//!   of the tool, except those that
//!   [`header`](EgressRequest::header) names
//! - bodies over 8 MiB after decompression, and exchanges over 30 s in all
//!
//! Proxies of the environment are not used, because a proxy resolves names itself. The gateway uses
//! them for its servers, whose addresses its operator has chosen.
//!
//! The guard does not know the public addresses of this machine and of its network. A service that
//! listens there is public to the guard, so let it check its clients, or close the way with a
//! firewall.
//!
//! # Other clients
//!
//! [`client_builder`] builds a `reqwest::Client` with the same checks of addresses but no limit of bodies, and [`EgressClient::resolve`] resolves
//! names for protocols other than HTTP.

mod addresses;
mod client;
mod error;
mod guard;
pub mod network;
mod policy;
mod redirect;
mod response;

pub use crate::egress::addresses::normalised_host;
pub use crate::egress::client::{EgressClient, EgressRequest, RunContextExt};
pub use crate::egress::error::EgressError;
pub use crate::egress::guard::client_builder;
pub use crate::egress::guard::client_builder_for;
pub use crate::egress::policy::EgressPolicy;
pub use crate::egress::response::EgressResponse;
