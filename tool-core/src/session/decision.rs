//! A person's decision on a call that waits for approval.

use crate::call::tool_call::GrantTerms;
use crate::session::grants::GrantScope;
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
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    token: String,
    is_approval: bool,
    person: Option<String>,
    grant: Option<GrantTerms>,
}

impl Decision {
    /// Approves the call that waits under a token.
    pub fn approve(token: impl Into<String>) -> Self {
        Self {
            token: token.into(),
            is_approval: true,
            person: None,
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

    /// Returns the token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns true if the call may run.
    pub fn is_approval(&self) -> bool {
        self.is_approval
    }

    /// Returns the person, if one is named.
    pub fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// Returns the calls that the decision approves beyond this one, if it approves any.
    pub fn grant_scope(&self) -> Option<GrantScope> {
        self.grant.map(GrantScope::of)
    }

    pub(crate) fn grant(&self) -> Option<GrantTerms> {
        self.grant
    }
}
