//! Opening a connection.

use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, LiveEndpoint, LiveMessages, Server};
use crate::transport::api_key;
use crate::transport::api_key::{ApiKey, Defaults, told};
use crate::transport::websocket::LiveModel;
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
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use tool_core::ToolError;

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A connection that could not be opened, or was lost.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) error: ToolError,
    /// Whether another connection may fare better.
    pub(crate) again: bool,
}

impl Lost {
    pub(crate) fn again(message: impl Into<String>) -> Self {
        Self { error: ToolError::transient(message), again: true }
    }

    pub(crate) fn for_good(error: ToolError) -> Self {
        Self { error, again: false }
    }
}

/// Where a live provider is reached, and its messages.
pub(crate) fn live(provider: Provider) -> Option<LiveEndpoint> {
    match provider.spec().endpoint {
        Endpoint::WebSocket(live) => Some(live),
        _ => None,
    }
}

fn endpoint(provider: Provider) -> Result<LiveEndpoint, Lost> {
    live(provider).ok_or_else(|| {
        let others = Provider::ALL.into_iter().filter(|other| live(*other).is_some());
        let others = others.map(Provider::name).collect::<Vec<_>>().join(" and ");
        Lost::for_good(ToolError::permanent(format!("{provider} does not speak over a WebSocket; {others} do")))
    })
}

/// Connects, within the time that is given for it.
pub(crate) async fn connect(model: &LiveModel) -> Result<(Socket, LiveEndpoint), Lost> {
    let live = endpoint(model.provider)?;
    let (request, key) = request(model, &live)?;
    let no_tls = |error| Lost::for_good(ToolError::permanent(format!("TLS cannot be set up: {error}")));
    let connector = if request.uri().scheme_str() == Some("wss") {
        Connector::Rustls(client_config().map_err(no_tls)?)
    } else {
        Connector::Plain
    };
    let mut caps = WebSocketConfig::default();
    caps.max_message_size = Some(model.max_message);
    caps.max_frame_size = Some(model.max_message);
    let opening = connect_async_tls_with_config(request, Some(caps), true, Some(connector));
    match timeout(model.connect_timeout, opening).await {
        Ok(Ok((socket, _))) => Ok((socket, live)),
        Ok(Err(error)) => Err(refused(&error, key.as_ref())),
        Err(_) => Err(slow(model.connect_timeout)),
    }
}

pub(crate) fn slow(time: Duration) -> Lost {
    Lost::again(format!("the provider has not taken the connection within {time:?}"))
}

