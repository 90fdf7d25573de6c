//! The providers by their specs, and the protocol of a provider.

use crate::providers::codec::{CallIds, EventSink, MessageReader, ToolAnswer};
use crate::providers::event::{Event, ProtocolError, malformed, unparsed};
use crate::providers::framing::frame::{Frame, is_too_large_to_parse};
use crate::providers::framing::framer::{Framer, Framing};
use crate::providers::lenient::surrogates_replaced;
use crate::providers::provider::Provider;
use crate::providers::request::Request;
use crate::providers::spec::ProviderSpec;
use crate::providers::{
    anthropic, bedrock, cohere, gemini, gemini_live, mcp, mistral, ollama, openai_chat, openai_realtime,
    openai_responses,
};
use serde_json::Value;
use tool_core::ToolResponse;
use tool_core::call::ResultForm;
use tool_core::json::is_nested_too_deep;

/// Reads a provider's messages and writes requests and results. It does no I/O: bytes go in, events come out.
///
/// A protocol serves one conversation. [`finish`](Self::finish) ends a message; the ids of its calls are kept, so that
/// [`encode`](Self::encode) answers under the ids that the provider gave.
///
/// ```
/// use tool_adapters::providers::{Event, Protocol};
/// use tool_adapters::{Provider, protocol};
/// use tool_core::serde_json::Value;
/// use tool_core::{Mode, Runtime, Session, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Runs the calls of an answer, and returns their results in the form of the provider.
/// async fn answer(protocol: &mut dyn Protocol, session: &Session, body: &[u8]) -> Value {
///     let mut events = protocol.push(body);
///     events.extend(protocol.finish());
///     let calls = events.into_iter().filter_map(|event| match event {
///         Event::Call(call) => Some(call),
///         _ => None,
///     });
///     protocol.encode(&session.call_all(calls).await)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// let session = runtime.session("chat-42", Mode::Text).await?;
/// let body = br#"{"type": "message", "role": "assistant", "stop_reason": "tool_use",
///     "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}]}"#;
/// let results = answer(&mut *protocol(Provider::Anthropic), &session, body).await;
/// assert_eq!(results["content"][0]["tool_use_id"], "toolu_1");
/// # Ok(())
/// # }
/// ```
pub trait Protocol: Send {
    /// Returns the provider.
    fn provider(&self) -> Provider;

    /// Names the framing of the next message, as a transport knows it from the content type. Without it the first byte
    /// that is not white space decides: `{` and `[` begin JSON, a zero byte begins AWS's binary frames, and everything
    /// else server-sent events.
    fn framing(&mut self, framing: Framing);

    /// Reads the next bytes of a message. They may be cut anywhere, in the middle of a character too.
    fn push(&mut self, bytes: &[u8]) -> Vec<Event>;

    /// Reads one parsed event, or a parsed whole answer.
    fn push_event(&mut self, event: &Value) -> Vec<Event>;

    /// Ends the message and returns the events of what was still open. A call whose arguments were cut off is returned
    /// as it is, after the error that says so, so that it gets an answer.
    fn finish(&mut self) -> Vec<Event>;

    /// Writes the messages that answer calls, in the provider's form, for the end of the conversation.
    fn encode(&self, responses: &[ToolResponse]) -> Value;

    /// Sets the form of results in [`encode`](Self::encode). Defaults to [`ResultForm::Plain`].
    fn result_form(&mut self, form: ResultForm);

    /// Writes the body of a request, or the message that sets up the session of a WebSocket protocol.
    fn request(&self, request: &Request<'_>) -> Value;
}

/// Returns the protocol of a provider.
///
/// ```
/// use tool_adapters::providers::Event;
/// use tool_adapters::{Provider, protocol};
///
/// let mut protocol = protocol(Provider::Anthropic);
/// let answer = br#"{"type": "message", "role": "assistant", "stop_reason": "tool_use",
///     "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}]}"#;
/// let (first, second) = answer.split_at(70);
/// let mut events = protocol.push(first);
/// events.extend(protocol.push(second));
/// let call = events.iter().find_map(|event| match event {
///     Event::Call(call) => Some(call),
///     _ => None,
/// });
/// assert_eq!(call.map(|call| (call.id(), call.name())), Some(("toolu_1", "add")));
/// ```
pub fn protocol(provider: Provider) -> Box<dyn Protocol> {
    Box::new(ProviderProtocol {
        provider,
        reader: (provider.spec().reader)(),
        framer: Framer::default(),
        ids: CallIds::default(),
        form: ResultForm::default(),
    })
}

/// The protocol of any provider: its spec reads and writes, the rest is the same for all.
struct ProviderProtocol {
    provider: Provider,
    reader: Box<dyn MessageReader>,
    framer: Framer,
    ids: CallIds,
    form: ResultForm,
}

impl Protocol for ProviderProtocol {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn framing(&mut self, framing: Framing) {
        self.framer.name(framing);
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        // The usual number of events of one call with the beginning and the end of its message.
        let mut events = Vec::with_capacity(7);
        let mut sink = EventSink { events: &mut events, ids: &mut self.ids };
        self.framer.push(bytes, &mut |frame| read(&mut *self.reader, frame, &mut sink));
        events
    }

