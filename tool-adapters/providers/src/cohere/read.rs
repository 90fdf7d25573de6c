//! The reader of answers and stream events, and the members that it reads.

use crate::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::content_blocks::{
    Beginning, BlockIdentity, ContentBlock, ContentBlocks, InputPlace, MessageProgress,
};
use crate::event::{Event, Finish, ProtocolError, malformed, out_of_place};
use crate::json_reader::{OtherMembers, json_objects};
use crate::lenient::{LenientCount, LenientObject, LenientText, RawJson, WithRaw, parse_object};
use crate::message_members::MessageMembers;
use crate::partial_calls::is_object;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::trace::TokenUsage;

/// The place of the arguments in a call.
const ARGUMENTS: InputPlace = InputPlace::Text(&["function", "arguments"]);

/// Reads Cohere's chat.
#[derive(Debug, Default)]
pub(crate) struct CohereReader {
    origin: ResponseOrigin,
    /// The plan and the members that the protocol does not know.
    members: MessageMembers,
    contents: ContentBlocks,
    calls: ContentBlocks,
    /// The parts and the calls that have ended, in the provider's form.
    content_items: Vec<Value>,
    call_items: Vec<Value>,
    citations: Vec<Value>,
    progress: MessageProgress,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
}

json_objects! {
    /// A stream event, its delta, or a whole answer.
    struct CohereEvent<'a> {
        kind: LenientText<'a> = "type",
        id: LenientText<'a>,
        index: LenientText<'a>,
        delta: RawJson<'a>,
        message: WithRaw<'a, LenientObject<CohereMessage<'a>>>,
        finish_reason: LenientText<'a>,
        usage: LenientObject<CohereUsage>,
        error: RawJson<'a>,
        error_type: LenientText<'a>,
    }

    struct CohereMessage<'a> {
        /// Always the assistant's.
        role: LenientText<'a>,
        content: RawJson<'a>,
        tool_plan: WithRaw<'a, LenientText<'a>>,
        /// An array in an answer, a single call in a stream.
        tool_calls: RawJson<'a>,
        citations: RawJson<'a>,
        ..others: OtherMembers<'a>,
    }

    struct CalledEntry<'a> {
        id: LenientText<'a>,
        function: LenientObject<CohereFunction<'a>>,
    }

    struct CohereFunction<'a> {
        name: LenientText<'a>,
        arguments: RawJson<'a>,
    }

    /// A part of the content, or a piece of one.
    struct ContentPart<'a> {
        kind: LenientText<'a> = "type",
        text: WithRaw<'a, LenientText<'a>>,
        thinking: WithRaw<'a, LenientText<'a>>,
    }

    struct CohereUsage {
        tokens: LenientObject<TokenCounts>,
        billed_units: LenientObject<TokenCounts>,
        cached_tokens: LenientCount,
    }

    #[derive(Clone, Copy, PartialEq)]
    struct TokenCounts {
        input_tokens: LenientCount,
        output_tokens: LenientCount,
    }
}

impl MessageReader for CohereReader {
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(event) = parse_object::<CohereEvent<'_>>(text)? else {
            sink.error(malformed("expected an object as an event", text));
            return Ok(());
        };
        let read = self.read_event(name, text, &event, sink);
        sink.tell(read, text)
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.progress == MessageProgress::Begun && !self.failed {
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }
}

