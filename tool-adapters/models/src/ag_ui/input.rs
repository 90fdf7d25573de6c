//! The request of a front end.

use crate::agent_input::{AgentInput, Answers};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use thiserror::Error;
use tool_core::Content;
use tool_core::session::{Decision, UserMessage};

/// The most bytes of a request.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The most bytes of an id, which comes back in the events.
const MAX_ID: usize = 512;

/// The most answers to interrupts in one request.
const MAX_ANSWERS: usize = 256;

/// The most parts of a message, which a store of conversations takes.
const MAX_PARTS: usize = 256;

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

    /// Returns the ids of the calls in the messages that the front end has.
    pub(crate) fn known_calls(&self) -> HashSet<String> {
        let calls = self.messages.iter().filter_map(|message| {
            let calls = message.get("toolCalls")?;
            calls.as_array()
        });
        let ids = calls.flatten().filter_map(|call| call.get("id")?.as_str());
        ids.map(str::to_owned).collect()
    }

    /// Returns the input of the agent: the last message of the user, or the answers to interrupts
    /// and the message beside them. A request without messages lets the model begin.
    ///
    /// # Errors
    ///
    /// The last message is not one of the user, it has a part that is not known, a URL that begins with
    /// neither `https:` nor `data:`, or more than 256 parts, or an answer is neither yes nor no.
    pub fn agent_input(&self) -> Result<AgentInput, InputError> {
        if self.is_resumed() {
            let mut answers = answers(self.answers())?;
            // Otherwise it is one that an earlier run has answered.
            if let Some(message) = self.messages.last().filter(|message| is_of_user(message)) {
                answers.message = Some(user_message(message)?);
            }
            return Ok(AgentInput::Answers(answers));
        }
        match self.messages.last() {
            None => Ok(AgentInput::Enter),
            Some(message) => user_message(message).map(AgentInput::Message),
        }
    }
}

fn answers(entries: &[ResumeEntry]) -> Result<Answers, InputError> {
    let mut answers = Answers::default();
    let mut problems = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        if entry.status == "cancelled" {
            answers.cancelled.push(entry.interrupt_id.clone());
            continue;
        }
        match approval_of(entry) {
            Some(true) => {
                let decision = Decision::approve(&entry.interrupt_id);
                answers
                    .decisions
                    .push(match entry.payload.get("editedArgs") {
                        None | Some(Value::Null) => decision,
                        Some(arguments) => decision.with_arguments(arguments),
                    });
            }
            Some(false) => answers.decisions.push(Decision::deny(&entry.interrupt_id)),
            None => problems.push(format!(
                "resume entry {at}: expected the payload {{\"approved\": true}} or {{\"approved\": false}}"
            )),
        }
    }
    if problems.is_empty() {
        Ok(answers)
    } else {
        Err(InputError { problems })
    }
}

/// Returns true if the call is approved, and `None` for an answer that is neither yes nor no.
fn approval_of(entry: &ResumeEntry) -> Option<bool> {
    if entry.status != "resolved" {
        return None;
    }
    let payload = &entry.payload;
    payload
        .as_bool()
        .or_else(|| payload.get("approved")?.as_bool())
}

fn is_of_user(message: &Value) -> bool {
    message.get("role").and_then(Value::as_str) == Some("user")
}

/// Reads a message of the user: a text, or parts.
fn user_message(message: &Value) -> Result<UserMessage, InputError> {
    if !is_of_user(message) {
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
    if parts.len() > MAX_PARTS {
        let count = parts.len();
        let problem = format!("expected a message of at most {MAX_PARTS} parts, got {count}");
        return Err(InputError::new(problem));
    }

    let mut read = Vec::new();
    let mut problems = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        match content_of(part) {
            Ok(content) => read.extend(content),
            Err(problem) => problems.push(format!("part {at} of the message: {problem}")),
        }
    }
    if read.is_empty() && problems.is_empty() && !parts.is_empty() {
        problems.push("no part of the message can be used here".to_owned());
    }
    if problems.is_empty() {
        Ok(read.into())
    } else {
        Err(InputError { problems })
    }
}

/// Reads a part of a message. Returns `None` for a file that a provider has under a handle of its
/// own: by the protocol, who cannot use it leaves it out.
fn content_of(part: &Value) -> Result<Option<Content>, String> {
    let member = |value: &Value, name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| format!("expected `{name}` to be a text"))
    };
    let kind = member(part, "type")?;
    if kind == "text" {
        return Ok(Some(Content::text(member(part, "text")?)));
    }
    let source = part.get("source").unwrap_or(&Value::Null);
    let value = member(source, "value")?;
    let mime_type = member(source, "mimeType");
    match (kind.as_str(), member(source, "type")?.as_str()) {
        (_, "file") => Ok(None),
        ("image", "data") => Ok(Some(Content::image(value, mime_type?))),
        ("audio", "data") => Ok(Some(Content::audio(value, mime_type?))),
        ("image" | "audio" | "document", "url") => {
            let url = checked_url(&value)?;
            let found = mime_type.ok();
            let found = found.or_else(|| type_of_url(&url).map(str::to_owned));
            Ok(content_of_url(url, found))
        }
        ("document", "data") => {
            let mime_type = mime_type?;
            let url = format!("data:{mime_type};base64,{value}");
            Ok(content_of_url(url, Some(mime_type)))
        }
        (kind, source) => Err(format!("`{kind}` from `{source}` is not supported")),
    }
}

