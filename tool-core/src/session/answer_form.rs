//! The form in which a model gives a typed answer: a control tool, or a text that is JSON.

use crate::call::{ToolCall, ToolError, ToolResponse};
use crate::registry::ToolContext;
use crate::schema::parameter::AnswerType;
use crate::session::guards::AnswerVerdict;
use crate::session::inner::SessionInner;
use crate::session::message::Message;
use crate::session::message_log::LoggedHistory;
use crate::session::model_step::ModelStep;
use crate::session::notes::{NOTE, guard_note};
use crate::session::pipeline::step::{distinct_calls, with_fresh_ids};
use crate::session::pipeline::without_tool::record_refusal;
use crate::session::raw_turn::RawTurn;
use crate::session::reply_finish::ReplyFinish;
use crate::session::reply_guards::ReplyGuards;
use crate::session::unmade_calls::{name_of_limit, refusal_of_calls, refused_step, refused_unread};
use crate::text::{is_json, json_in};
use crate::tool::typed_value::{ValueSlot, arguments_of, read, value_in};
use crate::tool::{FunctionTool, ToolDefinition};
use std::sync::Arc;

/// The control tool of a reply with a typed answer, and the last wrong answer.
pub(crate) struct AnswerForm {
    tool: FunctionTool,
    /// The definition of the tool that the model sees.
    definition: ToolDefinition,
    retries: u32,
    /// The last wrong answer, and its problems.
    pub(crate) text: Option<String>,
    pub(crate) problems: Vec<String>,
    /// True after the model has answered with another text: it is asked for the answer alone.
    pub(crate) wants_answer: bool,
    /// True once an answer was taken.
    pub(crate) is_taken: bool,
}

/// The part of a step that concerns the answer.
pub(crate) enum FormVerdict {
    /// The answer was wrong, and the model is asked again.
    AskAgain,
    /// The answer was taken.
    Taken {
        /// The text of the step that is the answer. `None` for one that was given as a call.
        shown: Option<String>,
    },
    /// The answer was wrong, and no retry is left.
    GivenUp,
    /// A guard has refused the answer, with this text for the user.
    Blocked(String),
    /// A guard has failed.
    Failed(ToolError),
}

/// An answer that is right.
struct RightAnswer {
    /// The JSON of the value.
    json: String,
    /// The text of the step, if the answer was given as a text, and the step in its provider's own
    /// form.
    text: Option<String>,
    native: Option<RawTurn>,
}