impl CohereReader {
    /// Reads an event; returns false for an unknown one without a part of the answer.
    fn read_event(
        &mut self,
        name: &str,
        text: &str,
        event: &CohereEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        // The name of an event is its type.
        let kind = event.kind.0.as_deref().unwrap_or(name);
        let delta = event.delta.object::<CohereEvent<'_>>();
        let has_other_form = |raw: &str| !matches!(raw, "" | "null");
        let is_readable = match &delta {
            Some(delta) => delta.message.value.is_some() || !has_other_form(delta.message.raw),
            None => event.delta.0.is_none(),
        };
        if !is_readable {
            return Err(malformed(
                "expected an object as the `message` of a `delta`",
                text,
            ));
        }
        let message = delta
            .as_ref()
            .and_then(|delta| delta.message.value.as_ref());
        let required =
            || message.ok_or_else(|| malformed("expected the `message` of a piece", text));
        match kind {
            "content-start" => self.begin_content(event, required()?, text, sink)?,
            "content-delta" => self.read_content(event, required()?, text, sink)?,
            "content-end" => self.end_content(event.block_index(text)?, sink)?,
            "tool-plan-delta" => self.read_plan(required()?, text, sink)?,
            "tool-call-start" => self.begin_call(event, required()?, text, sink)?,
            "tool-call-delta" => self.read_arguments(event, required()?, text, sink)?,
            "tool-call-end" => self.end_call(event.block_index(text)?, sink)?,
            "citation-start" => self.read_citations(required()?, text)?,
            "citation-end" => {}
            "message-start" => self.begin(event, message, text, sink)?,
            "message-end" => self.read_end(delta.as_ref(), text, sink)?,
            _ if event.message.value.is_some() => self.read_answer(event, text, sink)?,
            _ if message.is_some() => {
                return Err(malformed(
                    "an event of an unknown type has a part of the answer",
                    text,
                ));
            }
            "" | "error" => return Ok(self.read_error(text, sink)),
            _ if event.error.0.is_some() => return Ok(self.read_error(text, sink)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_error(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let found = sink.provider_error(text);
        self.failed |= found;
        found
    }

    fn begin(
        &mut self,
        event: &CohereEvent<'_>,
        message: Option<&CohereMessage<'_>>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        if self.progress == MessageProgress::Ended {
            return Err(out_of_place("a message began after the end of another"));
        }
        self.origin.emit(event.id.as_str(), "", sink);
        let is_first = self.progress == MessageProgress::Nothing;
        self.progress = MessageProgress::Begun;
        match message {
            Some(message) if is_first => self.read_message(message, text, sink),
            _ => Ok(()),
        }
    }

    /// Notes that a part of the message comes. Fails after the end of the message.
    fn go_on(&mut self) -> Result<(), ProtocolError> {
        if self.progress == MessageProgress::Ended {
            return Err(out_of_place("a part of the message came after its end"));
        }
        self.progress = MessageProgress::Begun;
        Ok(())
    }

    /// Reads a whole answer.
    fn read_answer(
        &mut self,
        event: &CohereEvent<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        self.origin.emit(event.id.as_str(), "", sink);
        if let Some(message) = &*event.message.value {
            self.read_message(message, text, sink)?;
        }
        self.read_end(Some(event), text, sink)
    }

    /// Reads a whole message, or the empty one with which a stream begins.
    fn read_message(
        &mut self,
        message: &CohereMessage<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        if !matches!(message.tool_plan.raw, "" | "null") {
            self.read_plan(message, text, sink)?;
        }
        let contents = match message.content.string() {
            Some(content) => vec![Cow::Owned(
                json!({"type": "text", "text": content}).to_string(),
            )],
            None => items_of(message.content, text)?
                .into_iter()
                .map(Cow::Borrowed)
                .collect(),
        };
        for (index, part) in contents.iter().enumerate() {
            self.begin_part(index, RawJson(Some(part)), text, sink)?;
            self.end_content(index, sink)?;
        }
        for (index, call) in items_of(message.tool_calls, text)?.into_iter().enumerate() {
            self.begin_entry(index, RawJson(Some(call)), text, sink)?;
            self.end_call(index, sink)?;
        }
        if message.citations.0.is_some() {
            self.read_citations(message, text)?;
        }
        for member in &message.others.0 {
            self.members.add(&member.name, member.value()?);
        }
        Ok(())
    }

    /// Reads a piece of the plan, which is not part of the text.
    fn read_plan(
        &mut self,
        message: &CohereMessage<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        check_text(message.tool_plan.raw, text)?;
        let plan = message.tool_plan.value.as_str();
        if !plan.is_empty() {
            self.members.add_text("tool_plan", plan);
            sink.reasoning(plan);
        }
        Ok(())
    }

    fn read_citations(
        &mut self,
        message: &CohereMessage<'_>,
        text: &str,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        match message.citations.parse::<Value>() {
            Some(Value::Array(citations)) => self.citations.extend(citations),
            Some(citation @ Value::Object(_)) => self.citations.push(citation),
            _ => return Err(malformed("expected `citations`", text)),
        }
        Ok(())
    }

    fn begin_content(
        &mut self,
        event: &CohereEvent<'_>,
        message: &CohereMessage<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        self.begin_part(event.block_index(text)?, message.content, text, sink)
    }

    fn begin_part(
        &mut self,
        index: usize,
        part: RawJson<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let Some((wire, item)) = part.object::<ContentPart<'_>>().zip(part.parse::<Value>()) else {
            return Err(malformed(
                "expected an object as a part of the content",
                text,
            ));
        };
        wire.check(text)?;
        let kind = wire.kind.as_str();
        if kind.is_empty() {
            return Err(malformed(
                "expected the `type` of a part of the content",
                text,
            ));
        }
        let identity = BlockIdentity {
            kind: kind.to_owned(),
            ..BlockIdentity::default()
        };
        match self.contents.begin(index, &identity)? {
            Beginning::Open => return Ok(()),
            Beginning::InPlaceOfAnother => self.end_content(index, sink)?,
            Beginning::New => {
                sink.text(wire.text.value.as_str());
                sink.reasoning(wire.thinking.value.as_str());
            }
            Beginning::Again => {}
        }
        let is_text = matches!(kind, "text" | "thinking");
        let block = if is_text {
            ContentBlock::text(item)
        } else {
            ContentBlock::other(item)
        };
        self.contents.insert(index, identity, block);
        Ok(())
    }

    fn read_content(
        &mut self,
        event: &CohereEvent<'_>,
        message: &CohereMessage<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        let index = event.block_index(text)?;
        let Some(piece) = message.content.object::<ContentPart<'_>>() else {
            return Err(malformed(
                "expected an object as a piece of the content",
                text,
            ));
        };
        piece.check(text)?;
        let (member, piece) = match (piece.text.raw, piece.thinking.raw) {
            ("", "") => {
                return Err(malformed(
                    "expected a piece of a text or of a thought",
                    text,
                ));
            }
            ("", _) => ("thinking", piece.thinking.value.as_str()),
            _ => ("text", piece.text.value.as_str()),
        };
        let is_other = matches!(self.contents.kind(index), "text" | "thinking")
            && self.contents.kind(index) != member;
        let Some(block) = self.contents.open(index) else {
            return Err(self.contents.misplaced_piece(index, false));
        };
        if is_other {
            return Err(out_of_place(format!(
                "a piece of another kind came for part {index} of the content"
            )));
        }
        if !block.is_repeated() {
            match member {
                "text" => sink.text(piece),
                _ => sink.reasoning(piece),
            }
        }
        block.append("", member, piece, sink);
        Ok(())
    }

