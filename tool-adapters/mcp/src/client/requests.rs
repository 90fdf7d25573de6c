//! The requests of a server to its client, and their answers by the run to which they belong.
//!
//! A server that is called may ask the user. Its text and its form are not trusted, and without the
//! host's leave it is refused.

use crate::client::options::AskedRun;
use crate::client::rights::{
    ELICIT, MAX_QUESTIONS, ROOTS, SAMPLE, UNKNOWN_MODE, invalid, refused, written_roots,
};
use crate::client::sampling;
use reqwest::Url;
use rmcp::model::{ErrorCode, ErrorData, ServerResult};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use tool_adapters_http::base_url::is_local;
use tool_core::ToolError;
use tool_core::call::{Answer, AskError, RawQuestion};

/// Answers a request for a call, within the limits of the call's session.
pub(crate) async fn answer(
    run: AskedRun<'_>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorData> {
    let rights = &run.options.rights;
    match method {
        ELICIT if rights.relays(ELICIT) => elicit(run, masked(run, params)?).await,
        SAMPLE => match &rights.sampling {
            Some(budget) => sampling::sample(run, budget, masked(run, params)?).await,
            None => Err(refused(SAMPLE)),
        },
        ROOTS if rights.roots.is_none() && rights.session_roots => match run.ctx.roots().await {
            Ok(roots) => Ok(written_roots(&roots)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        },
        ROOTS => rights.list_roots().ok_or_else(|| refused(ROOTS)),
        _ => Err(refused(method)),
    }
}

/// Asks the user of the call.
async fn elicit(run: AskedRun<'_>, mut params: Value) -> Result<Value, ErrorData> {
    let AskedRun { options, ctx, .. } = run;
    let rights = &options.rights;
    let Some(message) = params["message"].as_str().map(str::to_owned) else {
        return Err(invalid("expected a `message`, a text"));
    };
    let mode = match &params["_meta"][UNKNOWN_MODE] {
        Value::Null => params["mode"].as_str().unwrap_or("form").to_owned(),
        unknown => unknown.to_string(),
    };
    let question = match &*mode {
        "form" if rights.forms => RawQuestion::form(message, params["requestedSchema"].take()),
        "url" if rights.urls => RawQuestion::url(message, checked_url(&params["url"])?),
        "form" | "url" => {
            return Err(invalid(format!(
                "the client shows no questions of the mode `{mode}`"
            )));
        }
        _ => return Err(invalid("expected the `mode` to be `form` or `url`")),
    };
    let limit = rights.questions.unwrap_or(MAX_QUESTIONS);
    if !run.spending.ask(ctx, limit) {
        let text =
            format!("this server has asked {limit} questions in the session, and may ask no more");
        return Err(ErrorData::internal_error(text, None));
    }
    let action = |action: &str| json!({"action": action});
    match ctx.ask_raw(question.asked_by(&options.name)).await {
        Ok(Answer::Accepted(_)) if mode == "url" => Ok(action("accept")),
        Ok(Answer::Accepted(content)) => Ok(json!({"action": "accept", "content": content})),
        Ok(Answer::Declined) => Ok(action("decline")),
        Ok(Answer::Cancelled) | Err(AskError::TimedOut(_) | AskError::Ended) => {
            Ok(action("cancel"))
        }
        Err(error @ AskError::InvalidForm(_)) => Err(invalid(error.to_string())),
        Err(error) => {
            tracing::debug!(server = %options.name.escape_debug(), %error, "failed to ask the user for a server");
            Err(ErrorData::internal_error(error.to_string(), None))
        }
    }
}

/// The error of a request that is to be made again once the user has been on pages of the server
/// (revision 2025-11-25).
const PAGES_REQUIRED: ErrorCode = ErrorCode(-32042);

/// Maximum number of pages of such an error, and of the requests that an answer may require.
pub(crate) const MAX_REQUESTS: usize = 8;

/// Returns the error of an answer that requires pages.
pub(crate) fn requires_pages(answer: &Result<ServerResult, ServiceError>) -> Option<&ErrorData> {
    match answer {
        Err(ServiceError::McpError(error)) if error.code == PAGES_REQUIRED => Some(error),
        _ => None,
    }
}

/// Asks the user to open the pages that a server requires. Fails unless the user agrees to all of
/// them.
pub(crate) async fn show_pages(run: AskedRun<'_>, error: &ErrorData) -> Result<(), ToolError> {
    let refused = |why: &str| {
        ToolError::permanent(format!(
            "the tool's server needs the user to open a page before the call: {why}"
        ))
    };
    let pages = error
        .data
        .as_ref()
        .and_then(|data| data["elicitations"].as_array());
    let pages = pages.filter(|pages| (1..=MAX_REQUESTS).contains(&pages.len()));
    let pages = pages
        .ok_or_else(|| refused(&format!("expected 1 to {MAX_REQUESTS} pages in its error")))?;
    for page in pages {
        let params = json!({"mode": "url", "message": page["message"], "url": page["url"]});
        let answer = answer(run, ELICIT, params)
            .await
            .map_err(|error| refused(&error.message))?;
        match answer["action"].as_str() {
            Some("accept") => {}
            Some("decline") => return Answer::Declined.required(),
            _ => return Answer::Cancelled.required(),
        }
    }
    Ok(())
}

/// Returns the answer to a request that was made again after its pages. Fails if it still requires
/// some.
pub(crate) fn after_pages(
    answer: Result<ServerResult, ServiceError>,
) -> Result<Result<ServerResult, ServiceError>, ToolError> {
    if requires_pages(&answer).is_some() {
        Err(unfinished_pages())
    } else {
        Ok(answer)
    }
}

/// Returns the error of a request that still needs the user on a page.
pub(crate) fn unfinished_pages() -> ToolError {
    ToolError::permanent(
        "the user has not finished on the page of the tool's server; call again after that",
    )
}

/// Masks this client's keys in a request that repeats them.
fn masked(run: AskedRun<'_>, params: Value) -> Result<Value, ErrorData> {
    run.options
        .credentials
        .redact_answer(params)
        .map_err(|_| invalid("the request has a key of this client in a name"))
}

/// Returns the address of a page to which a user may be sent: over HTTPS, or on this machine, and
/// without a user's name, behind which the host could be hidden.
fn checked_url(url: &Value) -> Result<String, ErrorData> {
    let text = url
        .as_str()
        .ok_or_else(|| invalid("expected a `url`, a text"))?;
    let url = Url::parse(text).map_err(|_| invalid("expected the `url` to be a URL"))?;
    let host = url.host_str().unwrap_or_default();
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local(host));
    if !is_safe || host.is_empty() || !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            "expected an `https` URL without a user's name, as a person is to open it",
        ));
    }
    // Parsed, a host that looks like another one is written in ASCII.
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_https_and_named_in_ascii() {
        let url = |text: &str| checked_url(&json!(text));
        assert_eq!(
            url("https://a.example/x?y=1").expect("a page"),
            "https://a.example/x?y=1"
        );
        assert_eq!(
            url("https://\u{430}pple.com/").expect("a page"),
            "https://xn--pple-43d.com/"
        );
        assert_eq!(
            url("http://127.0.0.1:8080/x").expect("a page"),
            "http://127.0.0.1:8080/x"
        );
        for text in [
            "http://a.example/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "https://bank.example@evil.example/",
            "https://u:p@evil.example/",
            "https:",
            "x",
        ] {
            assert!(url(text).is_err(), "{text}");
        }
    }
}
