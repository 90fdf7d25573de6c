//! A conversation as alternating turns of two roles: for Anthropic, Bedrock and Gemini.

use crate::accepted_parts::AcceptedParts;
use crate::codec::{CallIds, ToolAnswer, word_id};
use crate::hosts::Host;
use crate::part_form::{PartForm, write_parts};
use crate::request::{Request, object_arguments};
use crate::result_files::{FilesOfResults, SplitResult};
use crate::step_model::{is_model_item, model_of};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use tool_core::call::ModelResult;
use tool_core::json::StringScanner;
use tool_core::session::Message;
use tool_core::{Content, ToolCall};

/// The user's text for a conversation that does not begin with one.
pub const OPENING: &str = "The conversation begins.";

/// The user's text for a conversation that ends with the model's own. Providers take such a text
/// for the beginning of the answer, or refuse it.
pub const CONTINUE: &str = "Go on.";

/// The model's text between results and the user's next message, for servers that refuse the one
/// right after the other.
pub(crate) const ACKNOWLEDGEMENT: &str = "I see.";

/// The item of a raw turn that the provider refused. The turn is left out of later requests.
pub const REFUSED_TURN: &str = "refused_turn";

/// The text in place of a result to which the provider refused to say anything.
const LEFT_OUT: &str = "[left out: the model refused to answer it]";

/// A provider's form of the parts of a turn.
pub(crate) trait TurnForm: PartForm {
    /// True if results have a turn of their own.
    const SEPARATE_RESULTS: bool = false;
    /// True if calls get an id where the provider gave none.
    const IDS: bool = true;

    /// Writes a call, by its position in the step.
    fn call(id: &str, name: &str, input: Map<String, Value>, position: usize) -> Value;

    /// Writes the result of a call, with the images and documents that the server takes.
    fn result(id: &str, name: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value;

    /// Returns the id of a call in the provider's form, empty if it has none; `None` for another
    /// item.
    fn call_id(item: &Value) -> Option<&str>;

    /// Sets the name and the arguments of a call in the provider's form, and its id if it has one.
    fn set_call(item: &mut Value, id: &str, name: &str, input: Map<String, Value>);

    /// Returns an item as the server accepts it back; `None` for one that it refuses.
    fn echo(item: &Value, host: &Host) -> Option<Value>;

    /// Returns true for a thought. A turn must not end with one.
    fn is_thought(_item: &Value) -> bool {
        false
    }

    /// Returns false for a model that refuses the thoughts of a step which does not name its model.
    fn takes_stored_thoughts(_model: &str) -> bool {
        true
    }

    /// Marks the result of a call that failed, for a model that takes such a mark beside the text.
    fn mark_error(_result: &mut Value, _model: &str) {}

    /// Signs the calls of a step that the server sent, where the request's model needs a signature
    /// and the model of the step made none.
    fn sign(_content: &mut [Value], _model: &str) {}

    /// Removes what the provider refuses in a conversation, such as a call of its own tools without
    /// a result.
    fn tidy(_turns: &mut [ChatTurn], _request: &Request<'_>) {}

    /// Returns the model's text between results and the user's text, for a model that refuses both
    /// in one turn.
    fn acknowledgement(_model: &str) -> Option<&'static str> {
        None
    }

    /// Returns false for a model that refuses files in results. They follow the results then, in a
    /// turn of the user.
    fn takes_files_in_results(_model: &str) -> bool {
        true
    }

    /// Returns an id that the provider accepts. Defaults to letters, digits, `_` and `-`.
    fn conforming_id(id: &str) -> Cow<'_, str> {
        word_id(id)
    }
}

/// The content of one side.
#[derive(Debug, PartialEq)]
pub(crate) struct ChatTurn {
    pub(crate) is_model: bool,
    pub(crate) content: Vec<Value>,
    /// The number of results at the beginning of the content.
    results: usize,
}

impl ChatTurn {
    fn user(content: Vec<Value>, results: usize) -> Self {
        Self {
            is_model: false,
            content,
            results,
        }
    }

    /// Returns true for a turn of the user with more than results.
    pub(crate) fn has_users_text(&self) -> bool {
        !self.is_model && self.content.len() > self.results
    }

    /// Returns true if further text may be added to the turn.
    fn may_have_text<F: TurnForm>(&self) -> bool {
        !(F::SEPARATE_RESULTS && self.results > 0)
    }

    /// Writes the turn as a message of the roles `user` and `assistant`.
    pub(crate) fn into_message(self) -> Value {
        json!({"role": if self.is_model { "assistant" } else { "user" }, "content": self.content})
    }
}

