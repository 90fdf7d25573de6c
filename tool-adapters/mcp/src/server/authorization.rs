//! The check of the access tokens of HTTP requests.

use crate::auth::{AccessClaims, Refusal, TokenProblem};
use crate::server::client::{TokenEnd, peer_of};
use crate::server::message::{ClientMessage, Incoming, ReadMessage};
use crate::server::session::Settings;
use axum::Router;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::Response;
use std::io;
use std::sync::Arc;
use tokio::time::Instant;
use tool_core::time;

/// Returns the principal of a request whose token was checked.
pub(crate) fn principal(parts: &Parts) -> Option<String> {
    parts.extensions.get::<Arc<AccessClaims>>()?.principal()
}

impl Settings {
    /// Checks the settings of the resource. Returns an error with all reasons why the server would
    /// accept no token.
    pub(crate) fn check_oauth(&self) -> io::Result<()> {
        let Some(oauth) = &self.oauth else {
            return Ok(());
        };
        let mut problems = oauth.problems().to_vec();
        if self.access.token.is_some() {
            problems.push(
                "expected `oauth` or `bearer_token`, got both; a request has one token only"
                    .to_owned(),
            );
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            problems.join("; "),
        ))
    }
}

/// Adds the metadata of the resource to a router.
pub(crate) fn with_metadata(router: Router, settings: &Settings) -> Router {
    let Some(oauth) = &settings.oauth else {
        return router;
    };
    if let Err(error) = settings.check_oauth() {
        tracing::error!(%error, "the server accepts no access token");
    }
    router.merge(settings.access.clone().guard(oauth.metadata_route()))
}

/// Checks the token of a request, and puts its claims in its place. Returns the answer to a refused
/// request.
pub(crate) async fn admit(settings: &Settings, parts: &mut Parts) -> Option<Response> {
    let oauth = settings.oauth.as_ref()?;
    match oauth.admit(&parts.headers, peer_of(parts)).await {
        Ok(claims) => {
            if let Some(left) = oauth.time_left(&claims) {
                let end = time::after(Instant::now(), left);
                parts.extensions.insert(TokenEnd(end));
            }
            parts.extensions.insert(Arc::new(claims));
        }
        Err(Refusal::Missing) if settings.access.allow_anonymous => {}
        Err(refusal) => return Some(oauth.refuse(&refusal)),
    }
    parts.headers.remove(header::AUTHORIZATION);
    None
}

/// Returns the answer to a request whose token has expired since it was checked.
pub(crate) fn refuse_expired(settings: &Settings) -> Option<Response> {
    let oauth = settings.oauth.as_ref()?;
    Some(oauth.refuse(&Refusal::Token(TokenProblem::Expired)))
}

/// Checks that the token of a request has the scopes of the tools that its messages call. Returns
/// the answer to a refused request.
pub(crate) fn permit(settings: &Settings, parts: &Parts, incoming: &Incoming) -> Option<Response> {
    let oauth = settings
        .oauth
        .as_ref()
        .filter(|oauth| oauth.has_tool_scopes())?;
    let called = match incoming {
        Incoming::One(message) => called_tool(message).into_iter().collect::<Vec<_>>(),
        Incoming::Batch(messages) => messages.iter().filter_map(called_tool).collect(),
    };
    let claims = parts
        .extensions
        .get::<Arc<AccessClaims>>()
        .map(|claims| &**claims);
    oauth
        .permit(claims, called)
        .err()
        .map(|refusal| oauth.refuse(&refusal))
}

fn called_tool(message: &ReadMessage) -> Option<&str> {
    match message {
        Ok(ClientMessage::Call(call)) => Some(&call.params.name),
        _ => None,
    }
}
