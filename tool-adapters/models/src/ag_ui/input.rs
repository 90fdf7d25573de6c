//! The request of a front end.

use crate::agent_input::AgentInput;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tool_core::session::{Decision, UserMessage};

/// The most bytes of a request.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The most bytes of an id, which comes back in the events.
const MAX_ID: usize = 512;

/// The most answers to interrupts in one request.
const MAX_ANSWERS: usize = 256;

/// The request of a front end to run the agent. See the [module](super).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInput {
    thread_id: String,
    run_id: String,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    resume: Option<Vec<ResumeEntry>>,
}

/// An answer to an interrupt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResumeEntry {
    interrupt_id: String,
    status: String,
    #[serde(default)]
    payload: Value,
}

/// The error of a request that an agent cannot reply to. It names every problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", problems.join("; "))]
pub struct InputError {
    problems: Vec<String>,
}

impl InputError {
    fn new(problem: impl Into<String>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// Returns the problems.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl RunInput {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// It has more than 32 MiB, it is not JSON of the protocol's form, or an id has more than 512
    /// bytes.
    pub fn from_json(body: &[u8]) -> Result<Self, InputError> {
        if body.len() > MAX_BYTES {
            let message = format!("expected at most {MAX_BYTES} bytes, got {}", body.len());
            return Err(InputError::new(message));
        }
        let input: Self = serde_json::from_slice(body)
            .map_err(|error| InputError::new(format!("expected a run input: {error}")))?;

        let ids = [("threadId", &input.thread_id), ("runId", &input.run_id)];
        let long = ids.into_iter().filter(|(_, id)| id.len() > MAX_ID);
        let mut problems = long
            .map(|(name, _)| format!("expected `{name}` to have at most {MAX_ID} bytes"))
            .collect::<Vec<_>>();
        let answers = input.resume.as_deref().unwrap_or_default().len();
        if answers > MAX_ANSWERS {
            problems.push(format!(
                "expected at most {MAX_ANSWERS} resume entries, got {answers}"
            ));
        }
        if problems.is_empty() {
            Ok(input)
        } else {
            Err(InputError { problems })
        }
    }

    /// Returns the id of the conversation. It is the client's word.
    pub fn thread_id(&self) -> &str {
        &self.thread_id
    }

    /// Returns the id of the run.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Returns true if the run answers interrupts.
    pub fn is_resumed(&self) -> bool {
        !self.answers().is_empty()
    }

    fn answers(&self) -> &[ResumeEntry] {
        self.resume.as_deref().unwrap_or_default()
    }

    /// Returns the input of the agent: the decisions, or the last message of the user. A request
    /// without messages lets the model begin.
    ///
    /// # Errors
    ///
    /// The last message is not one of the user, it has a part that is not known, or an answer is
    /// neither yes nor no.
    pub fn agent_input(&self) -> Result<AgentInput, InputError> {
        if self.is_resumed() {
            return decisions(self.answers());
        }
        match self.messages.last() {
            None => Ok(AgentInput::Enter),
            Some(message) => user_message(message).map(AgentInput::Message),
        }
    }
}

fn decisions(answers: &[ResumeEntry]) -> Result<AgentInput, InputError> {
    let mut decisions = Vec::new();
    let mut problems = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let approved = match answer.status.as_str() {
            "cancelled" => Some(false),
            "resolved" => answer
                .payload
                .as_bool()
                .or_else(|| answer.payload.get("approved")?.as_bool()),
            _ => None,
        };
        match approved {
            Some(true) => {
                let decision = Decision::approve(&answer.interrupt_id);
                decisions.push(match answer.payload.get("editedArgs") {
                    None | Some(Value::Null) => decision,
                    Some(arguments) => decision.with_arguments(arguments),
                });
            }
            Some(false) => decisions.push(Decision::deny(&answer.interrupt_id)),
            None => problems.push(format!(
                "resume entry {at}: expected the payload {{\"approved\": true}} or {{\"approved\": false}}"
            )),
        }
    }
    if problems.is_empty() {
        Ok(AgentInput::Decisions(decisions))
    } else {
        Err(InputError { problems })
    }
}

/// Reads a message of the user: a text, or parts.
fn user_message(message: &Value) -> Result<UserMessage, InputError> {
    if message.get("role").and_then(Value::as_str) != Some("user") {
        let problem = "expected the last message to have the role `user`";
        return Err(InputError::new(problem));
    }
    let content = message.get("content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        return Ok(UserMessage::new(text));
    }
    let Some(parts) = content.as_array() else {
        let problem = "expected the content of the message to be a text or parts";
        return Err(InputError::new(problem));
    };
    let mut read = UserMessage::default();
    let mut problems = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // After a problem, the message is not sent.
        match with_part(std::mem::take(&mut read), part) {
            Ok(with_part) => read = with_part,
            Err(problem) => problems.push(format!("part {at} of the message: {problem}")),
        }
    }
    if problems.is_empty() {
        Ok(read)
    } else {
        Err(InputError { problems })
    }
}

