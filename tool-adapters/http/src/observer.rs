//! Token usage of models from their responses, read as the bytes pass.
//!
//! ```
//! use tool_adapters::telemetry::observer::Observer;
//!
//! let mut observer = Observer::for_url("POST", "https://api.openai.com/v1/chat/completions").expect("a model's URL");
//! // A proxy pushes the bytes that it forwards, in pieces of any size.
//! observer.push(br#"{"id": "chatcmpl-1", "model": "gpt-5-mini", "choices": [{"index": 0, "message": {"content": "#);
//! observer.push(br#""Hi"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}"#);
//! let used = observer.finish().expect("a usage");
//! assert_eq!((&*used.model, used.usage.input, used.usage.output), ("gpt-5-mini", 9, 2));
//! assert_eq!(used.response_id.as_deref(), Some("chatcmpl-1"));
//! ```
//!
//! [`trace::observe`](tool_core::trace::observe) counts the result.

use crate::biller::biller_of_url;
use serde::Deserialize;
use std::borrow::Cow;
use tool_adapters_providers::spec::UrlPath;
use tool_adapters_providers::{Event, Protocol, ProtocolError, Provider, protocol};
use tool_core::trace::ModelUsage;

/// Tool calls beyond this number are not recorded.
const MAX_CALLS: usize = 256;

/// Reads the model, the usage and the calls of a response. Bytes that it does not understand are
/// skipped.
///
/// It buffers unread bytes (an event of a stream, or a whole answer up to 16 MiB) and the arguments
/// of open calls.
#[must_use]
pub struct Observer {
    protocol: Box<dyn Protocol>,
    requested_model: Option<String>,
    used: ModelUsage,
    has_usage: bool,
    /// True after the end of the message.
    has_ended: bool,
    /// The first error that the provider has reported inside the response.
    error: Option<ProtocolError>,
}

/// The usage and the error of a response, as an observer has read them.
pub(crate) struct Observed {
    pub(crate) used: Option<ModelUsage>,
    pub(crate) error: Option<ProtocolError>,
}

/// Reads a whole response. Returns `None` if it has no usage, such as an error.
pub fn observe_response(provider: Provider, response: &[u8]) -> Option<ModelUsage> {
    let mut observer = Observer::new(provider);
    observer.push(response);
    observer.finish()
}

impl Observer {
    /// Creates an observer for a response of a provider.
    pub fn new(provider: Provider) -> Self {
        let mut used = ModelUsage::default();
        used.provider = provider.spec().names.biller.map(Cow::Borrowed);
        Self {
            protocol: protocol(provider),
            requested_model: None,
            used,
            has_usage: false,
            has_ended: false,
            error: None,
        }
    }

    /// Creates an observer for the response to a request. Returns `None` if the request does not go
    /// to a model.
    ///
    /// The path decides the protocol, and the host decides the provider among those that use
    /// OpenAI's protocol.
    pub fn for_url(method: &str, url: &str) -> Option<Self> {
        if !method.eq_ignore_ascii_case("POST") {
            return None;
        }
        let (host, path) = host_and_path(url)?;
        let (provider, requested_model) = provider_and_model(&host, path)?;
        let mut observer = Self {
            requested_model,
            ..Self::new(provider)
        };
        if let Some(biller) = biller_of_url(&format!("https://{host}{path}")) {
            observer.used.provider = Some(biller.into());
        }
        Some(observer)
    }

    /// Reads the model from the body of the request, for responses that do not name it.
    pub fn request(&mut self, body: &[u8]) {
        #[derive(Deserialize)]
        struct RequestBody {
            model: String,
        }
        if let Ok(RequestBody { model }) = serde_json::from_slice(body) {
            self.requested_model = Some(model);
        }
    }

    /// Returns the provider whose protocol is read.
    pub fn provider(&self) -> Provider {
        self.protocol.provider()
    }

