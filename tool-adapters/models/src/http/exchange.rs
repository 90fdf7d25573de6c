//! One attempt of a request: its URL and headers, and its answer.

use crate::http::answer::AnswerCollector;
#[cfg(feature = "aws")]
use crate::http::aws::{RequestSigner, escape_path, explain_refusal};
use crate::http::failure::RequestFailure;
use crate::http::recording::{Recording, SendError};
use crate::model_access::ModelAccess;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};
use tool_adapters_http::api_key::ApiKey;
use tool_adapters_http::base_url::{PathChange, path_to_api, with_scheme};
use tool_adapters_http::request_span::STATUS_CODE;
use tool_adapters_providers::spec::{self, HttpEndpoint, Server};
use tool_adapters_providers::{Framing, Protocol, Provider};
use tool_core::session::ModelStep;
use tool_core::{ToolError, time, trace};

pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<ApiKey>,
    /// The key and all other secrets of the request.
    pub(crate) hidden: ApiKey,
    /// Signs the request in place of a key.
    #[cfg(feature = "aws")]
    pub(crate) signer: Option<RequestSigner>,
}

/// Returns the HTTP API of a provider.
pub(crate) fn http_api(provider: Provider) -> Result<HttpEndpoint, ToolError> {
    match provider.spec().endpoint {
        spec::Endpoint::Http(http) => Ok(http),
        spec::Endpoint::WebSocket(_) => Err(ToolError::permanent(format!(
            "{provider} needs a WebSocket: use the feature `websocket`"
        ))),
        spec::Endpoint::ToolServer => Err(ToolError::permanent(format!(
            "{provider} is a protocol for tools, not a model: use the feature `{provider}`"
        ))),
    }
}

impl Endpoint {
    pub(crate) async fn new(
        provider: Provider,
        access: &ModelAccess,
        model: &str,
        stream: bool,
    ) -> Result<Self, ToolError> {
        let http = http_api(provider)?;
        let path = access.path.unwrap_or(http.path)(model, stream);
        let mut endpoint = Self::at_path(provider, access, &path).await?;
        if let Some((name, value)) = http.stream_query.filter(|_| stream) {
            endpoint.url.query_pairs_mut().append_pair(name, value);
        }
        Ok(endpoint)
    }

    /// Returns the endpoint at the path of an API.
    pub(crate) async fn at_path(
        provider: Provider,
        access: &ModelAccess,
        path: &[String],
    ) -> Result<Self, ToolError> {
        let http = http_api(provider)?;
        let server = &http.server;
        #[cfg(feature = "aws")]
        let signer = access.signer(server).await?;
        #[cfg(feature = "aws")]
        let is_signed = signer.is_some();
        #[cfg(not(feature = "aws"))]
        let is_signed = false;

        let mut base = access.base_url(server);
        if base.is_empty() && access.is_replayed {
            // A replay asks no server, and so needs no region.
            REPLAYED_SERVER.clone_into(&mut base);
        }
        if base.is_empty() && !server.region_env.is_empty() {
            let names = server.region_env.join(" or ");
            return Err(ToolError::permanent(format!(
                "{provider} needs a region: set {names}, or call `base_url`"
            )));
        }
        let mut url = parse_base_url(provider, &base)?;
        let is_default = base == access.default_base_url(server);
        let key = if is_signed {
            None
        } else {
            access.api_key(server).await?
        };
        access.check_encrypted(
            url.scheme(),
            url.host_str().unwrap_or_default(),
            &base,
            key.is_some() || is_signed,
        )?;
        let has_access = key.is_some() || is_signed || !access.headers.is_empty();
        let needs_key = server.key_required && !access.is_replayed;
        if !has_access && is_default && needs_key {
            let names = server.key_env.join(" or ");
            return Err(ToolError::auth(format!(
                "{provider} needs an API key: set {names}, or call `api_key`"
            )));
        }
        append_path(&mut url, server, path).ok_or_else(|| invalid_base_url(provider))?;
        let mut headers = HeaderMap::new();
        for (name, value) in http.headers {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        // Headers of the program replace those of the provider.
        headers.extend(access.headers(server, key.as_ref())?);
        let hidden = access.hidden(key.as_ref(), &base);
        #[cfg(feature = "aws")]
        let hidden = match &signer {
            Some(signer) => hidden.hiding(signer.secrets()),
            None => hidden,
        };
        #[cfg(feature = "aws")]
        if access.is_signed() {
            // A replay, too, has the path of a request that was signed.
            escape_path(&mut url);
        }
        Ok(Self {
            url,
            headers,
            key,
            hidden,
            #[cfg(feature = "aws")]
            signer,
        })
    }
}

/// Appends the path of an API to a base URL, which may have a part of it. `None` for a URL without
/// a path.
fn append_path(url: &mut Url, server: &Server, api: &[String]) -> Option<()> {
    let base = url
        .path_segments()?
        .filter(|segment| !segment.is_empty())
        .collect::<Vec<_>>();
    let PathChange { removed, added } = path_to_api(server, url.host_str()?, &base, api);
    let mut path = url.path_segments_mut().ok()?;
    path.pop_if_empty();
    for _ in 0..removed {
        path.pop();
    }
    path.extend(added);
    Some(())
}

fn parse_base_url(provider: Provider, base: &str) -> Result<Url, ToolError> {
    // `OLLAMA_HOST` is usually set without a scheme.
    let url =
        Url::parse(&with_scheme(base, "https", "http")).map_err(|_| invalid_base_url(provider))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err(invalid_base_url(provider))
    }
}

