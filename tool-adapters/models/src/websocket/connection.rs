//! A connection to a live API: its handshake, its outgoing queue, and its incoming messages.

use crate::websocket::model::{LiveModel, live_api};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, StreamExt};
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::Value;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
};
use tool_adapters_http::api_key::{ApiKey, excerpt};
use tool_adapters_http::base_url::{PathChange, host, path_to_api, with_scheme};
use tool_adapters_http::error_body::{
    error_message, error_of_status, is_used_up, is_worth_a_retry,
};
use tool_adapters_http::retry_after::delay_of_error;
use tool_adapters_providers::Provider;
use tool_adapters_providers::hosted::percent_encode;
use tool_adapters_providers::spec::{LiveEndpoint, LiveMessages};
use tool_core::{ErrorKind, ToolError};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Returns true if another connection may succeed after an error.
pub(crate) fn can_retry(error: &ToolError) -> bool {
    matches!(error.kind(), ErrorKind::Transient | ErrorKind::RateLimit)
}

pub(crate) fn timeout_error(time: Duration) -> ToolError {
    ToolError::transient(format!(
        "the provider did not accept the connection within {time:?}"
    ))
}

/// Without its setup, the model would talk without its tools and instructions.
pub(crate) fn refused_setup(reason: &str, hidden: &ApiKey) -> ToolError {
    ToolError::permanent(format!(
        "the provider refused the setup: {}",
        excerpt(reason, Some(hidden))
    ))
}

fn broken(error: &Error, hidden: Option<&ApiKey>) -> ToolError {
    ToolError::transient(format!(
        "the connection broke: {}",
        excerpt(&error.to_string(), hidden)
    ))
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) outgoing: OutgoingQueue,
    pub(crate) incoming: SplitStream<Socket>,
    pub(crate) messages: &'static dyn LiveMessages,
    /// True once the provider accepts more than the setup.
    pub(crate) is_set_up: bool,
    /// The secrets of the handshake, which the provider may repeat.
    pub(crate) hidden: ApiKey,
}

impl Connection {
    /// Connects. A key of a callback that the provider refuses is replaced once.
    pub(crate) async fn open(model: &LiveModel) -> Result<Self, ToolError> {
        let live = required_live_api(model.provider)?;
        let key = key(model, &live).await?;
        match Self::open_with(model, live, key.as_ref()).await {
            Err(error)
                if error.kind() == ErrorKind::Auth && model.access.forget_key(key.as_ref()) =>
            {
                let renewed = self::key(model, &live).await?;
                Self::open_with(model, live, renewed.as_ref()).await
            }
            outcome => outcome,
        }
    }

    /// Connects within the model's time limit.
    async fn open_with(
        model: &LiveModel,
        live: LiveEndpoint,
        key: Option<&ApiKey>,
    ) -> Result<Self, ToolError> {
        let (request, hidden) = handshake_request(model, &live, key)?;
        let connector =
            if request.uri().scheme_str() == Some("wss") {
                let config = tls_config();
                Connector::Rustls(config.map_err(|error| {
                    ToolError::permanent(format!("failed to set up TLS: {error}"))
                })?)
            } else {
                Connector::Plain
            };
        let mut config = WebSocketConfig::default();
        // Most messages are small, and the buffer stays as long as the connection.
        config.read_buffer_size = 16 * 1024;
        config.max_message_size = Some(model.transport.max_message);
        config.max_frame_size = Some(model.transport.max_message);
        let connecting =
            connect_async_tls_with_config(request, Some(config), true, Some(connector));
        let connected = timeout(model.transport.connect_timeout, connecting).await;
        let connected = connected.map_err(|_| timeout_error(model.transport.connect_timeout))?;
        let (socket, _) = connected.map_err(|error| handshake_error(&error, &hidden))?;
        let (sink, incoming) = socket.split();
        let outgoing = OutgoingQueue {
            sink,
            messages: VecDeque::new(),
            has_unsent: false,
        };
        Ok(Self {
            outgoing,
            incoming,
            messages: live.messages,
            is_set_up: !live.confirms_setup,
            hidden,
        })
    }

