//! Requests to a model, and the parts of their bodies and of results that several providers share.

use crate::declarations::Declarations;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tool_core::Content;
use tool_core::session::{Message, ToolChoice};
use tool_core::text::hex;

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The system instruction. Empty for none.
    pub instructions: &'a str,
    /// The conversation, oldest message first.
    pub history: &'a [Message],
    /// The tools.
    pub declarations: &'a Declarations,
    /// The rule by which the model calls tools.
    pub tool_choice: ToolChoice,
    /// True if the answer is streamed.
    pub stream: bool,
    /// The maximum number of tokens of the answer. Defaults to the protocol's own limit where the
    /// provider requires one.
    pub max_tokens: Option<u32>,
    /// Further settings in the provider's own form. They are laid over the body at its top level
    /// and take precedence.
    pub extra: &'a Map<String, Value>,
}

/// The body of a request, member by member.
pub(crate) struct RequestBody<'a> {
    request: &'a Request<'a>,
    members: Map<String, Value>,
}

impl<'a> RequestBody<'a> {
    pub(crate) fn new(request: &'a Request<'a>) -> Self {
        Self {
            request,
            members: Map::new(),
        }
    }

    /// Adds a member.
    pub(crate) fn with(self, name: &str, value: impl Into<Value>) -> Self {
        self.with_some(name, Some(value))
    }

    /// Adds a member where there is a value.
    pub(crate) fn with_some(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        self.members
            .extend(value.map(|value| (name.to_owned(), value.into())));
        self
    }

    /// Adds `tools`, and `tool_choice` in the provider's words for none and required. Without tools
    /// it adds neither.
    pub(crate) fn with_tools(self, none: &str, required: &str) -> Self {
        if self.request.declarations.is_empty() {
            return self;
        }
        let tools = tools(self.request);
        let choice = choice_name(self.request, none, required);
        self.with("tools", tools).with_some("tool_choice", choice)
    }

    /// Returns the body with the settings of the declarations and those of the caller, which
    /// replace its members.
    pub(crate) fn finish(mut self) -> Value {
        for (name, value) in self
            .request
            .declarations
            .settings()
            .iter()
            .chain(self.request.extra)
        {
            self.members.insert(name.clone(), value.clone());
        }
        self.finish_with_answer()
    }

    /// Like [`finish`](Self::finish), but merges objects member by member, for providers with
    /// nested settings.
    pub(crate) fn finish_merged(mut self) -> Value {
        merge(&mut self.members, self.request.declarations.settings());
        merge(&mut self.members, self.request.extra);
        self.finish_with_answer()
    }

    /// Adds the form of a typed answer, beside the settings of the caller.
    fn finish_with_answer(mut self) -> Value {
        if let Some(answer) = self.request.declarations.answer() {
            merge(&mut self.members, &answer.members);
        }
        Value::Object(self.members)
    }
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (name, value) in from {
        match (into.get_mut(name), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            _ => _ = into.insert(name.clone(), value.clone()),
        }
    }
}

/// Returns the provider's name for the tool choices none and required.
pub(crate) fn choice_name<'a>(
    request: &Request<'_>,
    none: &'a str,
    required: &'a str,
) -> Option<&'a str> {
    if may_not_call(request) {
        return Some(none);
    }
    (request.tool_choice == ToolChoice::Required && !is_thinking(request.extra)).then_some(required)
}

/// Returns true if the model may not call tools. It may call the one that takes its typed answer.
pub(crate) fn may_not_call(request: &Request<'_>) -> bool {
    match request.tool_choice {
        ToolChoice::None => true,
        ToolChoice::Answer => request.declarations.answer().is_some(),
        _ => false,
    }
}

