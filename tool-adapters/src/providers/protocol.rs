//! Protocols: a provider's messages and stream events to calls, and responses to its result messages. No I/O.

pub use crate::providers::event::{Event, Finish, ProtocolError, Request};
use crate::providers::provider::Provider;
use crate::providers::{
    anthropic, bedrock, codec, cohere, gemini, gemini_live, mcp, mistral, ollama, openai_chat, openai_realtime,
    openai_responses,
};
use serde_json::Value;
use tool_core::ToolResponse;
use tool_core::call::ResultForm;

/// What reads a provider's messages and writes ours. Pure: bytes in, events out; it goes on wherever a chunk was cut.
///
/// One serves a conversation: [`finish`](Self::finish) ends a message, and what it knows of the calls' ids stays, so
/// that [`encode`](Self::encode) answers under the ids that the provider gave.
pub trait Protocol: Send {
    /// The provider whose protocol it is.
    fn provider(&self) -> Provider;

    /// Reads the next bytes of a message: server-sent events, lines of JSON, or a whole answer as one JSON text. They
    /// may be cut anywhere, in the middle of a character too.
    fn push(&mut self, bytes: &[u8]) -> Vec<Event>;

    /// Reads one event, or a whole answer, that is already parsed.
    fn push_event(&mut self, event: &Value) -> Vec<Event>;

    /// The message is over: what was still open is told. A call whose arguments were cut off is told as it stands,
    /// after the error that says so, so that it gets its answer.
    fn finish(&mut self) -> Vec<Event>;

    /// The messages that answer calls, in the provider's form, to be added to the conversation.
    fn encode(&self, responses: &[ToolResponse]) -> Value;

    /// Sets the form in which [`encode`](Self::encode) tells results; plain unless told. L18
    fn result_form(&mut self, form: ResultForm);

    /// The body of a request: the conversation, the tools, the settings. For the WebSocket protocols the message that
    /// sets up the session.
    fn request(&self, request: &Request<'_>) -> Value;
}

/// The protocol of a provider.
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
    match provider {
        Provider::Anthropic => Box::<codec::Framed<anthropic::Anthropic>>::default(),
        Provider::Gemini => Box::<codec::Framed<gemini::Gemini>>::default(),
        Provider::GeminiJsonSchema => Box::new(codec::Framed::new(gemini::Gemini::json_schema())),
        Provider::GeminiLive => Box::<codec::Framed<gemini_live::GeminiLive>>::default(),
        Provider::Bedrock => Box::<codec::Framed<bedrock::Bedrock>>::default(),
        Provider::Mcp => Box::<mcp::Mcp>::default(),
        Provider::OpenAiChat => Box::<openai_chat::OpenAiChat>::default(),
        Provider::OpenAiResponses => Box::<openai_responses::OpenAiResponses>::default(),
        Provider::OpenAiRealtime => Box::<openai_realtime::OpenAiRealtime>::default(),
        Provider::Mistral => Box::<mistral::Mistral>::default(),
        Provider::Cohere => Box::<cohere::Cohere>::default(),
        Provider::Ollama => Box::<ollama::Ollama>::default(),
    }
}