    /// Sends the queued messages and the close frame, and waits a moment for the provider to close.
    pub(crate) async fn close(mut self) {
        self.outgoing.push(Message::Close(None));
        let closing = async {
            let _ = self.outgoing.flush().await;
            while let Some(Ok(_)) = self.incoming.next().await {}
        };
        let _ = timeout(Duration::from_secs(1), closing).await;
    }
}

/// Returns the key, within the time limit for connecting.
async fn key(model: &LiveModel, live: &LiveEndpoint) -> Result<Option<ApiKey>, ToolError> {
    let limit = model.transport.connect_timeout;
    let late =
        |_| ToolError::transient(format!("the callback provided no API key within {limit:?}"));
    timeout(limit, model.access.api_key(&live.server))
        .await
        .map_err(late)?
}

fn required_live_api(provider: Provider) -> Result<LiveEndpoint, ToolError> {
    live_api(provider).ok_or_else(|| {
        let supported = Provider::ALL
            .into_iter()
            .filter(|other| live_api(*other).is_some());
        let supported = supported
            .map(Provider::name)
            .collect::<Vec<_>>()
            .join(" or ");
        ToolError::permanent(format!(
            "expected a provider with a WebSocket ({supported}), got {provider}"
        ))
    })
}

/// Returns the request, and all secrets in it.
fn handshake_request(
    model: &LiveModel,
    live: &LiveEndpoint,
    key: Option<&ApiKey>,
) -> Result<(Request, ApiKey), ToolError> {
    let base = with_scheme(&model.access.base_url(&live.server), "wss", "ws");
    let invalid_url = || {
        let provider = model.provider;
        ToolError::permanent(format!(
            "expected the base URL of {provider} to be a ws, wss, http or https URL"
        ))
    };
    let url = live_url(live, &model.model, &base);
    let mut request = url.into_client_request().map_err(|_| invalid_url())?;
    if !matches!(request.uri().scheme_str(), Some("ws" | "wss")) {
        return Err(invalid_url());
    }
    let scheme = request.uri().scheme_str().unwrap_or_default();
    let host = request.uri().host().unwrap_or_default();
    model
        .access
        .check_encrypted(scheme, host, &base, key.is_some())?;
    request
        .headers_mut()
        .extend(model.access.headers(&live.server, key)?);
    Ok((request, model.access.hidden(key, &base)))
}

/// Appends the path and the query of the API to a base URL, whose own query is kept.
fn live_url(live: &LiveEndpoint, model: &str, base: &str) -> String {
    let (base, query) = base.split_once('?').unwrap_or((base, ""));
    // The environment variables are shared with the HTTP API.
    let base = match base.strip_prefix("http") {
        Some(rest) => format!("ws{rest}"),
        None => base.to_owned(),
    };
    let model_query = live.model_query.map_or_else(String::new, |name| {
        format!("{name}={}", percent_encode(model))
    });
    let query = [query, &model_query]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("&");
    let separator = if query.is_empty() { "" } else { "?" };
    format!(
        "{}{separator}{query}",
        with_path(live, base.trim_end_matches('/'))
    )
}

/// Appends the path of the API to a base URL, which may have a part of it.
fn with_path(live: &LiveEndpoint, base: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let api = live.path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let mut segments = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect::<Vec<_>>();
    let PathChange { removed, added } = path_to_api(&live.server, host(rest), &segments, &api);
    segments.truncate(segments.len() - removed);
    segments.extend(added.iter().map(String::as_str));
    format!("{scheme}://{authority}/{}", segments.join("/"))
}

