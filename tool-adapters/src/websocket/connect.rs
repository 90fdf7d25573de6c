//! Opening a connection.

use super::{LiveModel, tls};
use crate::Provider;
use crate::agent::{self, ApiKey, Defaults, told};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, http};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use tool_core::ToolError;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A connection that could not be opened, or was lost.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) error: ToolError,
    /// Whether another connection may fare better.
    pub(super) again: bool,
}

impl Lost {
    pub(super) fn again(message: impl Into<String>) -> Self {
        Self { error: ToolError::transient(message), again: true }
    }

    pub(super) fn for_good(error: ToolError) -> Self {
        Self { error, again: false }
    }
}

/// Where a provider is reached, and the header that has its key.
struct Host {
    defaults: Defaults<'static>,
    key_header: HeaderName,
    key_before: &'static str,
}

fn host(provider: Provider) -> Result<Host, Lost> {
    Ok(match provider {
        Provider::OpenAiRealtime => Host {
            defaults: Defaults {
                base: "wss://api.openai.com/v1",
                base_env: &["OPENAI_BASE_URL"],
                key_env: &["OPENAI_API_KEY"],
            },
            key_header: http::header::AUTHORIZATION,
            key_before: "Bearer ",
        },
        Provider::GeminiLive => Host {
            defaults: Defaults {
                base: "wss://generativelanguage.googleapis.com",
                base_env: &["GOOGLE_GEMINI_BASE_URL"],
                key_env: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
            },
            key_header: HeaderName::from_static("x-goog-api-key"),
            key_before: "",
        },
        other => {
            let message = format!("{other} does not speak over a WebSocket; openai-realtime and gemini-live do");
            return Err(Lost::for_good(ToolError::permanent(message)));
        }
    })
}

/// Connects, within the time that is given for it.
pub(super) async fn connect(model: &LiveModel) -> Result<Socket, Lost> {
    let (request, key) = request(model)?;
    let no_tls = |error| Lost::for_good(ToolError::permanent(format!("TLS cannot be set up: {error}")));
    let connector = if request.uri().scheme_str() == Some("wss") {
        Connector::Rustls(tls::client_config().map_err(no_tls)?)
    } else {
        Connector::Plain
    };
    let mut caps = WebSocketConfig::default();
    caps.max_message_size = Some(model.max_message);
    caps.max_frame_size = Some(model.max_message);
    let opening = connect_async_tls_with_config(request, Some(caps), true, Some(connector));
    match timeout(model.connect_timeout, opening).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(error)) => Err(refused(&error, key.as_ref())),
        Err(_) => Err(slow(model.connect_timeout)),
    }
}

pub(super) fn slow(time: Duration) -> Lost {
    Lost::again(format!("the provider has not taken the connection within {time:?}"))
}

fn request(model: &LiveModel) -> Result<(Request, Option<ApiKey>), Lost> {
    let host = host(model.provider)?;
    let (base, key) = agent::address(model.base_url.as_ref(), model.api_key.as_ref(), host.defaults);
    let wrong = || Lost::for_good(ToolError::permanent(format!("the base URL of {} is no address", model.provider)));
    let mut request = address(model, base.trim()).into_client_request().map_err(|_| wrong())?;
    if !matches!(request.uri().scheme_str(), Some("ws" | "wss")) {
        return Err(wrong());
    }
    if let Some(key) = &key {
        let value = HeaderValue::from_str(&format!("{}{}", host.key_before, key.expose()));
        let mut value = value.map_err(|_| {
            Lost::for_good(ToolError::auth("the API key has characters that no header takes; look at it again"))
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(host.key_header, value);
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
fn address(model: &LiveModel, base: &str) -> String {
    let (base, query) = base.split_once('?').unwrap_or((base, ""));
    // As the settings of the environment have it for HTTP.
    let base = match base.strip_prefix("http") {
        Some(rest) => format!("ws{rest}"),
        None => base.to_owned(),
    };
    let (path, own) = match model.provider {
        Provider::GeminiLive => {
            ("ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", String::new())
        }
        _ => ("realtime", format!("model={}", escaped(&model.model))),
    };
    let query = [query, &own].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{}/{path}{mark}{query}", base.trim_end_matches('/'))
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
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_the_path_and_the_query_of_its_base() {
        let at = |provider, base: &str| address(&LiveModel::new(provider, "gpt realtime&x"), base);
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
        let (request, _) = request(&model).expect("a request");
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
            assert!(!request(&model).expect_err("refused").again);
        }
    }
}