/// Writes one message with all results of a step.
pub(crate) fn encode<F: TurnForm>(
    answers: &[ToolAnswer<'_>],
    _ids: &CallIds,
    host: &Host,
) -> Value {
    let accepted = host.accepted_parts();
    let result = |answer: &ToolAnswer<'_>| {
        F::result(
            &answer.wire_id(F::conforming_id),
            &answer.name(),
            &answer.result,
            accepted,
        )
    };
    ChatTurn::user(answers.iter().map(result).collect(), 0).into_message()
}

/// Returns the turns of a conversation. The user begins, results precede the user's text, and no
/// turn is empty.
pub(crate) fn turns<F: TurnForm>(request: &Request<'_>, host: &Host) -> Vec<ChatTurn> {
    let mut writer = TurnWriter {
        request,
        host,
        turns: Vec::new(),
        calls: HashMap::new(),
        used: HashSet::new(),
        files: FilesOfResults::default(),
    };
    let turn_begins = begin_of_turn(request.history);
    let refused = RefusedMessages::find(request.history, host);
    for (place, message) in request.history.iter().enumerate() {
        if refused.left_out.contains(&place) {
            continue;
        }
        if !matches!(message, Message::Result { .. }) {
            writer.add_files::<F>();
        }
        match message {
            Message::Result {
                call_id,
                tool,
                result,
            } if refused.results.contains(&place) => {
                let result = ModelResult {
                    text: LEFT_OUT.to_owned(),
                    is_text: true,
                    parts: false,
                    ..result.clone()
                };
                writer.add_result::<F>(call_id, tool, &result);
            }
            Message::User(said) => writer.add_user::<F>(said.parts()),
            Message::Assistant {
                text,
                calls,
                native,
            } => {
                let native = host.native(native.as_ref(), place > turn_begins);
                writer.add_assistant::<F>(text.as_deref().unwrap_or_default(), calls, native);
            }
            Message::Result {
                call_id,
                tool,
                result,
            } => writer.add_result::<F>(call_id, tool, result),
            _ => {}
        }
    }
    writer.add_files::<F>();

    let mut turns = tidied::<F>(writer.turns, request);
    if turns.first().is_none_or(|turn| turn.is_model) {
        turns.insert(0, ChatTurn::user(vec![F::text(OPENING)], 0));
    }
    let ends_with_text = |turn: &ChatTurn| {
        turn.content
            .last()
            .is_some_and(|item| item.get("text").is_some())
    };
    if turns
        .last()
        .is_some_and(|turn| turn.is_model && ends_with_text(turn))
    {
        turns.push(ChatTurn::user(vec![F::text(CONTINUE)], 0));
        return tidied::<F>(turns, request);
    }
    turns
}

/// Removes what the provider refuses in the turns of the model, and joins the user's turns around
/// one of which nothing is left.
fn tidied<F: TurnForm>(mut turns: Vec<ChatTurn>, request: &Request<'_>) -> Vec<ChatTurn> {
    F::tidy(&mut turns, request);
    let mut tidied = Vec::<ChatTurn>::with_capacity(turns.len());
    for mut turn in turns {
        while turn.is_model && turn.content.last().is_some_and(F::is_thought) {
            turn.content.pop();
        }
        if turn.content.is_empty() {
            continue;
        }
        if turn.has_users_text() {
            tidied.extend(acknowledgement::<F>(tidied.last(), request.model));
        }
        let may_join =
            |last: &&mut ChatTurn| last.is_model == turn.is_model && last.may_have_text::<F>();
        match tidied.last_mut().filter(may_join) {
            Some(last) => last.content.extend(turn.content),
            None => tidied.push(turn),
        }
    }
    tidied
}

/// Returns true if the model's turn goes on and has begun without a thought. A turn goes on over the
/// results of its calls, also where the user has said something beside them.
pub(crate) fn goes_on_without_thought<F: TurnForm>(turns: &[ChatTurn]) -> bool {
    let is_of_user = |turn: &ChatTurn| !turn.is_model && turn.results == 0;
    let begin = turns
        .iter()
        .rposition(is_of_user)
        .map_or(0, |place| place + 1);
    let mut running = turns.iter().skip(begin);
    let first = running.find(|turn| turn.is_model);
    first.is_some_and(|first| !first.content.iter().any(F::is_thought))
}

/// Returns what the model says between results and the user's text, if the provider's model refuses
/// both in one turn.
fn acknowledgement<F: TurnForm>(last: Option<&ChatTurn>, model: &str) -> Option<ChatTurn> {
    let text = F::acknowledgement(model).filter(|_| last.is_some_and(|last| last.results > 0))?;
    Some(ChatTurn {
        is_model: true,
        content: vec![F::text(text)],
        results: 0,
    })
}