impl AnswerForm {
    pub(crate) fn new<T: AnswerType + Send + 'static>(
        slot: &Arc<ValueSlot<T>>,
        session: &Arc<SessionInner>,
        retries: u32,
    ) -> Result<Self, Vec<String>> {
        let description =
            "Give the final answer. Call it once, alone, when you have all that the answer needs.";
        let mut tool = slot.tool("final_answer", description);
        while session.tools.find(tool.name()).is_some() {
            tool = tool.renamed(format!("{}_", tool.name()));
        }
        // Reports a type whose schema cannot be published.
        let checked = ToolContext::builder().with(&tool).build();
        checked.map_err(|errors| {
            errors
                .to_string()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })?;
        let definition = tool.definition().taking_answer();
        Ok(Self {
            tool,
            definition,
            retries,
            text: None,
            problems: Vec::new(),
            wants_answer: false,
            is_taken: false,
        })
    }

    /// Returns the tools of the session and the control tool.
    pub(crate) fn with_tools(&self, tools: &[ToolDefinition]) -> Vec<ToolDefinition> {
        tools.iter().chain([&self.definition]).cloned().collect()
    }

    /// Returns the instructions with those about the answer. A model without the tool has the
    /// schema in another form.
    pub(crate) fn instructions(&self, about_tools: &str) -> String {
        let name = self.tool.name();
        let gap = if about_tools.is_empty() { "" } else { "\n" };
        format!(
            "{about_tools}{gap}# Answer\n\nGive your final answer by calling `{name}`. Where you do not have this tool, give it as a \
             text that is the JSON of the answer and nothing else.\n"
        )
    }

    /// Returns true for a call of the control tool.
    pub(crate) fn takes(&self, call: &ToolCall) -> bool {
        call.name() == self.tool.name()
    }

    /// Returns the response to an answer that the model gave beside calls of other tools.
    pub(crate) fn too_early(call: &ToolCall) -> ToolResponse {
        refused_unread(
            call,
            "The answer was not taken, as it came together with calls of other tools. Read their results, and give the answer \
             again.",
        )
    }

    /// Takes the answer out of a step, and writes it to the history. Leaves the calls in a step
    /// that calls other tools, if it may make some, and returns `None`: the model then answers when
    /// it has their results.
    pub(crate) async fn read(
        &mut self,
        session: &Arc<SessionInner>,
        step: &mut ModelStep,
        history: &mut LoggedHistory<'_>,
        may_call: bool,
        guards: Option<&mut ReplyGuards<'_>>,
    ) -> Option<FormVerdict> {
        let has_answer = step.calls.iter().any(|call| self.takes(call));
        let has_others = step.calls.iter().any(|call| !self.takes(call));
        if has_others && may_call {
            return None;
        }
        // No guard sees the parts before the answer.
        history.discard_drafts();
        if has_answer {
            return Some(self.read_calls(session, step, history, guards).await);
        }
        if has_others {
            // They are ignored, and the provider's raw turn would bring them into the history.
            step.calls.clear();
            step.native = None;
        }
        Some(self.read_text(step, history, guards).await)
    }

    /// Reads an answer that was given as a call. If it is wrong, every call of the step gets a
    /// result, so that the step stays in the history as its provider sent it.
    async fn read_calls(
        &mut self,
        session: &Arc<SessionInner>,
        step: &mut ModelStep,
        history: &mut LoggedHistory<'_>,
        guards: Option<&mut ReplyGuards<'_>>,
    ) -> FormVerdict {
        let made = step.calls.len();
        let calls = distinct_calls(
            session,
            with_fresh_ids(history.history, std::mem::take(&mut step.calls)),
        );
        let calls = calls
            .into_iter()
            .map(|step_call| step_call.call)
            .collect::<Vec<_>>();
        let Some(given) = calls.iter().find(|call| self.takes(call)) else {
            return FormVerdict::GivenUp;
        };
        let (response, problems) = if step.finish == ReplyFinish::Length {
            let message = refusal_of_calls(step.finish, step.max_tokens);
            (refused_unread(given, &message), vec![message])
        } else {
            read(&self.tool, given.arguments()).await
        };
        let json = value_in(given.arguments()).to_owned();
        if response.is_ok() {
            let answer = RightAnswer {
                json,
                text: None,
                native: None,
            };
            return self.take(answer, history, guards).await;
        }
        let results = calls.iter().map(|call| {
            if call.id() == given.id() {
                response.clone()
            } else if self.takes(call) {
                refused_unread(call, "The answer was not read: give one answer at a time.")
            } else {
                let refusal = refused_step(session.policy().max_tool_steps, call);
                record_refusal(session, call, &refusal);
                refusal
            }
        });
        let results = results.collect::<Vec<_>>();
        // The items of a raw turn correspond to the calls.
        let native = step.native.take().filter(|_| calls.len() == made);
        history.push(Message::Assistant {
            text: step.text.take(),
            calls: calls.clone(),
            native,
        });
        for (call, result) in calls.iter().zip(&results) {
            history.push_result(call, result);
        }
        self.text = Some(json);
        self.problems = problems;
        self.again()
    }

    /// Reads an answer that was given as a text: JSON of the type, or none at all.
    async fn read_text(
        &mut self,
        step: &mut ModelStep,
        history: &mut LoggedHistory<'_>,
        guards: Option<&mut ReplyGuards<'_>>,
    ) -> FormVerdict {
        let text = step.text.take();
        let native = step.native.take();
        let read = match &text {
            Some(_) if step.finish == ReplyFinish::Length => Err(vec![format!(
                "it reached {} before it was complete; give a shorter one",
                name_of_limit(step.max_tokens)
            )]),
            Some(text) => self.read_json(text).await,
            None => Err(vec!["expected the answer, got nothing".to_owned()]),
        };
        let problems = match read {
            Ok(json) => {
                let answer = RightAnswer { json, text, native };
                return self.take(answer, history, guards).await;
            }
            Err(problems) => problems,
        };
        if text.is_some() || native.is_some() {
            history.push(Message::Assistant {
                text: text.clone(),
                calls: Vec::new(),
                native,
            });
        }
        let note = format!(
            "{NOTE} The answer was not taken: {}. Give it by calling `{}`. Where you \
             do not have this tool, give it as a text that is the JSON of the answer and nothing else.",
            problems.join("; "),
            self.tool.name()
        );
        self.text = text;
        self.problems = problems;
        self.wants_answer = true;
        let verdict = self.again();
        if matches!(verdict, FormVerdict::AskAgain) {
            history.push(Message::user(note));
        }
        verdict
    }

    /// Takes a right answer that the guards let pass, and writes it to the history.
    async fn take(
        &mut self,
        answer: RightAnswer,
        history: &mut LoggedHistory<'_>,
        guards: Option<&mut ReplyGuards<'_>>,
    ) -> FormVerdict {
        let RightAnswer { json, text, native } = answer;
        let is_call = text.is_none();
        let Some(guards) = guards else {
            self.is_taken = true;
            history.push(answer_step(text.clone().unwrap_or(json), native));
            return FormVerdict::Taken { shown: text };
        };

        let taken = match guards.check(&json, history.messages()).await {
            // The guards have not seen the words around the JSON.
            Ok(AnswerVerdict::Pass) => match text.filter(|text| is_json(text)) {
                Some(text) => answer_step(text, native),
                None => answer_step(json.clone(), None),
            },
            Ok(AnswerVerdict::Rewrite(rewritten)) => {
                let problems = read(&self.tool, &arguments_of(&rewritten)).await.1;
                if !problems.is_empty() {
                    return FormVerdict::Failed(wrong_rewrite(&problems));
                }
                answer_step(rewritten, None)
            }
            Ok(AnswerVerdict::AskAgain(reason)) => {
                history.push(Message::user(guard_note(&reason)));
                self.wants_answer = true;
                return FormVerdict::AskAgain;
            }
            Ok(AnswerVerdict::Refuse(message)) => {
                history.push(answer_step(message.clone(), None));
                return FormVerdict::Blocked(message);
            }
            Err(error) => return FormVerdict::Failed(error),
        };
        self.is_taken = true;
        let shown = match &taken {
            Message::Assistant { text, .. } if !is_call => text.clone(),
            _ => None,
        };
        history.push(taken);
        FormVerdict::Taken { shown }
    }

    /// Reads the JSON of a text, and returns the JSON of the value, or its problems. The text is
    /// the value, or the arguments of the control tool, whose schema some models get as the form of
    /// their text.
    async fn read_json(&self, text: &str) -> Result<String, Vec<String>> {
        let Some(json) = json_in(text) else {
            return Err(vec![
                "expected the JSON of the answer, got another text".to_owned(),
            ]);
        };
        let value = value_in(json);
        let problems = read(&self.tool, &arguments_of(value)).await.1;
        if problems.is_empty() {
            return Ok(value.to_owned());
        }
        if value == json {
            return Err(problems);
        }
        // The value may be an object whose only member has the name of the argument.
        let of_whole = read(&self.tool, &arguments_of(json)).await.1;
        if of_whole.is_empty() {
            Ok(json.to_owned())
        } else {
            Err(problems)
        }
    }

    fn again(&mut self) -> FormVerdict {
        match self.retries.checked_sub(1) {
            Some(left) => {
                self.retries = left;
                FormVerdict::AskAgain
            }
            None => FormVerdict::GivenUp,
        }
    }
}

fn answer_step(text: String, native: Option<RawTurn>) -> Message {
    Message::Assistant {
        text: Some(text),
        calls: Vec::new(),
        native,
    }
}

/// Returns the error of a guard whose text is not of the type of the answer.
fn wrong_rewrite(problems: &[String]) -> ToolError {
    ToolError::permanent(format!(
        "a guard rewrote the typed answer into one that is wrong: {}",
        problems.join("; ")
    ))
}