    fn push_event(&mut self, event: &Value) -> Vec<Event> {
        let mut events = Vec::new();
        let mut sink = EventSink { events: &mut events, ids: &mut self.ids };
        if is_nested_too_deep(event) {
            sink.error(malformed("an event nests deeper than 128", ""));
        } else {
            read(&mut *self.reader, Frame::Event { name: "", text: &event.to_string() }, &mut sink);
        }
        events
    }

    fn finish(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut sink = EventSink { events: &mut events, ids: &mut self.ids };
        self.framer.finish(&mut |frame| read(&mut *self.reader, frame, &mut sink));
        self.reader.finish(&mut sink);
        // The framing and the reader both report a message that is cut off.
        let mut reported = false;
        let cut = |event: &Event| matches!(event, Event::Error(ProtocolError::Truncated { call_id: None }));
        events.retain(|event| !cut(event) || !std::mem::replace(&mut reported, true));
        events
    }

    fn encode(&self, responses: &[ToolResponse]) -> Value {
        let answers = responses.iter().map(|response| {
            let call = self.ids.get(response.meta().call_id().unwrap_or_default());
            ToolAnswer { response, call, result: response.for_model(self.form) }
        });
        (self.provider.spec().encode)(&answers.collect::<Vec<_>>(), &self.ids)
    }

    fn result_form(&mut self, form: ResultForm) {
        self.form = form;
    }

    fn request(&self, request: &Request<'_>) -> Value {
        let write = self.provider.spec().request;
        match request.declarations.written_history(request.history) {
            Some(history) => write(&Request { history: &history, ..*request }),
            None => write(request),
        }
    }
}

/// Passes a frame to the reader; returns false for an attempt that is not JSON.
fn read(reader: &mut dyn MessageReader, frame: Frame<'_>, sink: &mut EventSink<'_>) -> bool {
    let (name, text, is_attempt) = match frame {
        Frame::Event { name, text } => (name, text, false),
        Frame::Attempt(text) => ("", text, true),
        Frame::Done => {
            reader.read_done(sink);
            return true;
        }
        Frame::Problem(error) => {
            sink.error(error);
            return true;
        }
    };
    if is_too_large_to_parse(text) {
        if !is_attempt {
            sink.error(malformed("an event has too many values to be kept", text));
        }
        return !is_attempt;
    }
    let before = sink.events.len();
    let Err(error) = reader.read(name, text, sink) else { return true };
    if is_attempt && sink.events.len() == before {
        return false;
    }
    sink.error(unparsed(error, text));
    // Some servers cut a string in the middle of a character. The rest of the event is read without it.
    if let Some(Err(error)) = surrogates_replaced(text).map(|text| reader.read(name, &text, sink)) {
        sink.error(unparsed(error, text));
    }
    true
}

impl Provider {
    /// Returns the facts of the provider.
    pub(crate) const fn spec(self) -> &'static ProviderSpec {
        match self {
            Self::OpenAiChat => &openai_chat::SPEC,
            Self::OpenAiResponses => &openai_responses::SPEC,
            Self::OpenAiRealtime => &openai_realtime::SPEC,
            Self::Anthropic => &anthropic::SPEC,
            Self::Gemini => &gemini::SPEC,
            Self::GeminiJsonSchema => &gemini::JSON_SCHEMA_SPEC,
            Self::GeminiLive => &gemini_live::SPEC,
            Self::Bedrock => &bedrock::SPEC,
            Self::Mistral => &mistral::SPEC,
            Self::Cohere => &cohere::SPEC,
            Self::Ollama => &ollama::SPEC,
            Self::Mcp => &mcp::SPEC,
        }
    }
}
