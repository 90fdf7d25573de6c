//! The parts that all adapters that speak HTTP share.
//!
//! You reach the public parts through `tool-adapters`: [`egress`], the guarded client of tools, is
//! `tool_adapters::egress`, and [`middleware`] is `tool_adapters::interop::reqwest`. The other
//! modules serve the packages beside this one.
//!
//! - Requests: [`egress`] guards them, [`middleware`] gives them spans, [`observer`] reads the
//!   usage of models from their responses, [`observed_call`] is the span of a model's request by
//!   another client, [`request_span`] names a span, [`retry_after`] reads the
//!   delay that a server asks for
//! - Keys: [`api_key`] holds one and leaves it out of texts, [`callback`] asks the program for one,
//!   [`base_url`] checks the URL that it is sent to
//! - Servers: [`serve`] runs a router under limits, [`access`] and [`bearer`] check who asks,
//!   [`quota`] shares memory between clients
//!
//! Begin with [`egress`] for requests, and with [`serve`] for servers.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// Implements `Debug` with these fields only, as the others may hold keys.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_only {
    ($type:ident $(<$generic:ident>)?, |$this:ident| $($field:ident: $value:expr),+) => {
        impl $(<$generic>)? ::std::fmt::Debug for $type $(<$generic>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &$value))+.finish_non_exhaustive()
            }
        }
    };
}

#[cfg(feature = "serve")]
pub mod access;
pub mod api_key;
pub mod base_url;
#[cfg(feature = "serve")]
pub mod bearer;
pub mod biller;
pub mod callback;
#[cfg(feature = "egress")]
pub mod egress;
pub mod error_body;
#[cfg(feature = "reqwest-middleware")]
pub mod middleware;
pub mod observed_call;
pub mod observer;
#[cfg(feature = "serve")]
pub mod quota;
#[cfg(feature = "client")]
pub mod request_span;
pub mod retry_after;
pub mod sanitize;
#[cfg(feature = "serve")]
pub mod serve;