/// Returns true if a setting turns on thinking at a provider that then refuses to force a call.
pub(crate) fn is_thinking(settings: &Map<String, Value>) -> bool {
    let is_on = |setting: Option<&Value>| match setting {
        Some(Value::Object(setting)) => setting.get("type").is_none_or(|kind| kind != "disabled"),
        Some(setting) => *setting == true,
        None => false,
    };
    let of_bedrock = settings.get("additionalModelRequestFields");
    ["thinking", "enable_thinking"]
        .iter()
        .any(|name| is_on(settings.get(*name)))
        || ["thinking", "reasoning_config"]
            .iter()
            .any(|name| is_on(of_bedrock.and_then(|fields| fields.get(*name))))
}

/// Returns the limit of output tokens in the body of a request, set by the host or by the options
/// of the model.
pub fn output_limit(body: &Value) -> Option<u32> {
    const PLACES: [&str; 6] = [
        "/max_tokens",
        "/max_completion_tokens",
        "/max_output_tokens",
        "/generationConfig/maxOutputTokens",
        "/inferenceConfig/maxTokens",
        "/options/num_predict",
    ];
    PLACES
        .iter()
        .find_map(|place| u32::try_from(body.pointer(place)?.as_u64()?).ok())
}

/// Returns the declared tools.
pub(crate) fn tools(request: &Request<'_>) -> Value {
    serde_json::from_str(request.declarations.json().get()).unwrap_or_default()
}

/// Returns arguments as the text of an object. Servers with templates for their models refuse a
/// history with other arguments.
pub(crate) fn argument_text(arguments: &str) -> Cow<'_, str> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(_)) => Cow::Borrowed(arguments),
        _ => Cow::Owned(Value::Object(object_arguments(arguments)).to_string()),
    }
}

/// The member that holds arguments which are not a JSON object.
pub(crate) const INVALID_ARGUMENTS: &str = "INVALID_JSON";

/// Returns arguments as an object. Other arguments become a member of one, so that the model finds
/// the text that its error is about.
pub(crate) fn object_arguments(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => object,
        Ok(Value::Null) => Map::new(),
        _ if arguments.trim_ascii().is_empty() => Map::new(),
        _ => Map::from_iter([(INVALID_ARGUMENTS.to_owned(), arguments.into())]),
    }
}

/// Returns the MIME type of a `data:` URI and its bytes in base64.
pub fn embedded_data(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix("data:")?.split_once(";base64,")
}

/// Returns a URI that names data by its digest, for a client that gets the data beside it.
pub fn name_of_data(base64: &str) -> String {
    format!("urn:sha256:{}", hex(&Sha256::digest(base64)))
}

/// Returns a part as text.
pub(crate) fn text_of(part: &Content) -> String {
    if let Content::Resource {
        uri, text: None, ..
    } = part
        && let Some((mime_type, _)) = embedded_data(uri)
    {
        return format!("[file ({mime_type}) left out: it cannot be shown here]");
    }
    let (kind, mime_type) = match part {
        Content::Text { text }
        | Content::Resource {
            text: Some(text), ..
        } => return text.clone(),
        Content::Resource {
            uri,
            mime_type: Some(mime_type),
            ..
        } => return format!("[resource {uri} ({mime_type})]"),
        Content::Resource { uri, .. } => return format!("[resource {uri}]"),
        Content::Image { mime_type, .. } => ("image", mime_type),
        Content::Audio { mime_type, .. } => ("audio", mime_type),
        _ => return "[a part that cannot be shown was left out]".to_owned(),
    };
    format!("[{kind} ({mime_type}) left out: it cannot be shown here]")
}

/// Declares the tools that the history calls; `None` if it calls none.
///
/// Some providers refuse calls and results in a request that declares no tools. Such a request
/// declares these tools, with
/// [`UNAVAILABLE`] as their description.
pub(crate) fn declare_called(
    request: &Request<'_>,
    declare: impl Fn(&str) -> Value,
) -> Option<Value> {
    let calls = request.history.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    let names = calls
        .flatten()
        .map(|call| request.declarations.written_name(call.name()))
        .collect::<BTreeSet<_>>();
    (!names.is_empty()).then(|| names.iter().map(|name| declare(name)).collect())
}

/// The description of a tool that was called earlier and is not declared any more.
pub(crate) const UNAVAILABLE: &str = "Not available any more.";