fn handshake_error(error: &Error, hidden: &ApiKey) -> ToolError {
    let Error::Http(response) = error else {
        let message = format!(
            "failed to reach the provider: {}",
            excerpt(&error.to_string(), Some(hidden))
        );
        return match error {
            Error::Url(_) | Error::HttpFormat(_) => ToolError::permanent(message),
            _ => ToolError::transient(message),
        };
    };
    let body = response.body().as_deref().unwrap_or_default();
    let details = error_message(body);
    let status = response.status();
    let message = format!(
        "the provider answered {}: {}",
        status.as_u16(),
        excerpt(&details, Some(hidden))
    );
    let can_retry = is_worth_a_retry(status.as_u16());
    if is_used_up(body) {
        return ToolError::permanent(message);
    }
    let error = error_of_status(status.as_u16(), message, can_retry);
    let asked = delay_of_error(status, response.headers(), body, &details);
    match asked.filter(|_| can_retry) {
        Some(delay) => error.retry_after(delay),
        None => error,
    }
}

/// Returns a TLS configuration with the certificates that the system trusts.
///
/// The crypto provider is explicit, as rustls panics if none or several are available: the
/// process's default if the program has installed one, or the one that reqwest uses.
fn tls_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let fallback = || Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(fallback);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Outgoing messages in their order, so that sending does not block receiving.
pub(crate) struct OutgoingQueue {
    sink: SplitSink<Socket, Message>,
    pub(crate) messages: VecDeque<Message>,
    pub(crate) has_unsent: bool,
}

impl OutgoingQueue {
    pub(crate) fn push_json(&mut self, message: &Value) {
        self.push(Message::text(message.to_string()));
    }

    pub(crate) fn push_ping(&mut self) {
        self.push(Message::Ping(Bytes::new()));
    }

    fn push(&mut self, message: Message) {
        self.messages.push_back(message);
        self.has_unsent = true;
    }

    /// Sends all messages. Dropping the future loses none.
    pub(crate) async fn flush(&mut self) -> Result<(), ToolError> {
        poll_fn(|cx| self.poll_flush(cx))
            .await
            .map_err(|error| broken(&error, None))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut sink = Pin::new(&mut self.sink);
        while !self.messages.is_empty() {
            ready!(sink.as_mut().poll_ready(cx))?;
            if let Some(message) = self.messages.pop_front() {
                sink.as_mut().start_send(message)?;
            }
        }
        ready!(sink.poll_flush(cx))?;
        self.has_unsent = false;
        Poll::Ready(Ok(()))
    }
}

/// Converts what the socket returns. Returns `None` for a ping or pong.
pub(crate) fn received(
    message: Option<Result<Message, Error>>,
    hidden: &ApiKey,
    is_set_up: bool,
) -> Result<Option<Bytes>, ToolError> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text.into())),
        // Gemini sends JSON in binary messages.
        Some(Ok(Message::Binary(bytes))) => Ok(Some(bytes)),
        Some(Ok(Message::Close(frame))) => Err(close_error(frame.as_ref(), hidden, is_set_up)),
        Some(Ok(_)) => Ok(None),
        Some(Err(error @ Error::Capacity(_))) => {
            let message = excerpt(&error.to_string(), Some(hidden));
            Err(ToolError::permanent(format!(
                "a message of the provider is too large; raise `max_message`: {message}"
            )))
        }
        Some(Err(error)) => Err(broken(&error, Some(hidden))),
        None => Err(close_error(None, hidden, is_set_up)),
    }
}

