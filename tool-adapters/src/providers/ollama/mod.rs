//! Ollama's chat: lines of JSON, whole calls with arguments as objects, mostly without ids.

#[cfg(test)]
mod tests;

use crate::providers::body;
use crate::providers::body::{add_tools, merged, object_arguments, system, wire_name};
use crate::providers::calls::Calls;
use crate::providers::codec::{Answer, Codec, Framed, Out};
use crate::providers::event::{Event, Finish, Origin, ProtocolError, Request};
use crate::providers::fields::{Count, Object, Objects, Text};
use crate::providers::ids::Wire;
use crate::providers::openai_chat::wire::Entry;
use crate::providers::provider::Provider;
use crate::providers::spec::{BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, segments};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::session::{Message, ToolChoice};
use tool_core::trace::TokenUsage;

/// The facts of Ollama's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "ollama",
    otel_name: "ollama",
    biller: Some("ollama"),
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "http://127.0.0.1:11434",
            base_url_env: &["OLLAMA_HOST"],
            region_env: &[],
            key_env: &["OLLAMA_API_KEY"],
            key_header: BEARER,
            key_required: false,
        },
        headers: &[],
        path: |_, _| segments(&["api", "chat"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls { domain: None, model: |path| ((path.parent, path.last) == ("api", "chat")).then_some(None) }),
    binary_frames: false,
};

/// The protocol.
pub(crate) type Ollama = Framed<OllamaCodec>;

#[derive(Debug, Default)]
pub(crate) struct OllamaCodec {
    calls: Calls<usize>,
    /// How many calls the message has.
    count: usize,
    origin: Origin,
    begun: bool,
}

#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    message: Object<Said<'a>>,
    #[serde(borrow, default)]
    done: Text<'a>,
    #[serde(borrow, default)]
    done_reason: Text<'a>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
}

impl Line<'_> {
    fn is_last(&self) -> bool {
        self.done.or_empty() == "true"
    }
}

#[derive(Debug, Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Objects<Entry<'a>>,
}

impl Codec for OllamaCodec {
    fn provider(&self) -> Provider {
        Provider::Ollama
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        let Some(Object(line)) = out.parse::<Object<Line<'_>>>(text) else { return };
        let Some(line) = line.filter(|line| line.message.is_some() || line.is_last()) else {
            return out.provider_error(text);
        };
        self.begun = true;
        self.origin.tell("", line.model.or_empty(), out);
        if let Some(said) = &*line.message {
            out.reasoning(said.thinking.or_empty());
            out.text(said.content.or_empty());
            for called in &said.tool_calls.0 {
                self.call(called, out);
            }
        }
        if line.is_last() {
            let (input, output) = (line.prompt_eval_count.0, line.eval_count.0);
            out.push(Event::Usage(TokenUsage { input, output, ..TokenUsage::default() }));
            let finish = match line.done_reason.or_empty() {
                "stop" | "" if self.count > 0 => Finish::ToolCalls,
                "stop" | "" => Finish::Stop,
                "length" => Finish::Length,
                other => Finish::Other(other.to_owned()),
            };
            out.push(Event::Finished(finish));
            *self = Self::default();
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        if std::mem::take(self).begun {
            out.error(ProtocolError::Truncated { call_id: None });
        }
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        let id = |answer: &Answer<'_>| answer.wire.map(|wire| wire.id.clone()).filter(|id| !id.is_empty());
        answers.iter().map(|answer| result(answer.name(), id(answer).as_deref(), &answer.result)).collect()
    }

    fn request(&self, request: &Request<'_>) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), request.model.into());
        let history = request.history.iter().filter_map(|message| told(message, request));
        body.insert("messages".to_owned(), system(request).into_iter().chain(history).collect());
        // There is no choice to be made: without the tools it cannot call them.
        if request.tool_choice != ToolChoice::None {
            add_tools(&mut body, request, ("none", "required"));
            body.remove("tool_choice");
        }
        // It streams unless told otherwise.
        body.insert("stream".to_owned(), request.stream.into());
        if let Some(most) = request.max_tokens {
            body.insert("options".to_owned(), json!({"num_predict": most}));
        }
        merged(body, request)
    }
}

impl OllamaCodec {
    /// A call, which always comes whole.
    fn call(&mut self, called: &Entry<'_>, out: &mut Out<'_>) {
        let Some(function) = &*called.function else { return };
        let key = self.count;
        self.count += 1;
        let (id, name) = (called.id.or_empty().to_owned(), function.name.or_empty().to_owned());
        self.calls.begin(key, Wire { id, name, kind: "" });
        self.calls.append(&key, &function.arguments.text(), out);
        self.calls.whole(&key, out);
    }
}

fn told(message: &Message, request: &Request<'_>) -> Option<Value> {
    match message {
        Message::User(text) => Some(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            text.as_deref().map(|text| json!({"role": "assistant", "content": text}))
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| {
                let arguments = object_arguments(call.arguments());
                json!({"function": {"name": wire_name(request, call.name()), "arguments": arguments}})
            });
            let text = text.as_deref().unwrap_or_default();
            Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
        }
        Message::Result { tool, result: told, .. } => Some(result(&wire_name(request, tool), None, told)),
        _ => None,
    }
}

/// A result: by the tool's name, and by the id where the server gives ids. Images stand beside the text.
fn result(name: &str, id: Option<&str>, result: &ModelResult) -> Value {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    match result.content() {
        None => texts.push(result.text.clone()),
        Some(parts) => parts.into_iter().for_each(|part| match part {
            Content::Image { data, .. } => images.push(data),
            part => texts.push(body::text_of(&part)),
        }),
    }
    let mut message = json!({"role": "tool", "tool_name": name, "content": texts.join("\n")});
    if let Some(id) = id {
        message["tool_call_id"] = id.into();
    }
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}