/// Returns an error that does not repeat the URL, which may hold a password.
fn invalid_base_url(provider: Provider) -> ToolError {
    ToolError::permanent(format!(
        "expected the base URL of {provider} to be an http or https URL"
    ))
}

/// Time limits for a provider's answers.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::Provider;
/// use tool_adapters::transport::http::{HttpModel, Timeouts};
///
/// // A local model may take minutes to load, and sends nothing meanwhile.
/// let timeouts = Timeouts { idle: Duration::from_secs(15 * 60), total: Duration::from_secs(30 * 60), ..Timeouts::default() };
/// let model = HttpModel::new(Provider::Ollama, "qwen3").timeouts(timeouts);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit for connecting. Defaults to 10 s.
    pub connect: Duration,
    /// Limit for the time without data, before the answer and within it. Defaults to 5 min, as a
    /// model may reason without output.
    pub idle: Duration,
    /// Limit for a step with all its attempts. Defaults to 15 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let connect = Duration::from_secs(10);
        let idle = Duration::from_secs(5 * 60);
        let total = Duration::from_secs(15 * 60);
        Self {
            connect,
            idle,
            total,
        }
    }
}

/// Returns a builder for clients that do not follow redirects, as they would carry the API key to
/// another host.
///
/// Use it for a client that several models share, or that needs a proxy or certificates.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::transport::http::{HttpModel, client_builder};
///
/// let client = client_builder().user_agent("front-desk/1.0").build()?;
/// let model = HttpModel::new(Provider::Gemini, "gemini-3-flash").client(client);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_builder() -> reqwest::ClientBuilder {
    let timeouts = Timeouts::default();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(timeouts.connect)
        .no_gzip()
}

/// The server of a replay if the provider's own depends on a region.
const REPLAYED_SERVER: &str = "https://replayed.invalid";

/// Maximum number of bytes that are read of an error's body.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The time for what follows the end of an answer, such as its usage. A server that leaves the connection open is not
/// waited for.
const TRAILER: Duration = Duration::from_secs(2);

/// The time for the body of an error, whose status and headers are there already.
const ERROR_BODY: Duration = Duration::from_secs(3);

/// The number of bytes that are read before other tasks run.
const SLICE: usize = 16 * 1024;

/// One attempt of a request.
pub(crate) struct Exchange<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) client: &'a Client,
    pub(crate) deadline: Instant,
    pub(crate) idle: Duration,
    pub(crate) max_bytes: usize,
    /// Records the exchange, or answers it.
    pub(crate) recording: Option<&'a Recording>,
}