/// Converts a close frame. Codes for an invalid message are permanent, as the message would be sent
/// again, and so is a refusal of the setup, such as one of an unknown model.
fn close_error(frame: Option<&CloseFrame>, hidden: &ApiKey, is_set_up: bool) -> ToolError {
    let Some(frame) = frame else {
        return ToolError::transient("the provider closed the connection");
    };
    let code = u16::from(frame.code);
    let message = format!(
        "the provider closed the connection ({code}): {}",
        excerpt(&frame.reason, Some(hidden))
    );
    match code {
        1002 | 1003 | 1007 | 1009 | 1010 => ToolError::permanent(message),
        1008 if !is_set_up => ToolError::permanent(message),
        _ => ToolError::transient(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn request(model: &LiveModel) -> Result<(Request, ApiKey), ToolError> {
        let live = required_live_api(model.provider)?;
        let key = model
            .access
            .api_key(&live.server)
            .now_or_never()
            .expect("nothing to wait for")?;
        handshake_request(model, &live, key.as_ref())
    }

    #[test]
    fn keeps_the_path_and_the_query_of_the_base_url() {
        let url = |provider, base: &str| {
            live_url(&live_api(provider).expect("live"), "gpt realtime&x", base)
        };
        assert_eq!(
            url(Provider::OpenAiRealtime, "https://host/team/v1/?a=b"),
            "wss://host/team/v1/realtime?a=b&model=gpt%20realtime%26x"
        );
        assert_eq!(
            url(Provider::GeminiLive, "ws://127.0.0.1:9"),
            "ws://127.0.0.1:9/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
        );
    }

    #[test]
    fn sends_the_key_in_a_hidden_header() {
        let model = LiveModel::new(Provider::GeminiLive, "m")
            .base_url("wss://host")
            .api_key("canary");
        let (request, _) = request(&model).expect("a request");
        assert_eq!(request.headers()["x-goog-api-key"], "canary");
        assert!(!format!("{request:?}{model:?}").contains("canary"));
    }

    fn refused(status: u16, body: &str) -> ToolError {
        let response = http::Response::builder()
            .status(status)
            .header("retry-after", "20")
            .body(Some(body.as_bytes().to_vec()));
        let error = Error::Http(Box::new(response.expect("a response")));
        handshake_error(&error, &ApiKey::new("canary"))
    }

    // M8
    #[test]
    fn a_refused_handshake_says_when_to_come_again() {
        let busy = refused(429, r#"{"error":{"message":"slow down"}}"#);
        assert_eq!(busy.message(), "the provider answered 429: slow down");
        assert_eq!(busy.kind(), ErrorKind::RateLimit);
        assert_eq!(busy.requested_delay(), Some(Duration::from_secs(20)));
        assert!(can_retry(&refused(409, "")));

        let unpaid = refused(429, r#"{"error":{"code":"insufficient_quota"}}"#);
        assert!(!can_retry(&unpaid) && !can_retry(&refused(404, "")));
        assert_eq!(unpaid.requested_delay(), None);
    }

    #[test]
    fn a_refused_setup_is_not_sent_again() {
        let frame = CloseFrame {
            code: 1008.into(),
            reason: "the model is not found".into(),
        };
        let closed = |is_set_up| close_error(Some(&frame), &ApiKey::new("canary"), is_set_up);
        assert!(!can_retry(&closed(false)));
        assert!(can_retry(&closed(true)));
    }

    #[test]
    fn refuses_invalid_urls_and_providers_over_http() {
        for model in [
            LiveModel::new(Provider::GeminiLive, "m").base_url("ftp://host"),
            LiveModel::new(Provider::GeminiLive, "m").base_url("not an address"),
            LiveModel::new(Provider::OpenAiChat, "m").base_url("ws://host"),
        ] {
            assert!(!can_retry(&request(&model).expect_err("refused")));
        }
    }

    // T1
    #[test]
    fn refuses_keys_over_ws_to_other_machines() {
        let model = |base: &str| {
            LiveModel::new(Provider::GeminiLive, "m")
                .base_url(base)
                .api_key("canary")
        };
        for base in ["ws://host", "http://host:80/x", "ws://127.0.0.1.host"] {
            let error = request(&model(base)).expect_err("refused");
            assert!(error.message().contains("`allow_unencrypted`"), "{error}");
            assert!(request(&model(base).allow_unencrypted()).is_ok());
        }
        for (base, expected) in [
            ("host", "wss"),
            ("localhost:8080", "ws"),
            ("https://host", "wss"),
            ("ws://[::1]", "ws"),
        ] {
            let (request, _) = request(&model(base)).expect("a request");
            assert_eq!(request.uri().scheme_str(), Some(expected), "{base}");
        }
    }

    #[test]
    fn configures_tls_without_an_installed_crypto_provider() {
        assert!(CryptoProvider::get_default().is_none());
        let config = tls_config().expect("a configuration");
        assert!(!config.crypto_provider().cipher_suites.is_empty());
    }
}