    fn end_content(&mut self, index: usize, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        let item = self.contents.complete(index, sink)?;
        self.content_items.extend(item);
        Ok(())
    }

    fn begin_call(
        &mut self,
        event: &CohereEvent<'_>,
        message: &CohereMessage<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        self.begin_entry(
            event.block_index(text)?,
            only_entry(message.tool_calls),
            text,
            sink,
        )
    }

    fn begin_entry(
        &mut self,
        index: usize,
        entry: RawJson<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let Some((wire, mut item)) = entry
            .object::<CalledEntry<'_>>()
            .zip(entry.parse::<Value>())
        else {
            return Err(malformed("expected an object as a call", text));
        };
        let Some(function) = wire
            .function
            .as_ref()
            .filter(|function| function.name.0.is_some())
        else {
            return Err(malformed(
                "expected the `function` of a call with its `name`",
                text,
            ));
        };
        let id = wire.id.as_str().to_owned();
        let name = function.name.as_str().to_owned();
        let identity = BlockIdentity {
            kind: "function".to_owned(),
            id: id.clone(),
            name: name.clone(),
        };
        let beginning = self.calls.begin(index, &identity)?;
        match beginning {
            Beginning::Open => return Ok(()),
            Beginning::InPlaceOfAnother => self.end_call(index, sink)?,
            Beginning::New | Beginning::Again => {}
        }

        if let Some(function) = item.get_mut("function").and_then(Value::as_object_mut) {
            function.entry("arguments").or_insert_with(|| "".into());
        }
        // The arguments of a stream begin empty, or with their first piece.
        let first = function.arguments.text();
        let whole = if is_object(&first) { &*first } else { "" };
        let block = ContentBlock::other(item).with_input(ARGUMENTS, whole);
        if beginning == Beginning::Again {
            self.calls.insert(index, identity, block);
        } else {
            self.calls.insert_call(
                index,
                identity,
                block,
                WireCall { id, name, kind: "" },
                sink,
            );
        }
        if whole.is_empty()
            && let Some(block) = self.calls.open(index)
        {
            block.append_input(first, sink);
        }
        Ok(())
    }

    fn read_arguments(
        &mut self,
        event: &CohereEvent<'_>,
        message: &CohereMessage<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.go_on()?;
        let index = event.block_index(text)?;
        let entry = only_entry(message.tool_calls).object::<CalledEntry<'_>>();
        let function = entry.as_ref().and_then(|entry| entry.function.as_ref());
        let Some(piece) = function.and_then(|function| function.arguments.string()) else {
            return Err(malformed(
                "expected a text as a piece of the `arguments` of a call",
                text,
            ));
        };
        let Some(block) = self.calls.open(index) else {
            return Err(self.calls.misplaced_piece(index, true));
        };
        block.append_input(piece, sink);
        Ok(())
    }

    fn end_call(&mut self, index: usize, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        let item = self.calls.complete(index, sink)?;
        self.call_items.extend(item);
        Ok(())
    }