    /// Returns the model that the request names.
    pub(crate) fn requested_model(&self) -> Option<&str> {
        self.requested_model.as_deref()
    }

    /// Returns the company that bills the request, as price tables name it.
    pub(crate) fn biller(&self) -> Option<&str> {
        self.used.provider.as_deref()
    }

    /// Returns true after the end of the message. The usage may follow.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Reads the next bytes of the response.
    pub fn push(&mut self, bytes: &[u8]) {
        let events = self.protocol.push(bytes);
        self.read(events);
    }

    /// Returns the usage at the end of the response, even if it broke off.
    pub fn finish(self) -> Option<ModelUsage> {
        self.finish_with_error().used
    }

    /// Returns the usage at the end of the response, with the error that the response reported.
    pub(crate) fn finish_with_error(mut self) -> Observed {
        let events = self.protocol.finish();
        self.read(events);
        let error = self.error.take();
        Observed {
            used: self.into_usage(),
            error,
        }
    }

    fn into_usage(mut self) -> Option<ModelUsage> {
        if !self.has_usage && self.used.response_id.is_none() && self.used.tool_calls.is_empty() {
            return None;
        }
        if self.used.model.is_empty() {
            self.used.model = self.requested_model.unwrap_or_default().into();
        }
        Some(self.used)
    }

    fn read(&mut self, events: Vec<Event>) {
        let used = &mut self.used;
        for event in events {
            match event {
                Event::Response { id, model } => {
                    used.response_id = id.or(used.response_id.take());
                    used.model = model.map_or(std::mem::take(&mut used.model), Cow::Owned);
                }
                Event::ServiceTier(tier) => used.service_tier = Some(tier.into()),
                Event::Usage(usage) => (used.usage, self.has_usage) = (usage, true),
                Event::CallStarted { id, name } if used.tool_calls.len() < MAX_CALLS => {
                    used.tool_calls.push((id, name));
                }
                Event::Cancelled(ids) => used.tool_calls.retain(|(id, _)| !ids.contains(id)),
                Event::Finished(_) => self.has_ended = true,
                Event::Error(error @ ProtocolError::Provider { .. }) => {
                    self.error.get_or_insert(error);
                }
                _ => {}
            }
        }
    }
}

debug_only!(Observer, |this| provider: this.provider());

fn host_and_path(url: &str) -> Option<(String, &str)> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let with_port = authority.rsplit('@').next()?;
    // An IPv6 address in brackets has colons too.
    let host = with_port
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'))
        .map_or(with_port, |(host, _)| host);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((host.to_ascii_lowercase(), path.trim_end_matches('/')))
}

