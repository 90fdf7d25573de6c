//! A person's decision on a call that waits for approval.

use crate::call::Arguments;
use crate::call::tool_call::GrantTerms;
use crate::session::grants::GrantScope;
use crate::text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A person's decision on a call that waits for approval.
///
/// ```
/// use tool_core::session::Decision;
///
/// # let token = "token".to_owned();
/// let decision = Decision::approve(token).by("user:7");
/// assert!(decision.is_approval());
/// ```
///
/// A person may approve a call with other arguments. They are checked as those of a model are, and
/// the model learns of them:
///
/// ```
/// use serde_json::json;
/// use tool_core::session::Decision;
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Refund an order.
/// #[tool(category = "action", confirm)]
/// fn refund(cents: u32) -> String {
///     format!("refunded {cents} cents")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(refund).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let response = session.call(ToolCall::new("call_1", "refund", json!({"cents": 90_000}))).await;
/// let token = &response.meta().confirmation().ok_or("it waits")?.token;
///
/// let decision = Decision::approve(token).with_arguments(json!({"cents": "a lot"}));
/// let refused = session.decide(&decision, None).await;
/// assert_eq!(refused.meta().problems()[0].pointer, "/cents"); // it waits on
///
/// let decision = Decision::approve(token).with_arguments(json!({"cents": 900}));
/// let done = session.decide(&decision, None).await;
/// assert_eq!(done.data_json(), Some(r#""refunded 900 cents""#));
/// assert_eq!(done.meta().changed_arguments(), Some(r#"{"cents":900}"#));
/// # Ok(())
/// # }
/// ```
///
/// Its JSON carries the decision to the process that waits for it, for example by [`DurableSteps::signal`](super::DurableSteps::signal).
/// It is worth nothing without the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Decision {
    token: String,
    #[serde(rename = "approve")]
    is_approval: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<GrantTerms>,
}

impl Decision {
    /// Approves the call that waits under a token.
    pub fn approve(token: impl Into<String>) -> Self {
        Self {
            token: token.into(),
            is_approval: true,
            person: None,
            arguments: None,
            grant: None,
        }
    }

    /// Denies the call that waits under a token.
    pub fn deny(token: impl Into<String>) -> Self {
        Self {
            is_approval: false,
            ..Self::approve(token)
        }
    }

    /// Sets the person, whom the audit log names. Defaults to the session's principal.
    pub fn by(self, person: impl Into<String>) -> Self {
        Self {
            person: Some(person.into()),
            ..self
        }
    }

    /// Approves the call with these arguments in place of the model's. They are validated before
    /// anything runs: if they are invalid, the answer lists every problem, and the call waits on. The
    /// result tells the model with which arguments the call has run, and the audit log has both. A
    /// denial ignores them.
    pub fn with_arguments<'a>(self, arguments: impl Into<Arguments<'a>>) -> Self {
        Self {
            arguments: Some(arguments.into().into_text()),
            ..self
        }
    }

    /// Also approves all later calls of this tool in this session, for a time: a [grant](crate::session::CallGrant).
    /// A time beyond [`Policy::max_grant_lifetime`](crate::Policy::max_grant_lifetime) is shortened to it. A
    /// denial gives no grant.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::session::{Decision, GrantScope};
    ///
    /// # let token = "token".to_owned();
    /// let decision = Decision::approve(token).by("user:7").always_for_tool(Duration::from_secs(600));
    /// assert_eq!(decision.grant_scope(), Some(GrantScope::Tool));
    /// ```
    pub fn always_for_tool(self, time: Duration) -> Self {
        self.granting(time, false)
    }

    /// Also approves later calls of this tool with equal arguments in this session, for a time, as
    /// [`always_for_tool`](Self::always_for_tool) does for all arguments.
    pub fn always_for_these_arguments(self, time: Duration) -> Self {
        self.granting(time, true)
    }

    fn granting(self, lifetime: Duration, only_these_arguments: bool) -> Self {
        let terms = GrantTerms {
            only_these_arguments,
            lifetime,
        };
        Self {
            grant: self.is_approval.then_some(terms),
            ..self
        }
    }

    /// Returns the decision for another token, under which the same call waits.
    #[cfg(feature = "agents")]
    pub(crate) fn on(self, token: String) -> Self {
        Self { token, ..self }
    }

    /// Returns the token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the name of the signal that carries the decision on a call that waits under a token. It does not tell the token.
    pub fn signal_name(token: &str) -> String {
        let digest = Sha256::digest(token);
        format!("decision-{}", text::hex(&digest[..16]))
    }

    /// Returns true if the call may run.
    pub fn is_approval(&self) -> bool {
        self.is_approval
    }

    /// Returns the person, if one is named.
    pub fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// Returns the arguments with which the person approves the call, if they are not those of the
    /// model.
    pub fn arguments(&self) -> Option<&str> {
        self.arguments.as_deref()
    }

    /// Returns the calls that the decision approves beyond this one, if it approves any.
    pub fn grant_scope(&self) -> Option<GrantScope> {
        self.grant.map(GrantScope::of)
    }

    pub(crate) fn grant(&self) -> Option<GrantTerms> {
        self.grant
    }
}