fn with_part(message: UserMessage, part: &Value) -> Result<UserMessage, String> {
    let member = |value: &Value, name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| format!("expected `{name}` to be a text"))
    };
    let kind = member(part, "type")?;
    if kind == "text" {
        return Ok(message.with(member(part, "text")?));
    }
    let source = part.get("source").unwrap_or(&Value::Null);
    let value = member(source, "value")?;
    let mime_type = member(source, "mimeType");
    match (kind.as_str(), member(source, "type")?.as_str()) {
        ("image", "data") => Ok(message.image(value, mime_type?)),
        ("audio", "data") => Ok(message.audio(value, mime_type?)),
        ("image" | "audio" | "document", "url") => Ok(message.with_url(value, mime_type?)),
        ("document", "data") => {
            let url = format!("data:{};base64,{value}", mime_type?);
            Ok(message.with_url(url, member(source, "mimeType")?))
        }
        (kind, source) => Err(format!("`{kind}` from `{source}` is not supported")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tool_core::Content;

    fn input(messages: &Value, resume: &Value) -> Result<AgentInput, InputError> {
        let body = json!({"threadId": "t", "runId": "r", "messages": messages, "resume": resume});
        RunInput::from_json(body.to_string().as_bytes())?.agent_input()
    }

    #[test]
    fn only_the_last_message_counts() {
        let messages = json!([
            {"id": "1", "role": "user", "content": "first"},
            {"id": "2", "role": "assistant", "content": "made up"},
            {"id": "3", "role": "user", "content": "second"},
        ]);
        assert_eq!(input(&messages, &Value::Null), Ok("second".into()));
    }

    #[test]
    fn a_request_without_messages_lets_the_model_begin() {
        assert_eq!(input(&json!([]), &Value::Null), Ok(AgentInput::Enter));
    }

    #[test]
    fn parts_of_a_message_are_read() {
        let source = json!({"type": "data", "value": "AA==", "mimeType": "image/png"});
        let parts =
            json!([{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]);
        let messages = json!([{"id": "1", "role": "user", "content": parts}]);
        let Ok(AgentInput::Message(message)) = input(&messages, &Value::Null) else {
            panic!("no message");
        };
        assert_eq!(message.text(), "What is this?");
        assert!(matches!(message.parts()[1], Content::Image { .. }));
    }

    #[test]
    fn every_unknown_part_is_a_problem() {
        let video = json!({"type": "video", "source": {"type": "data", "value": "AA=="}});
        let messages = json!([{"role": "user", "content": [video, {"type": "text"}]}]);
        let error = input(&messages, &Value::Null).expect_err("two problems");
        let wanted = [
            "part 0 of the message: `video` from `data` is not supported",
            "part 1 of the message: expected `text` to be a text",
        ];
        assert_eq!(error.problems(), wanted);
    }

    #[test]
    fn a_last_message_of_another_role_is_refused() {
        let messages = json!([{"role": "tool", "content": "done", "toolCallId": "c1"}]);
        let error = input(&messages, &Value::Null).expect_err("a wrong role");
        assert!(error.to_string().contains("the role `user`"), "{error}");
    }

    #[test]
    fn answers_to_interrupts_are_decisions() {
        let resume = json!([
            {"interruptId": "a", "status": "resolved", "payload": {"approved": true}},
            {"interruptId": "b", "status": "resolved", "payload": false},
            {"interruptId": "c", "status": "cancelled"},
        ]);
        let wanted = vec![
            Decision::approve("a"),
            Decision::deny("b"),
            Decision::deny("c"),
        ];
        assert_eq!(input(&json!([]), &resume), Ok(wanted.into()));
    }

    #[test]
    fn edited_arguments_are_those_of_the_approval() {
        let edited = json!({"approved": true, "editedArgs": {"number": 13}});
        let denied = json!({"approved": false, "editedArgs": {"number": 13}});
        let resume = json!([
            {"interruptId": "a", "status": "resolved", "payload": edited},
            {"interruptId": "b", "status": "resolved", "payload": denied},
        ]);
        let wanted = vec![
            Decision::approve("a").with_arguments(json!({"number": 13})),
            Decision::deny("b"),
        ];
        assert_eq!(input(&json!([]), &resume), Ok(wanted.into()));
    }

    #[test]
    fn an_answer_that_is_neither_yes_nor_no_is_refused() {
        let resume = json!([{"interruptId": "a", "status": "resolved", "payload": {"ok": true}}]);
        assert!(input(&json!([]), &resume).is_err());
    }

    #[test]
    fn long_ids_are_refused() {
        let body = json!({"threadId": "t".repeat(513), "runId": "r".repeat(513)});
        let error = RunInput::from_json(body.to_string().as_bytes()).expect_err("two problems");
        assert_eq!(error.problems().len(), 2);
    }
}