impl Exchange<'_> {
    /// Sends the body, and reads the answer to its end.
    pub(crate) async fn run(
        &self,
        body: &str,
        protocol: &mut dyn Protocol,
        mut answer: AnswerCollector<'_>,
    ) -> Result<ModelStep, RequestFailure> {
        let mut response = self.send(body).await?;
        let content_type = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        if let Some(framing) = content_type.and_then(Framing::of_content_type) {
            protocol.framing(framing);
        }
        let mut bytes = 0_usize;
        // Once the answer has ended.
        let mut trailer_ends = None;
        let failure = loop {
            let chunk = self.chunk(&mut response);
            let chunk = match trailer_ends {
                None => chunk.await,
                Some(end) => match timeout_at(end, chunk).await {
                    Ok(chunk) => chunk,
                    Err(_) => break None,
                },
            };
            match chunk {
                Ok(Some(chunk)) => {
                    bytes = bytes.saturating_add(chunk.as_ref().len());
                    if bytes > self.max_bytes {
                        return Err(RequestFailure::permanent(ToolError::permanent(format!(
                            "the provider's answer is larger than {} bytes; raise `max_bytes`",
                            self.max_bytes
                        ))));
                    }
                    if let Err(failure) = self.read(chunk.as_ref(), protocol, &mut answer).await {
                        break Some(failure);
                    }
                    if answer.has_ended() {
                        trailer_ends.get_or_insert_with(|| time::after(Instant::now(), TRAILER));
                    }
                }
                Ok(None) => break None,
                Err(failure) => break Some(failure),
            }
        };
        let had_ended = answer.has_ended();
        answer.collect(protocol.finish());
        match failure {
            // The reader may take the last reason for an end for the end of the answer, of which
            // more was on its way.
            Some(failure) if !had_ended => Err(answer.incomplete(Some(failure))),
            failure => answer.into_step(failure),
        }
    }

    /// Sends the body, and returns the whole answer.
    pub(crate) async fn fetch(&self, body: &str) -> Result<Vec<u8>, RequestFailure> {
        let mut response = self.send(body).await?;
        let mut answer = Vec::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            answer.extend_from_slice(chunk.as_ref());
            if answer.len() > self.max_bytes {
                return Err(RequestFailure::permanent(ToolError::permanent(format!(
                    "the provider's answer is larger than {} bytes",
                    self.max_bytes
                ))));
            }
        }
        Ok(answer)
    }

    /// Reads bytes in slices. The runtime runs other tasks between them, so that timeouts and
    /// cancellation fire there too.
    async fn read(
        &self,
        bytes: &[u8],
        protocol: &mut dyn Protocol,
        answer: &mut AnswerCollector<'_>,
    ) -> Result<(), RequestFailure> {
        for slice in bytes.chunks(SLICE) {
            answer.collect(protocol.push(slice));
            // A provider is read as slowly as the reader takes what was shown.
            if let Some(events) = answer.events {
                events.taken().await;
            }
            if slice.len() == SLICE {
                self.with_timeout(yield_now()).await?;
            }
        }
        Ok(())
    }

    /// Returns the response if its status is a success.
    async fn send(&self, body: &str) -> Result<Response, RequestFailure> {
        let mut headers = self.endpoint.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        #[cfg(feature = "aws")]
        if let Some(signer) = &self.endpoint.signer {
            signer
                .sign(&self.endpoint.url, &mut headers, body.as_bytes())
                .map_err(RequestFailure::permanent)?;
        }
        let request = self
            .client
            .post(self.endpoint.url.clone())
            .headers(headers)
            .body(body.to_owned());
        let hidden = Some(&self.endpoint.hidden);
        let of_network = |error| RequestFailure::from_transport(&error, hidden);
        let mut response = match self.recording {
            None => self
                .with_timeout(request.send())
                .await?
                .map_err(of_network)?,
            Some(recording) => {
                let sent = recording.send(request, &self.endpoint.url);
                self.with_timeout(sent)
                    .await?
                    .map_err(|error| match error {
                        SendError::Network(error) => of_network(error),
                        SendError::Replay(error) => RequestFailure::permanent(error),
                    })?
            }
        };
        trace::attribute(STATUS_CODE, response.status().as_u16());
        if response.status().is_success() {
            return Ok(response);
        }
        let body = self.error_body(&mut response).await;
        let failure = RequestFailure::from_status(
            response.status(),
            response.headers(),
            &body,
            Some(&self.endpoint.hidden),
        );
        #[cfg(feature = "aws")]
        if self.endpoint.signer.is_some() {
            return Err(explain_refusal(failure, response.headers()));
        }
        Err(failure)
    }

    /// Returns what has come in time of the body of an error. The status alone tells whether to try again.
    async fn error_body(&self, response: &mut Response) -> Vec<u8> {
        let mut body = Vec::new();
        let end = time::after(Instant::now(), ERROR_BODY).min(self.deadline);
        while body.len() < MAX_ERROR_BODY {
            match timeout_at(end, self.chunk(response)).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(chunk.as_ref()),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        body.truncate(MAX_ERROR_BODY);
        body
    }

    async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, RequestFailure> {
        let read = self.with_timeout(response.chunk()).await?;
        read.map_err(|error| RequestFailure::from_transport(&error, Some(&self.endpoint.hidden)))
    }

    async fn with_timeout<T>(&self, future: impl Future<Output = T>) -> Result<T, RequestFailure> {
        let idle = time::after(Instant::now(), self.idle);
        timeout_at(idle.min(self.deadline), future)
            .await
            .map_err(|_| {
                if idle < self.deadline {
                    RequestFailure::transient(format!(
                        "the provider sent nothing for {:?}",
                        self.idle
                    ))
                } else {
                    RequestFailure::permanent(ToolError::transient(
                        "the provider's answer exceeded the total time limit",
                    ))
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::answer::{Answer, FailedUsage, UsageReporter};
    use crate::model_access::env_setting;
    use futures_util::FutureExt;
    use std::cell::Cell;
    use tool_adapters_http::api_key::KeySource;
    use tool_adapters_providers::{declare, protocol};
    use tool_core::ToolContext;

    fn endpoint(provider: Provider, base: &str, model: &str, stream: bool) -> Endpoint {
        let access = ModelAccess {
            base_url: Some(base.to_owned()),
            api_key: Some(KeySource::Fixed(ApiKey::new("canary"))),
            headers: vec![("X-Team".to_owned(), "seven".to_owned().into())],
            allow_unencrypted: false,
            ..ModelAccess::default()
        };
        new(provider, &access, model, stream)
            .map_err(|error| error.to_string())
            .expect("an endpoint")
    }

    fn new(
        provider: Provider,
        access: &ModelAccess,
        model: &str,
        stream: bool,
    ) -> Result<Endpoint, ToolError> {
        Endpoint::new(provider, access, model, stream)
            .now_or_never()
            .expect("nothing to wait for")
    }

    fn url(provider: Provider, base: &str, model: &str) -> String {
        endpoint(provider, base, model, true).url.to_string()
    }

    #[test]
    fn the_book_tells_how_each_provider_is_asked() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/book/provider_tables.md"
        );
        let book = std::fs::read_to_string(path).expect("the book");
        for provider in Provider::ALL {
            let Ok(http) = http_api(provider) else {
                continue;
            };
            let access = ModelAccess {
                base_url: Some("https://host".into()),
                ..ModelAccess::default()
            };
            let endpoint = new(provider, &access, "MODEL", true).expect("an endpoint");

            let server = http.server;
            let mut cells = vec![
                format!("{provider:?}"),
                server.base_url.to_owned(),
                endpoint.url.path().to_owned(),
            ];
            let variables = [server.base_url_env, server.region_env, server.key_env];
            cells.extend(variables.concat().into_iter().map(str::to_owned));
            let has_cells = |line: &str| {
                let has = |cell: &String| line.contains(&format!("`{cell}`"));
                line.starts_with('|') && cells.iter().all(has)
            };
            assert!(book.lines().any(has_cells), "no row with {cells:?}");
        }
    }

    #[test]
    fn gemini_streams_as_server_sent_events() {
        assert_eq!(
            url(Provider::Gemini, "https://host", "m"),
            "https://host/v1beta/models/m:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn reports_a_missing_key_before_the_request() {
        // Skipped where the environment has a key.
        if env_setting(&["CO_API_KEY", "COHERE_API_KEY"]).is_some() {
            return;
        }
        let error = new(Provider::Cohere, &ModelAccess::default(), "m", true)
            .err()
            .expect("no key");
        assert_eq!(
            error.message(),
            "cohere needs an API key: set CO_API_KEY or COHERE_API_KEY, or call `api_key`"
        );
    }

    #[test]
    fn keeps_the_path_and_the_query_of_the_base_url() {
        let base = "https://host:8443/team/v1/?api-version=2";
        assert_eq!(
            url(Provider::OpenAiChat, base, "m"),
            "https://host:8443/team/v1/chat/completions?api-version=2"
        );
        assert_eq!(
            url(Provider::Ollama, "box:11434", "m"),
            "https://box:11434/api/chat"
        );
    }

    // T1
    #[test]
    fn refuses_keys_over_http_to_other_machines() {
        let key = || Some(KeySource::Fixed(ApiKey::new("canary")));
        let access = |base: &str| ModelAccess {
            base_url: Some(base.to_owned()),
            ..ModelAccess::default()
        };
        let is_refused = |access: &ModelAccess| match new(Provider::OpenAiChat, access, "m", true) {
            Err(error) => {
                error.message().contains("`allow_unencrypted`")
                    && !error.message().contains("canary")
            }
            Ok(_) => false,
        };
        let mut refused = 0;
        for n in 0..200 {
            let base = format!("http://host{n}.example:{}/v{n}", 1 + n * 7);
            let headers = vec![("X-Api-Key".to_owned(), "canary".to_owned().into())];
            let secret = base.replace("http://", "http://ann:canary@");
            refused += usize::from(is_refused(&ModelAccess {
                api_key: key(),
                ..access(&base)
            }));
            refused += usize::from(is_refused(&ModelAccess {
                headers,
                ..access(&base)
            }));
            refused += usize::from(is_refused(&access(&secret)));
            refused += usize::from(is_refused(&access(&format!(
                "{base}?api-version=2&key=canary"
            ))));
            let allowed = ModelAccess {
                allow_unencrypted: true,
                api_key: key(),
                ..access(&base)
            };
            refused += usize::from(new(Provider::OpenAiChat, &allowed, "m", true).is_ok());
        }
        assert_eq!(refused, 1_000);
        for base in ["http://host.example", "http://host.example?api-version=2"] {
            assert!(new(Provider::OpenAiChat, &access(base), "m", true).is_ok());
        }
    }

    #[tokio::test]
    async fn lets_other_tasks_run_between_slices() {
        let endpoint = endpoint(Provider::OpenAiChat, "https://host", "m", true);
        let exchange = Exchange {
            endpoint: &endpoint,
            client: &client_builder().build().expect("a client"),
            deadline: Instant::now() + Duration::from_secs(60),
            idle: Duration::from_secs(60),
            max_bytes: usize::MAX,
            recording: None,
        };
        let declarations = declare(
            Provider::OpenAiChat,
            &ToolContext::builder().build().expect("no tools"),
        );
        let mut answer = AnswerCollector {
            provider: Provider::OpenAiChat,
            model: "m",
            turn_id: Provider::OpenAiChat.id(),
            declarations: &declarations,
            key: None,
            listener: None,
            has_shown_output: &mut false,
            events: None,
            usage: UsageReporter::new(None, FailedUsage::default()),
            answer: Answer::default(),
        };
        let mut protocol = protocol(Provider::OpenAiChat);
        let bytes = b": a comment\n".repeat(SLICE);
        let turns = Cell::new(0);
        let others = async {
            while turns.get() < usize::MAX {
                turns.set(turns.get() + 1);
                yield_now().await;
            }
        };
        tokio::select! {
            biased;
            read = exchange.read(&bytes, &mut *protocol, &mut answer) => assert!(read.is_ok()),
            () = others => {}
        }
        assert_eq!(turns.get(), bytes.len() / SLICE);
    }

    #[test]
    fn escapes_the_model_in_the_path() {
        let arn = "arn:aws:bedrock:eu-west-1:1:inference-profile/x?y";
        assert_eq!(
            endpoint(Provider::Bedrock, "https://host", arn, false)
                .url
                .path(),
            "/model/arn:aws:bedrock:eu-west-1:1:inference-profile%2Fx%3Fy/converse"
        );
        assert_eq!(
            url(Provider::Gemini, "https://host", "tunedModels/x#y"),
            "https://host/v1beta/tunedModels/x%23y:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn sends_the_key_in_the_providers_header_and_hides_it() {
        let header = |provider, name: &str| {
            let headers = endpoint(provider, "https://host", "m", false).headers;
            assert!(!format!("{headers:?}").contains("canary"), "{headers:?}");
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        assert_eq!(
            header(Provider::OpenAiChat, "authorization").as_deref(),
            Some("Bearer canary")
        );
        assert_eq!(
            header(Provider::Anthropic, "x-api-key").as_deref(),
            Some("canary")
        );
        assert_eq!(
            header(Provider::Anthropic, "anthropic-version").as_deref(),
            Some("2023-06-01")
        );
        assert_eq!(
            header(Provider::Gemini, "x-goog-api-key").as_deref(),
            Some("canary")
        );
        assert_eq!(
            header(Provider::Mistral, "x-team").as_deref(),
            Some("seven")
        );
    }

    #[test]
    fn refuses_invalid_base_urls_without_repeating_them() {
        for base in ["ftp://user:canary@host", "http://", "data:canary", ""] {
            let access = ModelAccess {
                base_url: Some(base.to_owned()),
                ..ModelAccess::default()
            };
            let error = new(Provider::OpenAiChat, &access, "m", true)
                .err()
                .expect("refused")
                .to_string();
            assert!(!error.contains("canary"), "{error}");
        }
        for provider in [
            Provider::OpenAiRealtime,
            Provider::GeminiLive,
            Provider::Mcp,
        ] {
            assert!(new(provider, &ModelAccess::default(), "m", true).is_err());
        }
    }
}