/// Returns a URL with its scheme in lower case, as the readers of a message expect it. Refuses a URL that
/// the provider would read with rights which the front end does not have, for example `gs:` in Google's
/// cloud.
fn checked_url(url: &str) -> Result<String, String> {
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    if ["https", "data"].iter().any(|known| *known == scheme) {
        Ok(format!("{scheme}:{rest}"))
    } else {
        Err("expected a URL that begins with `https:` or `data:`".to_owned())
    }
}

fn content_of_url(url: String, mime_type: Option<String>) -> Option<Content> {
    let Some(mime_type) = mime_type else {
        return Some(Content::Resource {
            uri: url,
            mime_type: None,
            text: None,
            name: None,
        });
    };
    let message = UserMessage::default().with_url(url, mime_type);
    message.into_parts().pop()
}

/// Returns the MIME type of a URL by the extension of its path.
fn type_of_url(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let (_, file) = path.rsplit_once('/')?;
    let (_, extension) = file.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "mp3" => Some("audio/mpeg"),
        "wav" => Some("audio/wav"),
        "pdf" => Some("application/pdf"),
        "txt" => Some("text/plain"),
        _ => None,
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
        let wanted = Answers {
            decisions: vec![Decision::approve("a"), Decision::deny("b")],
            cancelled: vec!["c".into()],
            message: None,
        };
        let read = input(&json!([]), &resume);
        assert_eq!(read, Ok(AgentInput::Answers(wanted)));
    }

    #[test]
    fn edited_arguments_are_those_of_the_approval() {
        let edited = json!({"approved": true, "editedArgs": {"number": 13}});
        let denied = json!({"approved": false, "editedArgs": {"number": 13}});
        let resume = json!([
            {"interruptId": "a", "status": "resolved", "payload": edited},
            {"interruptId": "b", "status": "resolved", "payload": denied},
        ]);
        let changed = Decision::approve("a").with_arguments(json!({"number": 13}));
        let wanted = Answers {
            decisions: vec![changed, Decision::deny("b")],
            ..Answers::default()
        };
        let read = input(&json!([]), &resume);
        assert_eq!(read, Ok(AgentInput::Answers(wanted)));
    }

    #[test]
    fn a_message_beside_the_answers_is_read() {
        let resume = json!([{"interruptId": "a", "status": "cancelled"}]);
        let said = json!({"role": "user", "content": "Leave it."});
        let answered = json!({"role": "assistant", "content": "Shall I?"});
        let read = |messages| match input(&messages, &resume) {
            Ok(AgentInput::Answers(answers)) => answers.message,
            other => panic!("no answers: {other:?}"),
        };
        assert_eq!(read(json!([answered, said])), Some("Leave it.".into()));
        assert_eq!(read(json!([said, answered])), None, "it was answered");
    }

    fn parts_of(parts: &Value) -> Result<Vec<Content>, InputError> {
        let messages = json!([{"role": "user", "content": parts}]);
        match input(&messages, &Value::Null)? {
            AgentInput::Message(message) => Ok(message.into_parts()),
            other => panic!("no message: {other:?}"),
        }
    }

    #[test]
    fn a_url_needs_no_mime_type() {
        let url = |url: &str| json!([{"type": "image", "source": {"type": "url", "value": url}}]);
        let type_of = |url: &Value| match parts_of(url).expect("a message").pop() {
            Some(Content::Resource { mime_type, .. }) => mime_type,
            other => panic!("no resource: {other:?}"),
        };
        let known = type_of(&url("https://x.example/y.PNG?size=2"));
        assert_eq!(known.as_deref(), Some("image/png"));
        assert_eq!(type_of(&url("https://x.example/image")), None);
    }

    // The provider would read these with the rights of the service.
    #[test]
    fn a_url_of_another_scheme_is_refused() {
        for url in [
            "gs://bucket/a.png",
            "s3://bucket/a.png",
            "http://x.example/a.png",
            "a.png",
        ] {
            let source = json!({"type": "url", "value": url, "mimeType": "image/png"});
            let error = parts_of(&json!([{"type": "image", "source": source}]));
            let error = error.expect_err("a problem").to_string();
            assert!(error.starts_with("part 0 of the message"), "{error}");
        }
    }

    #[test]
    fn the_scheme_of_a_url_may_have_capital_letters() {
        let read = |url: &str| {
            let source = json!({"type": "url", "value": url, "mimeType": "image/png"});
            parts_of(&json!([{"type": "image", "source": source}]))
        };
        let data = read("DATA:image/png;base64,AA==");
        assert_eq!(data, Ok(vec![Content::image("AA==", "image/png")]));
        assert_eq!(
            read("HTTPS://x.example/a.png"),
            read("https://x.example/a.png")
        );
    }

    #[test]
    fn a_file_of_a_provider_is_left_out() {
        let file = json!({"type": "document", "source": {"type": "file", "value": "file-1"}});
        let parts = json!([file, {"type": "text", "text": "What is this?"}]);
        assert_eq!(parts_of(&parts), Ok(vec![Content::text("What is this?")]));
        let error = parts_of(&json!([file])).expect_err("nothing is left");
        assert!(error.to_string().contains("can be used"), "{error}");
    }

    #[test]
    fn a_message_of_too_many_parts_is_refused() {
        let part = json!({"type": "text", "text": "a"});
        assert!(parts_of(&json!(vec![part.clone(); 256])).is_ok());
        assert!(parts_of(&json!(vec![part; 257])).is_err());
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
