//! The parts of a content as the server writes them.

use crate::json_reader::{FromJson, JsonReader, json_objects};
use crate::lenient::{
    LenientObject, LenientObjects, LenientText, RawJson, RawObject, RawObjects, WithRaw,
};

/// The parts that become items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartItems {
    /// Every part, for a conversation that the client keeps.
    All,
    /// Parts other than text, calls and audio, for a conversation that the server keeps. Audio is
    /// an event.
    Other,
}

/// A content, of which the parts are read.
#[derive(Debug, Default)]
pub(crate) struct Content<'a> {
    pub(crate) parts: RawObjects<'a, WirePart<'a>>,
    /// The JSON of a content, or of its parts, that does not have its form. Empty if it has.
    pub(crate) unreadable: &'a str,
}

json_objects! {
    pub(crate) struct WirePart<'a> {
        pub(crate) text: WithRaw<'a, LenientText<'a>>,
        pub(crate) thought: LenientText<'a>,
        pub(crate) thought_signature: LenientText<'a> = "thoughtSignature" | "thought_signature",
        pub(crate) function_call: WithRaw<'a, LenientObject<FunctionCall<'a>>> = "functionCall" | "function_call",
        pub(crate) inline_data: LenientObject<InlineData<'a>> = "inlineData" | "inline_data",
        /// The result of a tool that the provider ran itself.
        pub(crate) tool_response: RawJson<'a> = "toolResponse" | "tool_response",
        /// The result of code that the provider ran.
        pub(crate) code_execution_result: RawJson<'a> = "codeExecutionResult" | "code_execution_result",
    }

    pub(crate) struct InlineData<'a> {
        pub(crate) mime_type: LenientText<'a> = "mimeType" | "mime_type",
        pub(crate) data: LenientText<'a>,
    }
}

impl<'json: 'a, 'a> FromJson<'json> for Content<'a> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> serde_json::Result<()> {
        match json.peek() {
            b'{' => {}
            b'n' => return json.skip(),
            _ => {
                self.unreadable = json.raw()?;
                return Ok(());
            }
        }
        let mut has_parts = false;
        let mut other = "";
        json.object(|name, json| {
            let first = json.peek();
            has_parts |= name == "parts";
            match (name, first) {
                ("parts", b'[') => self.parts.read_json(json),
                ("parts", b'n') => json.skip(),
                ("parts", _) => json.raw().map(|raw| self.unreadable = raw),
                (_, b'[') => json.raw().map(|raw| other = raw),
                _ => json.skip(),
            }
        })?;
        // An array in place of the parts may be them.
        if !has_parts && !other.is_empty() {
            self.unreadable = other;
        }
        Ok(())
    }
}

impl<'a> Content<'a> {
    /// Returns the only part; `None` if there is another number of them.
    pub(crate) fn only_part(&self) -> Option<&RawObject<'a, WirePart<'a>>> {
        match self.parts.0.as_deref() {
            Some([part]) if self.unreadable.is_empty() => Some(part),
            _ => None,
        }
    }
}

json_objects! {
    pub(crate) struct FunctionCall<'a> {
        pub(crate) id: LenientText<'a>,
        pub(crate) name: LenientText<'a>,
        pub(crate) args: RawJson<'a>,
        /// Pieces of arguments, if the request asks for them.
        pub(crate) partial_args: WithRaw<'a, LenientObjects<PartialArgument<'a>>> = "partialArgs" | "partial_args",
        pub(crate) will_continue: LenientText<'a> = "willContinue" | "will_continue",
    }

    /// One value, or a piece of a text.
    pub(crate) struct PartialArgument<'a> {
        pub(crate) json_path: LenientText<'a> = "jsonPath" | "json_path",
        pub(crate) string_value: RawJson<'a> = "stringValue" | "string_value",
        pub(crate) number_value: RawJson<'a> = "numberValue" | "number_value",
        pub(crate) bool_value: RawJson<'a> = "boolValue" | "bool_value",
        pub(crate) null_value: WithRaw<'a, RawJson<'a>> = "nullValue" | "null_value",
        pub(crate) will_continue: LenientText<'a> = "willContinue" | "will_continue",
    }
}
