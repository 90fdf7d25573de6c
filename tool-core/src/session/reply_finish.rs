//! The reason for which a reply ended.

/// The end of a reply, by its reason.
///
/// A step of a model has one too: it is the end of the reply if no other step follows.
///
/// ```
/// use tool_core::session::{Reply, ReplyFinish};
///
/// /// Returns what to tell the user.
/// fn shown(reply: &Reply) -> String {
///     let text = reply.text.as_deref().unwrap_or_default();
///     match reply.finish {
///         ReplyFinish::Complete | ReplyFinish::StepLimit => text.to_owned(),
///         ReplyFinish::Length => format!("{text} (the answer is cut off)"),
///         ReplyFinish::Failed => "Please try again.".to_owned(),
///         _ => "I cannot answer this.".to_owned(),
///     }
/// }
/// # assert_eq!(shown(&Reply::default()), "");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplyFinish {
    /// The model has said all that it wanted to say.
    #[default]
    Complete,
    /// The answer was cut off at the limit of its length, or at the end of the model's context.
    Length,
    /// The provider withheld the answer, or the rest of it.
    Withheld,
    /// The model refused to answer. The text, if there is one, is the refusal.
    Refused,
    /// A guard has refused the user's message or the model's answer. The text is what the guard
    /// tells the user. See [`Guards`](super::Guards).
    Blocked,
    /// The reply had as many steps of calls as it may have
    /// ([`Policy::max_tool_steps`](crate::Policy::max_tool_steps)). The text is what the model said
    /// then.
    StepLimit,
    /// A budget or a cap of the session was used up: the model answered without the calls that it
    /// wanted to make.
    Budget,
    /// The provider paused a long answer more often than the loop continues it.
    Paused,
    /// The turn was interrupted, or the session ended, before the model had answered.
    Interrupted,
    /// The model could not be asked, or its answer could not be used. The reply's error says why,
    /// or the problems of a typed answer do.
    Failed,
}
