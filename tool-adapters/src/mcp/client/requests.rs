//! The requests of a server to its client, and their answers by the call to which they belong.
//!
//! A server that is called may ask the user. Its text and its form are not trusted, and without the host's leave it is refused.

use crate::mcp::client::budget::SamplingBudget;
use crate::mcp::client::exchange::Exchange;
use crate::mcp::client::sampling;
use crate::transport::base_url::is_local;
use reqwest::Url;
use rmcp::model::{
    ClientCapabilities, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability, RootsCapabilities,
    SamplingCapability, UrlElicitationCapability,
};
use serde_json::{Value, json};
use tool_core::call::{Answer, AskError, RawQuestion, Root};

/// The requests that the host allows a server.
#[derive(Default)]
pub(crate) struct ServerRights {
    /// Questions with forms.
    pub(crate) forms: bool,
    /// Questions that the user answers on a page of the server.
    pub(crate) urls: bool,
    /// The questions of a session.
    pub(crate) questions: Option<u32>,
    pub(crate) sampling: Option<SamplingBudget>,
    /// The folders that the server learns.
    pub(crate) roots: Option<Vec<Root>>,
    /// The folders are those of the session.
    pub(crate) session_roots: bool,
}

/// The questions of a session, unless the host sets another number.
const MAX_QUESTIONS: u32 = 100;

pub(crate) const ELICIT: &str = "elicitation/create";
pub(crate) const SAMPLE: &str = "sampling/createMessage";
pub(crate) const ROOTS: &str = "roots/list";

impl ServerRights {
    /// Returns the capabilities that the client declares.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.forms || self.urls {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.forms.then(FormElicitationCapability::default);
            elicitation.url = self.urls.then(UrlElicitationCapability::default);
            capabilities.elicitation = Some(elicitation);
        }
        capabilities.sampling = self.sampling.map(|_| SamplingCapability::default());
        capabilities.roots = (self.session_roots || self.roots.is_some()).then(RootsCapabilities::default);
        capabilities
    }

    /// Returns true if a call answers requests of this method.
    pub(crate) fn relays(&self, method: &str) -> bool {
        match method {
            ELICIT => self.forms || self.urls,
            SAMPLE => self.sampling.is_some(),
            ROOTS => self.session_roots,
            _ => false,
        }
    }

    /// Returns true if a call may be answered with a request.
    pub(crate) fn any(&self) -> bool {
        [ELICIT, SAMPLE, ROOTS].iter().any(|method| self.relays(method)) || self.roots.is_some()
    }

    /// Returns the answer to `roots/list` that needs no call.
    pub(crate) fn list_roots(&self) -> Option<Value> {
        self.roots.as_deref().map(written_roots)
    }
}

fn written_roots(roots: &[Root]) -> Value {
    let written = |root: &Root| match &root.name {
        Some(name) => json!({"uri": root.uri, "name": name}),
        None => json!({"uri": root.uri}),
    };
    json!({"roots": roots.iter().map(written).collect::<Vec<_>>()})
}

/// Answers a request for a call, within the limits of the call's session.
pub(crate) async fn answer(exchange: Exchange<'_>, method: &str, params: Value) -> Result<Value, ErrorData> {
    let rights = &exchange.remote.options.rights;
    match method {
        ELICIT if rights.relays(ELICIT) => elicit(exchange, masked(exchange, params)?).await,
        SAMPLE => match &rights.sampling {
            Some(budget) => sampling::sample(exchange, budget, masked(exchange, params)?).await,
            None => Err(refused(SAMPLE)),
        },
        ROOTS if rights.roots.is_none() && rights.session_roots => match exchange.ctx.roots().await {
            Ok(roots) => Ok(written_roots(&roots)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        },
        ROOTS => rights.list_roots().ok_or_else(|| refused(ROOTS)),
        _ => Err(refused(method)),
    }
}

/// Returns the error of a request that the host does not allow.
pub(crate) fn refused(method: &str) -> ErrorData {
    let text = match method {
        ELICIT => "the client does not allow this server to ask its user",
        SAMPLE => "the client does not allow this server to ask its model",
        ROOTS => "the client has no roots for this server",
        _ => "the client answers pings only",
    };
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

pub(crate) fn invalid(text: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(text.into(), None)
}

/// Asks the user of the call.
async fn elicit(exchange: Exchange<'_>, mut params: Value) -> Result<Value, ErrorData> {
    let Exchange { remote, ctx, .. } = exchange;
    let (options, rights) = (&remote.options, &remote.options.rights);
    let Some(message) = params["message"].as_str().map(str::to_owned) else {
        return Err(invalid("expected a `message`, a text"));
    };
    let mode = params["mode"].as_str().unwrap_or("form").to_owned();
    let question = match &*mode {
        "form" if rights.forms => RawQuestion::form(message, params["requestedSchema"].take()),
        "url" if rights.urls => RawQuestion::url(message, checked_url(&params["url"])?),
        "form" | "url" => return Err(invalid(format!("the client shows no questions of the mode `{mode}`"))),
        _ => return Err(invalid("expected the `mode` to be `form` or `url`")),
    };
    let limit = rights.questions.unwrap_or(MAX_QUESTIONS);
    if !remote.spending.ask(ctx, limit) {
        let text = format!("this server has asked {limit} questions in the session, and may ask no more");
        return Err(ErrorData::internal_error(text, None));
    }
    let action = |action: &str| json!({"action": action});
    match ctx.ask_raw(question.asked_by(&options.name)).await {
        Ok(Answer::Accepted(_)) if mode == "url" => Ok(action("accept")),
        Ok(Answer::Accepted(content)) => Ok(json!({"action": "accept", "content": content})),
        Ok(Answer::Declined) => Ok(action("decline")),
        Ok(Answer::Cancelled) | Err(AskError::TimedOut(_) | AskError::Ended) => Ok(action("cancel")),
        Err(error @ AskError::InvalidForm(_)) => Err(invalid(error.to_string())),
        Err(error) => {
            tracing::debug!(server = %options.name.escape_debug(), %error, "failed to ask the user for a server");
            Err(ErrorData::internal_error(error.to_string(), None))
        }
    }
}

/// Masks this client's keys in a request that repeats them.
fn masked(exchange: Exchange<'_>, params: Value) -> Result<Value, ErrorData> {
    exchange
        .remote
        .options
        .credentials
        .redact_answer(params)
        .map_err(|_| invalid("the request has a key of this client in a name"))
}

/// Returns the address of a page to which a user may be sent: over HTTPS, or on this machine, and without a user's name, behind
/// which the host could be hidden.
fn checked_url(url: &Value) -> Result<String, ErrorData> {
    let text = url.as_str().ok_or_else(|| invalid("expected a `url`, a text"))?;
    let url = Url::parse(text).map_err(|_| invalid("expected the `url` to be a URL"))?;
    let host = url.host_str().unwrap_or_default();
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local(host));
    if !is_safe || host.is_empty() || !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("expected an `https` URL without a user's name, as a person is to open it"));
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
        assert_eq!(url("https://a.example/x?y=1").expect("a page"), "https://a.example/x?y=1");
        assert_eq!(url("https://\u{430}pple.com/").expect("a page"), "https://xn--pple-43d.com/");
        assert_eq!(url("http://127.0.0.1:8080/x").expect("a page"), "http://127.0.0.1:8080/x");
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
