//! Prompt caching: the marks and keys by which a provider keeps the beginning of a request.

use crate::Provider;
use crate::bedrock::models;
use crate::hosts::Host;
use crate::request::Request;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tool_core::session::Message;
use tool_core::text::hex;

/// The way in which a provider caches the beginning of a request.
#[derive(Clone, Copy)]
pub(crate) enum PromptCache {
    /// By itself: a request says nothing about it.
    Implicit,
    /// By itself, and a key brings the requests of a conversation to the same machine.
    Key,
    /// Up to the places that a request marks.
    Breakpoints(fn(model: &str, body: &mut Value)),
}

/// The member that holds the key of a conversation.
const KEY: &str = "prompt_cache_key";

/// Asks the provider to cache the tools, the instructions and the conversation of a request, for
/// later requests that begin in the same way.
///
/// Some get up to 4 marks in the body, and some a key that is made of the tools, the instructions
/// and the first message of the user. The others cache by themselves, or not at all, and get
/// nothing. The book has a table of them, in its chapter on models. Marks and a key that the body
/// has already stay, and count.
///
/// ```
/// use tool_adapters::providers::{Host, Request, cache_prompt};
/// use tool_adapters::{Provider, declare, protocol};
/// use tool_core::ToolContext;
/// use tool_core::serde_json::Map;
/// use tool_core::session::{Message, ToolChoice};
///
/// let provider = Provider::Anthropic;
/// let request = Request {
///     model: "claude-sonnet-5",
///     instructions: "Be brief.",
///     history: &[Message::User("Hi".into())],
///     declarations: &declare(provider, &ToolContext::builder().build()?),
///     tool_choice: ToolChoice::Auto,
///     stream: false,
///     max_tokens: None,
///     extra: &Map::new(),
/// };
/// let mut body = protocol(provider).request(&request);
/// cache_prompt(provider, &Host::of(provider), &request, &mut body);
/// assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub fn cache_prompt(provider: Provider, host: &Host, request: &Request<'_>, body: &mut Value) {
    match provider.spec().prompt_cache {
        PromptCache::Implicit => {}
        PromptCache::Key if !host.rules.takes_cache_key => {}
        PromptCache::Key => {
            if body.get(KEY).is_none() {
                body[KEY] = key_of(request).into();
            }
        }
        PromptCache::Breakpoints(mark) => mark(request.model, body),
    }
}

/// Returns a key that all requests of a conversation share.
fn key_of(request: &Request<'_>) -> String {
    let first = request.history.iter().find_map(|message| match message {
        Message::User(message) => Some(message.text()),
        _ => None,
    });
    let mut digest = Sha256::new();
    let tools = request.declarations.json().get();
    for text in [
        request.model,
        request.instructions,
        tools,
        first.as_deref().unwrap_or_default(),
    ] {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    }
    hex(digest.finalize().get(..16).unwrap_or_default())
}

/// The maximum number of marks in a request.
const MAX_MARKS: usize = 4;

/// The places of a body that are still to be marked.
pub(crate) struct MarkBudget {
    left: usize,
}

impl MarkBudget {
    /// Returns the budget of a body, of which some places may be marked already.
    pub(crate) fn of(body: &Value, is_mark: fn(&str) -> bool) -> Self {
        Self {
            left: MAX_MARKS.saturating_sub(count(body, is_mark)),
        }
    }

    /// Marks a place, if one is left and the place takes a mark.
    pub(crate) fn spend(&mut self, mark: impl FnOnce() -> bool) {
        if self.left > 0 && mark() {
            self.left -= 1;
        }
    }
}

/// Counts the members with the name of a mark. Schemas, arguments and texts of tools cannot have
/// marks, and are not searched.
fn count(value: &Value, is_mark: fn(&str) -> bool) -> usize {
    const CONTENT: [&str; 4] = ["input_schema", "inputSchema", "input", "json"];
    match value {
        Value::Array(items) => items.iter().map(|item| count(item, is_mark)).sum(),
        Value::Object(members) => {
            let in_member = |(name, value): (&String, &Value)| {
                if CONTENT.contains(&name.as_str()) {
                    0
                } else {
                    usize::from(is_mark(name)) + count(value, is_mark)
                }
            };
            members.iter().map(in_member).sum()
        }
        _ => 0,
    }
}

/// Returns the last turn of the user and the one before it, newest first. What the model reads next
/// begins after the last one, and what it has read ends with the one before.
pub(crate) fn last_user_contents(body: &mut Value) -> Vec<&mut Vec<Value>> {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    let of_user = messages
        .into_iter()
        .flatten()
        .rev()
        .filter(|message| message["role"] == "user");
    of_user
        .filter_map(|message| message.get_mut("content")?.as_array_mut())
        .take(2)
        .collect()
}

