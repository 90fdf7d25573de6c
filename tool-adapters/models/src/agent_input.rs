//! The input of an agent: a message, or decisions of persons.

use tool_core::session::{Decision, UserMessage};

/// The input that an agent replies to. A text or a [`UserMessage`] is a message, and a [`Decision`]
/// or several are the decisions on calls that wait for approval.
///
/// ```
/// use tool_adapters::agent::AgentInput;
/// use tool_core::session::{Decision, UserMessage};
///
/// assert_eq!(AgentInput::from("Hi"), AgentInput::Message(UserMessage::new("Hi")));
/// let decision = Decision::deny("token");
/// assert_eq!(AgentInput::from(decision.clone()), AgentInput::Decisions(vec![decision]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentInput {
    /// A message of the user. Begins a new turn.
    Message(UserMessage),
    /// Nothing: the model begins the conversation. Begins a new turn. Tools with `ignore_on_enter`
    /// are hidden from the model.
    Enter,
    /// Nothing: the model continues in the same turn.
    Resume,
    /// The decisions of persons on calls that wait for approval. Approved calls run, and then the
    /// model continues in the same turn. If no call waits for any of them, the model is not asked,
    /// and the reply has an error.
    Decisions(Vec<Decision>),
    /// The answers of a person to calls that wait for approval, and perhaps a message beside them.
    Answers(Answers),
}

/// The answers of a person to calls that wait for approval, and perhaps a message beside them.
///
/// ```
/// use tool_adapters::agent::{AgentInput, Answers};
/// use tool_core::session::{Decision, UserMessage};
///
/// let mut answers = Answers::default();
/// answers.decisions.push(Decision::approve("token"));
/// answers.message = Some(UserMessage::new("And is there a table for Sunday?"));
/// let input = AgentInput::Answers(answers);
/// # let _ = input;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answers {
    /// The decisions, which are carried out as those of [`AgentInput::Decisions`].
    pub decisions: Vec<Decision>,
    /// The tokens of calls that the person does not decide on. A call that waits under one is
    /// denied. If none waits any more, nothing has to be done.
    pub cancelled: Vec<String>,
    /// The message of the user, with which a new turn begins after that. Without one, the model
    /// continues in the same turn. It is not asked if no call has waited. If a decision could not be
    /// carried out, the reply to the message begins with the reason.
    pub message: Option<UserMessage>,
}

impl From<UserMessage> for AgentInput {
    fn from(message: UserMessage) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for AgentInput {
    fn from(text: &str) -> Self {
        Self::Message(text.into())
    }
}

impl From<String> for AgentInput {
    fn from(text: String) -> Self {
        Self::Message(text.into())
    }
}

impl From<Decision> for AgentInput {
    fn from(decision: Decision) -> Self {
        Self::Decisions(vec![decision])
    }
}

impl From<Vec<Decision>> for AgentInput {
    fn from(decisions: Vec<Decision>) -> Self {
        Self::Decisions(decisions)
    }
}