/// The places of messages that the provider refused to answer: it refuses every request that has
/// them.
#[derive(Default)]
struct RefusedMessages {
    left_out: HashSet<usize>,
    /// Results keep their place, as their calls need them.
    results: HashSet<usize>,
}

impl RefusedMessages {
    fn find(history: &[Message], host: &Host) -> Self {
        let mut refused = Self::default();
        for (place, message) in history.iter().enumerate() {
            if is_refused(message, host) {
                refused.left_out.insert(place);
                refused.add_before(history, place);
            }
        }
        refused
    }

    /// Adds what the refused answer at a place was to answer, and the parts of it that came before.
    fn add_before(&mut self, history: &[Message], place: usize) {
        let mut is_answer = true;
        for (before, message) in history.iter().enumerate().take(place).rev() {
            match message {
                Message::Assistant { calls, .. } if is_answer && calls.is_empty() => {
                    _ = self.left_out.insert(before);
                }
                Message::Assistant { .. } => return,
                Message::Result { .. } => _ = self.results.insert(before),
                _ => _ = self.left_out.insert(before),
            }
            is_answer &= matches!(message, Message::Assistant { .. });
        }
    }
}

fn is_refused(message: &Message, host: &Host) -> bool {
    let Message::Assistant {
        native: Some(native),
        ..
    } = message
    else {
        return false;
    };
    native.provider == host.turn_id()
        && native.items.iter().any(|item| item["type"] == REFUSED_TURN)
}

struct TurnWriter<'a> {
    request: &'a Request<'a>,
    host: &'a Host,
    turns: Vec<ChatTurn>,
    /// The ids and names of the history's calls in this request.
    calls: HashMap<&'a str, (String, String)>,
    /// The ids in use.
    used: HashSet<String>,
    /// The files of the results since the last step, if the model takes none in results.
    files: FilesOfResults,
}

impl<'a> TurnWriter<'a> {
    /// Adds the files of the last results as a turn of the user.
    fn add_files<F: TurnForm>(&mut self) {
        let files = self.files.take();
        self.add_user::<F>(&files);
    }

    fn add_user<F: TurnForm>(&mut self, parts: &[Content]) {
        let items = write_parts::<F>(parts, self.host.accepted_parts());
        if items.is_empty() {
            return;
        }
        self.turns
            .extend(acknowledgement::<F>(self.turns.last(), self.request.model));
        match self
            .turns
            .last_mut()
            .filter(|turn| !turn.is_model && turn.may_have_text::<F>())
        {
            Some(turn) => turn.content.extend(items),
            None => self.turns.push(ChatTurn::user(items, 0)),
        }
    }

    fn add_result<F: TurnForm>(&mut self, call_id: &str, tool: &str, result: &ModelResult) {
        let accepted = self.host.accepted_parts();
        let result = if F::takes_files_in_results(self.request.model) {
            Cow::Borrowed(result)
        } else {
            self.move_files(tool, result)
        };
        let mut item = if let Some((id, name)) = self.calls.get(call_id) {
            F::result(id, name, &result, accepted)
        } else {
            let id = F::conforming_id(if F::IDS { call_id } else { "" });
            let name = self.request.declarations.written_name(tool);
            F::result(&id, &name, &result, accepted)
        };
        if result.is_error {
            F::mark_error(&mut item, self.request.model);
        }
        // Results follow their calls, whatever the user has said since.
        let at = self
            .turns
            .iter()
            .rposition(|turn| turn.is_model)
            .map_or(0, |calls| calls + 1);
        match self
            .turns
            .get_mut(at)
            .filter(|turn| !F::SEPARATE_RESULTS || turn.results > 0)
        {
            Some(turn) => {
                turn.content.insert(turn.results, item);
                turn.results += 1;
            }
            None => self.turns.insert(at, ChatTurn::user(vec![item], 1)),
        }
    }