/// Marks the tools, the system instruction and the last two turns of the user in a request to
/// Anthropic.
pub(crate) fn mark_anthropic(_model: &str, body: &mut Value) {
    const MARK: &str = "cache_control";
    let mut budget = MarkBudget::of(body, |name| name == MARK);
    // With a mark of the whole request, the provider marks the last block itself.
    let of_request = body.get(MARK).filter(|mark| mark.is_object()).cloned();
    let marked_already = usize::from(of_request.is_some());
    for content in last_user_contents(body).into_iter().skip(marked_already) {
        budget.spend(|| mark_last_block(content));
    }
    if let Some(system) = body.get_mut("system") {
        budget.spend(|| mark_system(system));
    }
    if let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) {
        // A deferred tool is no part of the beginning, and takes no mark.
        let last = tools
            .iter_mut()
            .rev()
            .find(|tool| tool["defer_loading"] != true);
        if let Some(tool) = last {
            budget.spend(|| mark_block(tool));
        }
    }

    let has_hour = of_request.is_some_and(|mark| mark["ttl"] == HOUR);
    lengthen_all(body, ["/messages", "/system", "/tools"], MARK, has_hour);
}

/// The longer of the two lives of a cache. Without it a mark is for five minutes.
const HOUR: &str = "1h";

/// Gives the marks before one for an hour the same life: the providers refuse a longer life after a
/// shorter one. `places` are from the last to the first, and `has_hour` is true if the whole request
/// has a mark for an hour.
fn lengthen_all(body: &mut Value, places: [&str; 3], name: &str, mut has_hour: bool) {
    for place in places {
        if let Some(blocks) = body.pointer_mut(place) {
            lengthen(blocks, name, &mut has_hour);
        }
    }
}

/// Does so for the marks in a value, from the last to the first. `has_hour` is true if a mark for an
/// hour follows.
fn lengthen(value: &mut Value, name: &str, has_hour: &mut bool) {
    match value {
        Value::Array(items) => {
            for item in items.iter_mut().rev() {
                lengthen(item, name, has_hour);
            }
        }
        Value::Object(members) => {
            if let Some(mark) = members.get_mut(name).and_then(Value::as_object_mut) {
                *has_hour |= mark.get("ttl").is_some_and(|life| life == HOUR);
                if *has_hour {
                    mark.insert("ttl".to_owned(), HOUR.into());
                }
            }
            if let Some(content) = members.get_mut("content") {
                lengthen(content, name, has_hour);
            }
        }
        _ => {}
    }
}

fn mark_system(system: &mut Value) -> bool {
    if let Some(text) = system.as_str() {
        *system = json!([{"type": "text", "text": text}]);
    }
    let last = system.as_array_mut().and_then(|blocks| blocks.last_mut());
    last.is_some_and(mark_block)
}

/// Marks the last block that takes a mark. Thoughts take none.
fn mark_last_block(content: &mut [Value]) -> bool {
    let takes_mark = |block: &&mut Value| {
        let kind = block["type"].as_str().unwrap_or_default();
        !kind.ends_with("thinking")
    };
    content
        .iter_mut()
        .rev()
        .find(takes_mark)
        .is_some_and(mark_block)
}

/// Returns false for a block that is marked already.
fn mark_block(block: &mut Value) -> bool {
    let Some(members) = block.as_object_mut() else {
        return false;
    };
    if members.contains_key("cache_control") {
        return false;
    }
    members.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    true
}

/// Adds cache points to a request to Bedrock. Only models of Anthropic and Amazon take them, and
/// those of Amazon not among the tools.
pub(crate) fn mark_bedrock(model: &str, body: &mut Value) {
    const POINT: &str = "cachePoint";
    if !models::is_claude_or_nova(model) {
        return;
    }
    let mut budget = MarkBudget::of(body, |name| name == POINT);
    for content in last_user_contents(body) {
        budget.spend(|| add_point(content));
    }
    if let Some(system) = body.get_mut("system").and_then(Value::as_array_mut) {
        budget.spend(|| add_point(system));
    }
    let tools = body
        .pointer_mut("/toolConfig/tools")
        .and_then(Value::as_array_mut);
    if let Some(tools) = tools.filter(|_| models::is_claude(model)) {
        budget.spend(|| add_point(tools));
    }

    let places = ["/messages", "/system", "/toolConfig/tools"];
    lengthen_all(body, places, POINT, false);
}

/// Adds a cache point at the end of a list, but before documents that are no PDF: the provider
/// refuses a point right after one. Returns false if there is a point already, or nothing before
/// it.
fn add_point(blocks: &mut Vec<Value>) -> bool {
    let takes_point = |block: &Value| {
        let format = block.pointer("/document/format");
        format.is_none_or(|format| format == "pdf")
    };
    let Some(last) = blocks.iter().rposition(takes_point) else {
        return false;
    };
    let is_marked = blocks[last].get("cachePoint").is_some();
    if !is_marked {
        blocks.insert(last + 1, json!({"cachePoint": {"type": "default"}}));
    }
    !is_marked
}