fn request(model: &LiveModel, live: &LiveEndpoint) -> Result<(Request, Option<ApiKey>), Lost> {
    let Server { base_url, base_url_env, key_env, key_header: (key_header, key_before), .. } = live.server;
    let defaults = Defaults { base: base_url, base_env: base_url_env, key_env };
    let (base, key) = api_key::address(model.base_url.as_ref(), model.api_key.as_ref(), defaults);
    let wrong = || Lost::for_good(ToolError::permanent(format!("the base URL of {} is no address", model.provider)));
    let mut request = address(live, &model.model, base.trim()).into_client_request().map_err(|_| wrong())?;
    if !matches!(request.uri().scheme_str(), Some("ws" | "wss")) {
        return Err(wrong());
    }
    if let Some(key) = &key {
        let value = HeaderValue::from_str(&format!("{key_before}{}", key.expose()));
        let mut value = value.map_err(|_| {
            Lost::for_good(ToolError::auth("the API key has characters that no header takes; look at it again"))
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(HeaderName::from_static(key_header), value);
    }
    for (name, value) in &model.headers {
        let header = HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::from_str(value).ok());
        let (name, value) = header.ok_or_else(|| {
            let message = format!("`{}` is no header, or its value cannot be one", name.escape_debug());
            Lost::for_good(ToolError::permanent(message))
        })?;
        request.headers_mut().insert(name, value);
    }
    Ok((request, key))
}

/// The base URL with the path behind it; its query stays.
fn address(live: &LiveEndpoint, model: &str, base: &str) -> String {
    let (base, query) = base.split_once('?').unwrap_or((base, ""));
    // As the settings of the environment have it for HTTP.
    let base = match base.strip_prefix("http") {
        Some(rest) => format!("ws{rest}"),
        None => base.to_owned(),
    };
    let own = live.model_query.map_or_else(String::new, |name| format!("{name}={}", escaped(model)));
    let query = [query, &own].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{}/{}{mark}{query}", base.trim_end_matches('/'), live.path)
}

/// As a value in a query.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

fn refused(error: &Error, key: Option<&ApiKey>) -> Lost {
    let Error::Http(response) = error else {
        let message = format!("the provider cannot be reached: {}", told(&error.to_string(), key));
        return match error {
            Error::Url(_) | Error::HttpFormat(_) => Lost::for_good(ToolError::permanent(message)),
            _ => Lost::again(message),
        };
    };
    let said = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let status = response.status().as_u16();
    let message = format!("the provider answered {status}: {}", told(&said, key));
    match status {
        401 | 403 => Lost::for_good(ToolError::auth(message)),
        429 => Lost { error: ToolError::rate_limit(message), again: true },
        408 | 500.. => Lost::again(message),
        _ => Lost::for_good(ToolError::permanent(message)),
    }
}

#[cfg(test)]
mod connect_tests {
    use super::*;

    fn opening(model: &LiveModel) -> Result<(Request, Option<ApiKey>), Lost> {
        request(model, &endpoint(model.provider)?)
    }

    #[test]
    fn an_address_keeps_the_path_and_the_query_of_its_base() {
        let at = |provider, base: &str| address(&live(provider).expect("live"), "gpt realtime&x", base);
        assert_eq!(
            at(Provider::OpenAiRealtime, "https://host/team/v1/?a=b"),
            "wss://host/team/v1/realtime?a=b&model=gpt%20realtime%26x"
        );
        assert_eq!(
            at(Provider::GeminiLive, "ws://127.0.0.1:9"),
            "ws://127.0.0.1:9/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
        );
    }

    #[test]
    fn the_key_is_in_a_header_that_nothing_shows() {
        let model = LiveModel::new(Provider::GeminiLive, "m").base_url("ws://host").api_key("canary");
        let (request, _) = opening(&model).expect("a request");
        assert_eq!(request.headers()["x-goog-api-key"], "canary");
        assert!(!format!("{request:?}{model:?}").contains("canary"));
    }

    #[test]
    fn what_is_no_address_and_what_speaks_over_http_is_told() {
        for model in [
            LiveModel::new(Provider::GeminiLive, "m").base_url("ftp://host"),
            LiveModel::new(Provider::GeminiLive, "m").base_url("not an address"),
            LiveModel::new(Provider::OpenAiChat, "m").base_url("ws://host"),
        ] {
            assert!(!opening(&model).expect_err("refused").again);
        }
    }
}

// ---- TLS, with the certificates that the system trusts.

/// The crypto provider is said outright, as rustls panics where it has to guess among several, or among none. It is the
/// program's own, where it has installed one, and else the one that reqwest takes.
pub(crate) fn client_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let own = || Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(own);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tls_tests {
    #[test]
    fn a_configuration_can_be_made_without_a_provider_that_the_program_has_installed() {
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
        let config = crate::transport::websocket::connect::client_config().expect("a configuration");
        assert!(!config.crypto_provider().cipher_suites.is_empty());
    }
}

// ---- One connection: what goes out is kept in order until the socket takes it, without holding up what comes in.

pub(crate) struct Link {
    pub(crate) out: Outgoing,
    pub(crate) incoming: SplitStream<Socket>,
    pub(crate) messages: &'static dyn LiveMessages,
    /// Whether the provider takes more than the setup.
    pub(crate) ready: bool,
}

impl Link {
    pub(crate) fn new(socket: Socket, live: LiveEndpoint) -> Self {
        let (sink, incoming) = socket.split();
        let out = Outgoing { sink, messages: VecDeque::new(), unsent: false };
        Self { out, incoming, messages: live.messages, ready: !live.confirms_setup }
    }

    /// Says good-bye, after what there is still to be said, and hears the provider out for a moment.
    pub(crate) async fn close(mut self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        self.out.push(Message::Close(None));
        let farewell = async {
            let _ = self.out.flush().await;
            while let Some(Ok(_)) = self.incoming.next().await {}
        };
        let _ = timeout(PATIENCE, farewell).await;
    }
}

/// What goes out.
pub(crate) struct Outgoing {
    sink: SplitSink<Socket, Message>,
    messages: VecDeque<Message>,
    unsent: bool,
}

impl Outgoing {
    pub(crate) fn json(&mut self, message: &Value) {
        self.push(Message::text(message.to_string()));
    }

    pub(crate) fn ping(&mut self) {
        self.push(Message::Ping(Bytes::new()));
    }

    fn push(&mut self, message: Message) {
        self.messages.push_back(message);
        self.unsent = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.unsent
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Sends all there is. Dropped in the middle it loses nothing.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut sink = Pin::new(&mut self.sink);
        while !self.messages.is_empty() {
            ready!(sink.as_mut().poll_ready(cx))?;
            if let Some(message) = self.messages.pop_front() {
                sink.as_mut().start_send(message)?;
            }
        }
        ready!(sink.poll_flush(cx))?;
        self.unsent = false;
        Poll::Ready(Ok(()))
    }
}

/// What a message of the socket's is to us.
pub(crate) enum Incoming {
    /// JSON, which Gemini sends as bytes.
    Json(Bytes),
    /// A sign of life.
    Alive,
    Gone(Lost),
}

pub(crate) fn read(message: Option<Result<Message, Error>>) -> Incoming {
    match message {
        Some(Ok(Message::Text(text))) => Incoming::Json(text.into()),
        Some(Ok(Message::Binary(bytes))) => Incoming::Json(bytes),
        Some(Ok(Message::Close(frame))) => Incoming::Gone(closed(frame.as_ref())),
        Some(Ok(_)) => Incoming::Alive,
        Some(Err(error @ Error::Capacity(_))) => Incoming::Gone(Lost::for_good(ToolError::permanent(format!(
            "the provider's message is too large; raise `max_message`: {}",
            told(&error.to_string(), None)
        )))),
        Some(Err(error)) => {
            Incoming::Gone(Lost::again(format!("the connection broke: {}", told(&error.to_string(), None))))
        }
        None => Incoming::Gone(Lost::again("the provider has closed the connection")),
    }
}

/// What the provider says as it closes. That we have sent what it does not take would happen again.
fn closed(frame: Option<&CloseFrame>) -> Lost {
    let Some(frame) = frame else { return Lost::again("the provider has closed the connection") };
    let code = u16::from(frame.code);
    let message = format!("the provider has closed the connection ({code}): {}", told(&frame.reason, None));
    match code {
        1002 | 1003 | 1007 | 1009 | 1010 => Lost::for_good(ToolError::permanent(message)),
        _ => Lost::again(message),
    }
}