/// Returns the provider whose protocol a URL speaks, and the model that the path names. Providers
/// with a domain are recognized by it, the others by the path alone.
fn provider_and_model(host: &str, path: &str) -> Option<(Provider, Option<String>)> {
    let path = UrlPath::new(path)?;
    let is_subdomain = |rest: &str| rest.is_empty() || rest.ends_with('.');
    let has_domain = |domain: Option<&str>| {
        domain
            .and_then(|domain| host.strip_suffix(domain))
            .is_some_and(is_subdomain)
    };
    let all = || {
        Provider::ALL
            .into_iter()
            .filter_map(|provider| Some((provider, provider.spec().urls?)))
    };
    let by_domain = all().filter(|(_, urls)| has_domain(urls.domain));
    let mut candidates = by_domain.chain(all().filter(|(_, urls)| urls.domain.is_none()));
    candidates.find_map(|(provider, urls)| Some((provider, (urls.model)(&path)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::biller::BillerLookup;
    use proptest::prelude::*;
    use tool_adapters_providers::spec::Endpoint;
    use tool_core::trace::TokenUsage;

    /// Reads a response whole and in all pieces. Returns the usage, which has to be the same each
    /// time.
    fn read_in_pieces(observer: impl Fn() -> Observer, response: &[u8]) -> Option<ModelUsage> {
        let read = |chunks: &mut dyn Iterator<Item = &[u8]>| {
            let mut observer = observer();
            chunks.for_each(|chunk| observer.push(chunk));
            observer.finish()
        };
        let whole = read(&mut [response].into_iter());
        for at in 0..=response.len() {
            let (before, after) = response.split_at(at);
            assert_eq!(read(&mut [before, after].into_iter()), whole, "cut at {at}");
        }
        assert_eq!(read(&mut response.chunks(1)), whole, "one byte at a time");
        whole
    }

    fn usage(input: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        }
    }

    #[test]
    fn reads_the_stream_of_each_provider_in_any_pieces() {
        let cases = [
            (
                Provider::OpenAiChat,
                "data: {\"id\":\"r\",\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"add\",\"arguments\":\"{}\"}}]}}]}\n\n\
                 data: {\"id\":\"r\",\"model\":\"gpt-5\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
                ModelUsage::new("gpt-5", usage(9, 2))
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
            (
                Provider::OpenAiResponses,
                "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"gpt-5\"}}\n\n\
                 data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"c\",\"name\":\"add\",\"arguments\":\"{}\"}}\n\n\
                 data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"model\":\"gpt-5\",\"status\":\"completed\",\"output\":[],\"service_tier\":\"flex\",\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}}\n\n",
                ModelUsage::new("gpt-5", usage(9, 2))
                    .service_tier("flex")
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
            (
                Provider::Anthropic,
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"r\",\"model\":\"claude-opus-4-5\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n\
                 data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"add\",\"input\":{}}}\n\n\
                 data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
                ModelUsage::new("claude-opus-4-5", usage(9, 2))
                    .provider("anthropic")
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
            (
                Provider::Gemini,
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"c\",\"name\":\"add\",\"args\":{}}}]},\"finishReason\":\"STOP\"}],\"responseId\":\"r\",\"modelVersion\":\"gemini-3-pro\",\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":2}}\n\n",
                ModelUsage::new("gemini-3-pro", usage(9, 2))
                    .provider("google")
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
            (
                Provider::Mistral,
                "{\"id\":\"r\",\"model\":\"mistral-large-latest\",\"choices\":[{\"index\":0,\"message\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"add\",\"arguments\":{}}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}",
                ModelUsage::new("mistral-large-latest", usage(9, 2))
                    .provider("mistral")
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
            (
                Provider::Cohere,
                "data: {\"type\":\"message-start\",\"id\":\"r\"}\n\ndata: {\"type\":\"tool-call-start\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"c\",\"function\":{\"name\":\"add\",\"arguments\":\"{}\"}}}}}\n\n\
                 data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"TOOL_CALL\",\"usage\":{\"billed_units\":{\"input_tokens\":9,\"output_tokens\":2}}}}\n\n",
                ModelUsage::new("", usage(9, 2))
                    .provider("cohere")
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
            (
                Provider::Ollama,
                "{\"model\":\"llama3.2\",\"message\":{\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"add\",\"arguments\":{}}}]}}\n\
                 {\"model\":\"llama3.2\",\"done\":true,\"prompt_eval_count\":9,\"eval_count\":2}\n",
                ModelUsage::new("llama3.2", usage(9, 2))
                    .provider("ollama")
                    .tool_call("c", "add"),
            ),
            (
                Provider::OpenAiRealtime,
                "{\"type\":\"session.created\",\"session\":{\"model\":\"gpt-realtime\"}}\n{\"type\":\"response.done\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"c\",\"name\":\"add\",\"arguments\":\"{}\"}],\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}}\n",
                ModelUsage::new("gpt-realtime", usage(9, 2))
                    .provider("openai")
                    .response_id("r")
                    .tool_call("c", "add"),
            ),
        ];
        for (provider, stream, expected) in cases {
            assert_eq!(
                read_in_pieces(|| Observer::new(provider), stream.as_bytes()).as_ref(),
                Some(&expected),
                "{provider}"
            );
        }
    }

    #[test]
    fn leaves_out_the_calls_of_a_refused_model() {
        let call = |id: &str, index: u32| {
            format!(
                r#"data: {{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"{id}","name":"add","input":{{}}}}}}"#
            )
        };
        let parts = [
            r#"data: {"type":"message_start","message":{"id":"r","model":"claude-a","content":[]}}"#.to_owned(),
            call("c1", 0),
            r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"fallback","from":{"model":"claude-a"},"to":{"model":"claude-b"}}}"#.to_owned(),
            call("c2", 2),
            r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned(),
            r#"data: {"type":"message_stop"}"#.to_owned(),
        ];
        let stream = parts.join("\n\n") + "\n\n";
        let used = read_in_pieces(|| Observer::new(Provider::Anthropic), stream.as_bytes());
        let calls = used.map(|used| used.tool_calls);
        assert_eq!(calls, Some(vec![("c2".to_owned(), "add".to_owned())]));
    }

    /// Returns a frame of AWS's event stream.
    fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
        let headers = headers.iter().flat_map(|(name, value)| {
            let length = |text: &str| u16::try_from(text.len()).expect("short").to_be_bytes();
            [
                &[u8::try_from(name.len()).expect("short")][..],
                name.as_bytes(),
                &[7],
                &length(value),
                value.as_bytes(),
            ]
            .concat()
        });
        let headers = headers.collect::<Vec<_>>();
        let lengths = [16 + headers.len() + payload.len(), headers.len()];
        let lengths = lengths
            .map(|length| u32::try_from(length).expect("short").to_be_bytes())
            .concat();
        let with_checksum =
            |bytes: Vec<u8>| [&*bytes, &crc32fast::hash(&bytes).to_be_bytes()].concat();
        let prelude = with_checksum(lengths);
        with_checksum([&*prelude, &headers, payload.as_bytes()].concat())
    }

    fn bedrock() -> Vec<u8> {
        let event = |name, payload| {
            frame(
                &[
                    (":event-type", name),
                    (":content-type", "application/json"),
                    (":message-type", "event"),
                ],
                payload,
            )
        };
        [
            event("messageStart", r#"{"role":"assistant","p":"abc"}"#),
            event(
                "contentBlockStart",
                r#"{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"c","name":"add"}},"p":"abcd"}"#,
            ),
            event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}"#),
            event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
            event("messageStop", r#"{"stopReason":"tool_use"}"#),
            event(
                "metadata",
                r#"{"usage":{"inputTokens":9,"outputTokens":2,"totalTokens":11},"metrics":{"latencyMs":1}}"#,
            ),
        ]
        .concat()
    }

    #[test]
    fn reads_bedrocks_binary_stream_in_any_pieces() {
        let url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream";
        let observer = || Observer::for_url("POST", url).expect("a model's URL");
        let expected = ModelUsage::new("anthropic.claude-sonnet-4-5-20250929-v1:0", usage(9, 2))
            .provider("aws");
        assert_eq!(
            read_in_pieces(observer, &bedrock()),
            Some(expected.tool_call("c", "add"))
        );
    }

    #[test]
    fn returns_nothing_for_a_response_without_usage() {
        for (provider, response) in [
            (
                Provider::OpenAiChat,
                r#"{"error":{"message":"no such key","type":"invalid_request_error"}}"#,
            ),
            (
                Provider::Anthropic,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            (Provider::Gemini, "<html><body>502</body></html>"),
            (Provider::Bedrock, "\0\0\0\u{1}nonsense that is no frame"),
            (Provider::Mcp, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            (Provider::Ollama, ""),
        ] {
            assert_eq!(
                observe_response(provider, response.as_bytes()),
                None,
                "{provider}"
            );
        }
    }

    #[test]
    fn uses_the_requested_model_if_the_response_names_none() {
        let answer =
            br#"{"id":"r","message":{"content":"Hi"},"usage":{"tokens":{"input_tokens":9,"output_tokens":2}}}"#;
        let used = |bodies: &[&[u8]]| {
            let mut observer =
                Observer::for_url("post", "https://api.cohere.com/v2/chat").expect("a model's URL");
            for body in bodies {
                observer.request(body);
            }
            observer.push(answer);
            observer.finish()
        };
        let body = br#"{"model":"command-a-03-2025","messages":[]}"#;
        let expected = ModelUsage::new("command-a-03-2025", usage(9, 2))
            .provider("cohere")
            .response_id("r");
        assert_eq!(used(&[body]), Some(expected.clone()));
        // An invalid body changes nothing.
        assert_eq!(used(&[body, b"model=x"]), Some(expected));
    }

    #[test]
    fn reads_the_usage_of_an_embedding() {
        let answer = br#"{"object":"list","data":[{"embedding":[0.1]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":9,"total_tokens":9}}"#;
        let observer = || {
            Observer::for_url("POST", "https://api.openai.com/v1/embeddings")
                .expect("a model's URL")
        };
        assert_eq!(
            read_in_pieces(observer, answer).map(|used| (used.model, used.usage)),
            Some(("text-embedding-3-small".into(), usage(9, 0)))
        );
    }

    #[test]
    fn limits_the_number_of_recorded_calls() {
        let call = r#"{"index":0,"id":"c","function":{"name":"add","arguments":"{}"}}"#;
        let calls = (0..1_000)
            .map(|at| call.replace("\"c\"", &format!("\"c{at}\"")))
            .collect::<Vec<_>>()
            .join(",");
        let answer =
            format!(r#"{{"choices":[{{"index":0,"message":{{"tool_calls":[{calls}]}}}}]}}"#);
        let used = observe_response(Provider::OpenAiChat, answer.as_bytes()).expect("calls");
        assert_eq!(used.tool_calls.len(), MAX_CALLS);
    }

    // The price table is a layer above, whose own test holds the billers of these hosts.
    inventory::submit! {
        BillerLookup(|url| {
            let hosts = [
                ("api.openai.com", "openai"),
                ("api.groq.com", "groq"),
                ("openrouter.ai", "openrouter"),
                ("azure.com", "azure"),
                ("aiplatform.googleapis.com", "google"),
                ("api.deepseek.com", "deepseek"),
            ];
            let found = hosts.into_iter().find(|(host, _)| url.contains(host))?;
            Some(found.1)
        })
    }

    #[test]
    fn recognizes_providers_by_path_and_host() {
        let recognized = |url: &str| {
            Observer::for_url("POST", url).map(|observer| {
                let model = observer.requested_model.clone();
                let biller = observer.used.provider.clone();
                (
                    observer.provider(),
                    model.unwrap_or_default(),
                    biller.unwrap_or_default().into_owned(),
                )
            })
        };
        for (url, provider, model, billed_by) in [
            (
                "https://api.openai.com/v1/chat/completions",
                Provider::OpenAiChat,
                "",
                "openai",
            ),
            (
                "https://api.openai.com/v1/responses",
                Provider::OpenAiResponses,
                "",
                "openai",
            ),
            (
                "https://api.groq.com/openai/v1/chat/completions",
                Provider::OpenAiChat,
                "",
                "groq",
            ),
            (
                "https://openrouter.ai/api/v1/chat/completions",
                Provider::OpenAiChat,
                "",
                "openrouter",
            ),
            (
                "http://127.0.0.1:8080/v1/chat/completions?x=1#y",
                Provider::OpenAiChat,
                "",
                "",
            ),
            (
                "https://u:p@[::1]:8443/v1/responses/",
                Provider::OpenAiResponses,
                "",
                "",
            ),
            (
                "https://me.openai.azure.com/openai/deployments/gpt%2D5-mini/chat/completions?api-version=2025-01-01",
                Provider::OpenAiChat,
                "gpt-5-mini",
                "azure",
            ),
            (
                "https://me.services.ai.azure.com/anthropic/v1/messages",
                Provider::Anthropic,
                "",
                "azure",
            ),
            (
                "https://api.anthropic.com/v1/messages",
                Provider::Anthropic,
                "",
                "anthropic",
            ),
            (
                "http://[::1]/v1/messages",
                Provider::Anthropic,
                "",
                "anthropic",
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
                Provider::Gemini,
                "gemini-2.5-flash",
                "google",
            ),
            (
                "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict",
                Provider::Anthropic,
                "claude-opus-4-5@20251101",
                "google",
            ),
            (
                "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.amazon.nova-pro-v1%3A0/converse",
                Provider::Bedrock,
                "eu.amazon.nova-pro-v1:0",
                "aws",
            ),
            (
                "https://API.MISTRAL.AI/v1/chat/completions",
                Provider::Mistral,
                "",
                "mistral",
            ),
            (
                "https://api.cohere.com/v2/chat",
                Provider::Cohere,
                "",
                "cohere",
            ),
            (
                "http://localhost:11434/api/chat",
                Provider::Ollama,
                "",
                "ollama",
            ),
            (
                "https://api.deepseek.com/chat/completions",
                Provider::OpenAiChat,
                "",
                "deepseek",
            ),
        ] {
            assert_eq!(
                recognized(url),
                Some((provider, model.to_owned(), billed_by.to_owned())),
                "{url}"
            );
        }
        for url in [
            "https://api.openai.com/v1/models",
            "https://api.anthropic.com/v1/messages/count_tokens",
            "https://api.anthropic.com/v1/messages/batches",
            "https://api.openai.com/v1/responses/resp_1/cancel",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens",
            "https://example.com/chat",
            "https://example.com",
            "v1/chat/completions",
            "",
        ] {
            assert_eq!(recognized(url), None, "{url}");
        }
        assert!(Observer::for_url("GET", "https://api.openai.com/v1/responses").is_none());
    }

    #[test]
    fn recognizes_every_provider_at_its_own_server() {
        for provider in Provider::ALL {
            let spec = provider.spec();
            let Endpoint::Http(http) = spec.endpoint else {
                continue;
            };
            let base = http.server.base_url.replace("{region}", "eu-west-1");
            let is_hosted = base.starts_with("https://");
            if !is_hosted && spec.urls.is_none() {
                // A server on this machine is known by the form of its answers only.
                continue;
            }
            let url = format!("{base}/{}", (http.path)("m", true).join("/"));
            let observer = Observer::for_url("POST", &url)
                .unwrap_or_else(|| panic!("{provider} needs `urls` for {url}"));
            // Interfaces with the same conversation are read by one protocol.
            let recognized = observer.provider().spec();
            assert_eq!(recognized.names.turns, spec.names.turns, "{url}");
            if let Some(biller) = spec.names.biller {
                assert_eq!(observer.biller(), Some(biller), "{url}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn reads_any_bytes_without_a_panic(provider in prop::sample::select(&Provider::ALL[..]), chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6)) {
            let mut observer = Observer::new(provider);
            for chunk in &chunks {
                observer.push(chunk);
            }
            observer.finish();
            // A binary stream with one changed byte.
            let mut frames = bedrock();
            let byte = chunks.iter().flatten().next().copied().unwrap_or(7);
            let at = usize::from(byte) * 3 % frames.len();
            frames[at] ^= byte;
            observe_response(Provider::Bedrock, &frames);
        }

        #[test]
        fn reads_any_url_without_a_panic(url in "(https?://)?[a-z%:@\\[\\]./?#-]{0,60}(:generateContent|/chat/completions|/converse)?") {
            Observer::for_url("POST", &url);
        }
    }
}