    /// Reads the end of the message, which may be that of a whole answer.
    fn read_end(
        &mut self,
        delta: Option<&CohereEvent<'_>>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let Some(delta) = delta else {
            return Err(malformed("expected the `delta` of the end", text));
        };
        if std::mem::replace(&mut self.progress, MessageProgress::Ended) == MessageProgress::Ended {
            return Ok(());
        }
        if let Some(usage) = &*delta.usage {
            sink.push(Event::Usage(usage.usage()));
        }
        let reason = delta.finish_reason.as_str();
        let error = delta.error.text();
        if !error.is_empty() {
            let code = [delta.error_type.as_str(), reason]
                .into_iter()
                .find(|code| !code.is_empty());
            return Err(ProtocolError::of_provider(code.map(str::to_owned), error));
        }
        let finish =
            finish_of(reason).ok_or_else(|| out_of_place("the message ended without a reason"))?;
        let is_cut_off = matches!(finish, Finish::Length | Finish::Filtered | Finish::Refused);
        let contents = self.contents.end(is_cut_off, sink)?;
        self.content_items.extend(contents);
        let calls = self.calls.end(is_cut_off, sink)?;
        self.call_items.extend(calls);

        self.emit_item(sink);
        sink.end(match finish {
            Finish::Stop if self.calls.has_calls() => Finish::ToolCalls,
            finish => finish,
        });
        Ok(())
    }

    /// Emits the message in the provider's form.
    fn emit_item(&mut self, sink: &mut EventSink<'_>) {
        let members = std::mem::take(&mut self.members).into_map();
        let lists = [
            ("content", std::mem::take(&mut self.content_items)),
            ("tool_calls", std::mem::take(&mut self.call_items)),
            ("citations", std::mem::take(&mut self.citations)),
        ];
        let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
        let lists = lists.map(|(name, items)| (name.to_owned(), Value::Array(items)));
        let members = members.into_iter().chain(lists).collect::<Map<_, _>>();
        if !members.is_empty() {
            let role = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
            sink.push_item(role.into_iter().chain(members).collect());
        }
    }
}

fn finish_of(reason: &str) -> Option<Finish> {
    Some(match reason {
        "" => return None,
        "COMPLETE" | "STOP_SEQUENCE" => Finish::Stop,
        "TOOL_CALL" => Finish::ToolCalls,
        "MAX_TOKENS" => Finish::Length,
        "ERROR_TOXIC" => Finish::Filtered,
        other => Finish::of_unlisted(other),
    })
}

/// Returns the items of an array; none for null.
fn items_of<'a>(array: RawJson<'a>, text: &str) -> Result<Vec<&'a str>, ProtocolError> {
    match array.0 {
        Some(raw) if !raw.starts_with('[') => Err(malformed(
            "expected an array as a member of a message",
            text,
        )),
        _ => Ok(array.items()),
    }
}

/// Returns the call of an event, which some servers put into an array.
fn only_entry(calls: RawJson<'_>) -> RawJson<'_> {
    match calls.items().as_slice() {
        [call] => RawJson(Some(call)),
        _ => calls,
    }
}

/// Fails for a piece that is no text.
fn check_text(raw: &str, text: &str) -> Result<(), ProtocolError> {
    if raw.starts_with(['"', 'n']) {
        return Ok(());
    }
    Err(malformed("expected a text as a piece of a message", text))
}

impl CohereEvent<'_> {
    /// Returns the index of the part or the call that the event is about.
    fn block_index(&self, text: &str) -> Result<usize, ProtocolError> {
        self.index
            .as_str()
            .parse()
            .map_err(|_| malformed("expected the `index` of a part of the message", text))
    }
}

impl ContentPart<'_> {
    fn check(&self, text: &str) -> Result<(), ProtocolError> {
        for raw in [self.text.raw, self.thinking.raw] {
            if !raw.is_empty() {
                check_text(raw, text)?;
            }
        }
        Ok(())
    }
}

impl CohereUsage {
    /// Returns the billed tokens where they are given: those of the provider's own instructions are
    /// not billed.
    fn usage(&self) -> TokenUsage {
        let billed = self
            .billed_units
            .as_ref()
            .filter(|billed| **billed != TokenCounts::default());
        let counts = billed.or(self.tokens.as_ref()).copied().unwrap_or_default();
        TokenUsage {
            input: counts.input_tokens.0,
            // Tokens that are not billed may be cached too.
            cached: self.cached_tokens.0.min(counts.input_tokens.0),
            output: counts.output_tokens.0,
            ..TokenUsage::default()
        }
    }
}
