//! From the server's messages to events.

use crate::providers::codec::{EventSink, MessageReader};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::gemini::parts::{PartItems, read_call, read_parts};
use crate::providers::gemini::wire::{FunctionCall, UsageMetadata, WireContent};
use crate::providers::lenient::{LenientObject, LenientObjects, LenientText, RawJson};
use serde::Deserialize;

/// Reads Live.
#[derive(Debug, Default)]
pub(crate) struct LiveReader {
    /// True after the beginning of a turn, until its end.
    begun: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ServerMessage<'a> {
    #[serde(alias = "server_content")]
    server_content: LenientObject<ServerContent<'a>>,
    #[serde(alias = "tool_call")]
    tool_call: LenientObject<ServerCalls<'a>>,
    #[serde(alias = "tool_call_cancellation")]
    tool_call_cancellation: LenientObject<Cancellation<'a>>,
    #[serde(alias = "usage_metadata")]
    usage_metadata: LenientObject<UsageMetadata>,
    error: RawJson<'a>,
    /// For the transport: the connection will be closed soon.
    #[serde(alias = "go_away")]
    go_away: RawJson<'a>,
    /// For the transport: the handle for resuming the session.
    #[serde(alias = "session_resumption_update")]
    session_resumption_update: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ServerContent<'a> {
    #[serde(alias = "model_turn")]
    model_turn: LenientObject<WireContent<'a>>,
    #[serde(alias = "turn_complete")]
    turn_complete: LenientText<'a>,
    #[serde(alias = "turn_complete_reason")]
    turn_complete_reason: LenientText<'a>,
    #[serde(alias = "generation_complete")]
    generation_complete: LenientText<'a>,
    interrupted: LenientText<'a>,
    /// The user's speech.
    #[serde(alias = "input_transcription")]
    input_transcription: RawJson<'a>,
    /// The model's speech.
    #[serde(alias = "output_transcription")]
    output_transcription: LenientObject<Transcription<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Transcription<'a> {
    text: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ServerCalls<'a> {
    #[serde(alias = "function_calls")]
    function_calls: LenientObjects<FunctionCall<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Cancellation<'a> {
    ids: RawJson<'a>,
}

impl MessageReader for LiveReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let LenientObject(message) = serde_json::from_str::<LenientObject<ServerMessage<'_>>>(text)?;
        let Some(message) = message else { return sink.unknown(text) };
        let mut known = message.usage_metadata.is_some();
        if let Some(content) = &*message.server_content {
            known |= self.read_content(content, sink)?;
        }
        if let Some(calls) = &*message.tool_call {
            (known, self.begun) = (true, true);
            for call in &calls.function_calls.0 {
                read_call(call, text, sink);
            }
        }
        if let Some(cancellation) = &*message.tool_call_cancellation {
            known = true;
            cancel(cancellation.ids.parse().unwrap_or_default(), sink);
        }
        sink.events.extend(message.usage_metadata.map(|usage| Event::Usage(usage.usage())));
        known |= !message.error.text().is_empty() && sink.provider_error(text);
        let is_for_transport = message.go_away.0.is_some() || message.session_resumption_update.0.is_some();
        if known && !is_for_transport { Ok(()) } else { sink.unknown(text) }
    }

    /// The connection is closed.
    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::take(&mut self.begun) {
            sink.error(ProtocolError::Truncated { call_id: None });
        }
    }
}

impl LiveReader {
    /// Reads a content; returns true if all of it is known.
    fn read_content(&mut self, content: &ServerContent<'_>, sink: &mut EventSink<'_>) -> serde_json::Result<bool> {
        let mut known = content.generation_complete.is_true();
        if let Some(turn) = &*content.model_turn {
            (known, self.begun) = (true, true);
            read_parts(turn, PartItems::Other, sink)?;
        }
        if let Some(speech) = &*content.output_transcription {
            (known, self.begun) = (true, true);
            sink.text(speech.text.as_str());
        }
        if content.interrupted.is_true() {
            known = true;
            sink.push(Event::Interrupted);
        }
        if content.turn_complete.is_true() {
            (known, self.begun) = (true, false);
            sink.push(Event::Finished(match content.turn_complete_reason.as_str() {
                "" | "TURN_COMPLETE_REASON_UNSPECIFIED" => Finish::Stop,
                reason => Finish::Other(reason.to_owned()),
            }));
        }
        Ok(known && content.input_transcription.0.is_none())
    }
}

/// Withdraws calls by the server's ids. An id that the server never gave stays as it is.
fn cancel(ids: Vec<String>, sink: &mut EventSink<'_>) {
    let ours = ids.into_iter().map(|id| sink.ids.latest(&id).unwrap_or(id)).collect::<Vec<_>>();
    for id in &ours {
        sink.ids.withdraw(id);
    }
    sink.push(Event::Cancelled(ours));
}
