//! A person's decision on a call that waits for approval.

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
}

impl Decision {
    /// Approves the call that waits under a token.
    pub fn approve(token: impl Into<String>) -> Self {
        Self {
            token: token.into(),
            is_approval: true,
            person: None,
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
}