    /// Keeps the files of a result for the turn that follows, and returns the result with a text in
    /// the place of each.
    fn move_files<'r>(&mut self, tool: &str, result: &'r ModelResult) -> Cow<'r, ModelResult> {
        if !result.parts {
            return Cow::Borrowed(result);
        }
        let accepted = self.host.accepted_parts();
        let name = self.request.declarations.written_name(tool);
        self.files.add(&name, result, accepted);
        Cow::Owned(ModelResult {
            text: SplitResult::of(result, accepted).text(),
            is_text: true,
            parts: false,
            ..result.clone()
        })
    }

    fn add_assistant<F: TurnForm>(
        &mut self,
        text: &str,
        calls: &'a [ToolCall],
        native: Option<&[Value]>,
    ) {
        let native =
            native.filter(|items| items.iter().filter_map(F::call_id).count() == calls.len());
        let content = match native {
            Some(items) => self.echo::<F>(items, calls),
            None => self.write::<F>(text, calls),
        };
        if content.is_empty() {
            return;
        }
        // A turn with thoughts has to begin with one.
        let begins_with_thought = |content: &[Value]| content.first().is_some_and(F::is_thought);
        let is_apart =
            |turn: &ChatTurn| begins_with_thought(&content) && !begins_with_thought(&turn.content);
        if self
            .turns
            .last()
            .is_some_and(|turn| turn.is_model && is_apart(turn))
        {
            self.turns.push(ChatTurn::user(vec![F::text(CONTINUE)], 0));
        }
        match self.turns.last_mut().filter(|turn| turn.is_model) {
            Some(turn) => turn.content.extend(content),
            None => self.turns.push(ChatTurn {
                is_model: true,
                content,
                results: 0,
            }),
        }
    }

    /// Writes a step of this provider item by item. Calls have the names and the arguments of the
    /// history.
    fn echo<F: TurnForm>(&mut self, items: &[Value], calls: &'a [ToolCall]) -> Vec<Value> {
        let model = self.request.model;
        let takes_thoughts =
            model_of(items).map_or_else(|| F::takes_stored_thoughts(model), |named| named == model);
        let mut calls = calls.iter();
        let mut content = Vec::new();
        for item in items {
            let is_lost_thought = F::is_thought(item) && !takes_thoughts;
            if is_lost_thought || is_model_item(item) {
                continue;
            }
            let Some(given) = F::call_id(item) else {
                content.extend(F::echo(item, self.host));
                continue;
            };
            let (Some(call), Some(mut item)) = (calls.next(), F::echo(item, self.host)) else {
                continue;
            };
            let given = if given.is_empty() && F::IDS {
                call.id()
            } else {
                given
            };
            let id = self.add_call::<F>(given, call);
            let name = self.request.declarations.written_name(call.name());
            F::set_call(&mut item, &id, &name, object_arguments(call.arguments()));
            content.push(item);
        }
        F::sign(&mut content, model);
        content
    }

    /// Writes a step as text and calls: one of another provider, or one that was never sent.
    fn write<F: TurnForm>(&mut self, text: &str, calls: &'a [ToolCall]) -> Vec<Value> {
        let mut content = Vec::new();
        if !text.trim().is_empty() {
            content.push(F::text(text));
        }
        for (position, call) in calls.iter().enumerate() {
            let id = self.add_call::<F>(if F::IDS { call.id() } else { "" }, call);
            let name = self.request.declarations.written_name(call.name());
            let input = object_arguments(call.arguments());
            content.push(F::call(&id, &name, input, position));
        }
        content
    }

    /// Returns the id of a call in this request: the given one, or the history's if another call
    /// has it.
    fn add_call<F: TurnForm>(&mut self, given: &str, call: &'a ToolCall) -> String {
        let mut id = String::new();
        if !given.is_empty() || F::IDS {
            let further = (2..).map(|number| format!("{}_{number}", call.id()));
            let mut ids = [given.to_owned(), call.id().to_owned()]
                .into_iter()
                .chain(further);
            let unused = ids.find_map(|id| {
                let id = F::conforming_id(&id).into_owned();
                self.used.insert(id.clone()).then_some(id)
            });
            id = unused.unwrap_or_default();
        }
        let name = self
            .request
            .declarations
            .written_name(call.name())
            .into_owned();
        self.calls.insert(call.id(), (id.clone(), name));
        id
    }
}

/// Parses a result's text, unless it has a whole number above `max`, which would be rounded.
pub(crate) fn exact_json(text: &str, max: u64) -> Option<Value> {
    let value = serde_json::from_str(text).ok()?;
    has_exact_numbers(text, max).then_some(value)
}

fn has_exact_numbers(text: &str, max: u64) -> bool {
    let mut strings = StringScanner::default();
    let mut numbers = text.split(|char: char| {
        let is_outside = strings.step(u8::try_from(char).unwrap_or(0));
        !is_outside || !matches!(char, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')
    });
    numbers.all(|number| {
        number.len() < 16
            || number.contains(['.', 'e', 'E'])
            || number
                .parse::<i64>()
                .map(i64::unsigned_abs)
                .or_else(|_| number.parse())
                .is_ok_and(|whole| whole <= max)
    })
}

/// Returns the place of the user's last message; 0 if there is none.
pub(crate) fn begin_of_turn(history: &[Message]) -> usize {
    let is_user = |message: &Message| matches!(message, Message::User(said) if !said.is_blank());
    history.iter().rposition(is_user).unwrap_or_default()
}
