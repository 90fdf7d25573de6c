//! Requests with the tokens of a login.

use crate::auth::{Challenge, LoginError, Refused, ServerTokens};
use crate::client::http_answer::{HttpError, HttpResult};
use rmcp::model::ErrorData;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::io;
use std::sync::Arc;
use tool_core::Secret;

/// Maximum number of times that a request is sent again, with another token each.
const MAX_RENEWALS: usize = 3;

/// Sends a request with the token of a login, which `note` sees first. If the server refuses it,
/// gets another token and sends the request again.
pub(crate) async fn authorized<T, F>(
    tokens: &Arc<ServerTokens>,
    note: impl Fn(&str),
    send: impl Fn(Option<String>) -> F,
) -> HttpResult<T>
where
    F: Future<Output = HttpResult<T>>,
{
    let mut token = tokens.token().await.map_err(failed)?;
    for sent in 0.. {
        if let Some(token) = &token {
            note(token.expose());
        }
        let error = match send(token.as_ref().map(|token| token.expose().to_owned())).await {
            Err(error) if sent < MAX_RENEWALS => error,
            outcome => return outcome,
        };
        let Some(challenge) = challenge_of(&error) else {
            return Err(error);
        };
        let renewed = tokens
            .renew(Refused {
                token: token.clone(),
                challenge,
            })
            .await
            .map_err(failed)?;
        if renewed.as_ref().map(Secret::expose) == token.as_ref().map(Secret::expose) {
            return Err(error);
        }
        token = renewed;
    }
    Err(failed(LoginError::TooMany(MAX_RENEWALS)))
}

/// Returns what a refusal says about the token that the server wants. Returns `None` for other
/// errors.
fn challenge_of(error: &HttpError) -> Option<Challenge> {
    match error {
        StreamableHttpError::AuthRequired(challenge) => {
            Some(Challenge::parse(&challenge.www_authenticate_header))
        }
        StreamableHttpError::InsufficientScope(challenge) => {
            Some(Challenge::parse(&challenge.www_authenticate_header))
                .filter(|challenge| challenge.is_insufficient_scope)
        }
        _ => None,
    }
}

fn failed(error: LoginError) -> HttpError {
    StreamableHttpError::Io(io::Error::other(error))
}

/// Returns true if a request was refused for its token, or if there is none to send.
pub(crate) fn is_refusal(error: &HttpError) -> bool {
    matches!(
        error,
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_)
    ) || is_failed_login(error)
}

/// Returns true if there is no token at the moment: the authorization server cannot be reached, or the store of logins fails.
pub(crate) fn is_unavailable(error: &HttpError) -> bool {
    login_error(error).is_some_and(may_pass)
}

/// Returns true if a login has failed in a way that another try does not change, such as a person's denial.
pub(crate) fn is_failed_login(error: &HttpError) -> bool {
    login_error(error).is_some_and(|error| !may_pass(error))
}

fn login_error(error: &HttpError) -> Option<&LoginError> {
    let StreamableHttpError::Io(error) = error else {
        return None;
    };
    error.get_ref()?.downcast_ref::<LoginError>()
}

fn may_pass(error: &LoginError) -> bool {
    matches!(error, LoginError::Unavailable(_) | LoginError::Store(_))
}

/// Returns the answer to a call that the server has refused.
pub(crate) fn refused_call() -> ErrorData {
    ErrorData::invalid_request(
        "the tool's server refuses the call until its user signs in, or grants it more",
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::error::is_temporary;

    #[test]
    fn only_a_login_that_may_pass_is_asked_for_again() {
        let denied = LoginError::Denied("no".to_owned());
        assert!(!is_temporary(&failed(denied)));
        let unavailable = LoginError::Unavailable("503".to_owned());
        assert!(is_temporary(&failed(unavailable)));
    }
}
