//! The reasons for which a person has to approve a call, and who gives them.

use crate::text::{escape_invisible, truncate};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The answer of a condition of approval: whether a person has to approve a call, and why.
///
/// A condition returns a `bool`, a reason in an [`Option`], or this type.
///
/// ```
/// use tool_core::{ToolContext, tool};
///
/// /// Asks a person about large refunds.
/// fn why(args: &RefundArgs) -> Option<String> {
///     (args.cents > 10_000).then(|| format!("{} cents are more than 10,000", args.cents))
/// }
///
/// /// Refund an order.
/// #[tool(category = "action", confirm = why, args = RefundArgs)]
/// fn refund(cents: u32) -> String {
///     format!("refunded {cents} cents")
/// }
///
/// ToolContext::builder().with(refund).build()?;
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ApprovalNeed {
    /// The condition does not ask for approval. Another one may.
    #[default]
    No,
    /// A person has to approve the call.
    Yes,
    /// A person has to approve the call, for this reason. The person reads it, and the audit log
    /// has it.
    Because(Cow<'static, str>),
}

impl ApprovalNeed {
    /// Returns the answer of a condition that asks for approval for a reason.
    pub fn because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Because(reason.into())
    }

    /// Returns true if a person has to approve the call.
    pub const fn is_needed(&self) -> bool {
        !matches!(self, Self::No)
    }

    /// Returns the reason of this source, if it asks. `otherwise` is the text of a source that
    /// gives none.
    pub(crate) fn reason(self, source: ApprovalSource, otherwise: &str) -> Option<ApprovalReason> {
        match self {
            Self::No => None,
            Self::Because(text) if !text.trim().is_empty() => {
                Some(ApprovalReason::new(source, &text))
            }
            Self::Yes | Self::Because(_) => Some(ApprovalReason::new(source, otherwise)),
        }
    }
}

impl From<bool> for ApprovalNeed {
    fn from(asks: bool) -> Self {
        if asks { Self::Yes } else { Self::No }
    }
}

impl<T: Into<Cow<'static, str>>> From<Option<T>> for ApprovalNeed {
    fn from(reason: Option<T>) -> Self {
        reason.map_or(Self::No, Self::because)
    }
}

/// A reason for which a call waits for a person. A call has one of each condition that asked.
///
/// ```
/// use tool_core::call::{ApprovalReason, ApprovalSource};
///
/// let reason = ApprovalReason::new(ApprovalSource::Hook, "the account is a week old");
/// assert_eq!(reason.to_string(), "hook: the account is a week old");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalReason {
    /// The condition's owner.
    pub source: ApprovalSource,
    /// The reason, on one line of at most 200 characters. Characters that a person does not see are
    /// escaped. It may repeat what a model wrote.
    pub text: String,
}

/// The owner of a condition of approval. None of them can take back what another one asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalSource {
    /// The tool itself, by the option `confirm` of `#[tool]`.
    Tool,
    /// The policy of the host: [`Policy::confirm_category`](crate::Policy::confirm_category), the
    /// conditions that the host adds to a tool, and the rules of a gateway.
    Policy,
    /// A hook of the host, by [`Hook::confirm`](crate::session::Hook::confirm).
    Hook,
}

impl ApprovalSource {
    /// Returns the name: `tool`, `policy` or `hook`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Policy => "policy",
            Self::Hook => "hook",
        }
    }
}

/// The most characters of a reason.
const MAX_TEXT: usize = 200;
/// The most reasons of a call.
const MAX_REASONS: usize = 8;

impl ApprovalReason {
    /// Creates a reason. A longer text is cut to 200 characters.
    pub fn new(source: ApprovalSource, text: &str) -> Self {
        // Cut first, so that a very long text is not copied.
        let text = escape_invisible(&truncate(text.trim(), MAX_TEXT));
        Self {
            source,
            text: truncate(&text, MAX_TEXT),
        }
    }

    /// Returns the bytes that the reason takes in a store.
    pub(crate) fn size(&self) -> usize {
        self.source.as_str().len() + self.text.len()
    }
}

impl fmt::Display for ApprovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source.as_str(), self.text)
    }
}

/// Leaves out reasons that are given twice. Of more than 8, seven are left, and an eighth that counts
/// the others.
pub(crate) fn bounded(reasons: Vec<ApprovalReason>) -> Vec<ApprovalReason> {
    let mut kept = Vec::with_capacity(reasons.len().min(MAX_REASONS));
    let mut rest = Vec::new();
    for reason in reasons {
        if kept.contains(&reason) || rest.contains(&reason) {
            continue;
        }
        if kept.len() < MAX_REASONS {
            kept.push(reason);
        } else {
            rest.push(reason);
        }
    }
    if let Some(last) = kept.last_mut().filter(|_| !rest.is_empty()) {
        last.text = format!("and {} other reasons", rest.len() + 1);
    }
    kept
}

/// Reads reasons that come from elsewhere, within the limits of those that are made here.
pub(crate) fn read_bounded<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ApprovalReason>, D::Error> {
    let read = Vec::<ApprovalReason>::deserialize(deserializer)?;
    let own = read
        .into_iter()
        .map(|reason| ApprovalReason::new(reason.source, &reason.text));
    Ok(bounded(own.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line() {
        let text = format!("  a\u{202e}b\nc {}", "x".repeat(1_000));
        let reason = ApprovalReason::new(ApprovalSource::Tool, &text);
        assert!(reason.text.starts_with(r"a\u{202e}b\nc xxx"), "{reason}");
        assert_eq!(reason.text.chars().count(), MAX_TEXT + 3);
        assert_eq!(
            ApprovalReason::new(ApprovalSource::Tool, &reason.text),
            reason
        );
    }

    #[test]
    fn many_reasons_become_eight_that_count_the_others() {
        let reasons = (0..20).map(|n| ApprovalReason::new(ApprovalSource::Hook, &n.to_string()));
        let mut reasons = reasons.collect::<Vec<_>>();
        reasons.push(reasons[0].clone());
        let kept = bounded(reasons);
        assert_eq!(kept.len(), MAX_REASONS);
        assert_eq!(kept[6].text, "6");
        assert_eq!(kept[7].text, "and 13 other reasons");
    }

    #[test]
    fn an_empty_reason_has_the_words_of_its_source() {
        let reason = ApprovalNeed::because(" ").reason(ApprovalSource::Hook, "it asks");
        assert_eq!(reason.map(|reason| reason.text).as_deref(), Some("it asks"));
        assert_eq!(ApprovalNeed::from(None::<String>), ApprovalNeed::No);
    }

    #[test]
    fn reasons_from_elsewhere_are_cut() {
        #[derive(Deserialize)]
        struct Holder {
            #[serde(deserialize_with = "read_bounded")]
            reasons: Vec<ApprovalReason>,
        }
        let reason = serde_json::json!({"source": "policy", "text": "y\u{200b}".repeat(900)});
        let json = serde_json::json!({"reasons": vec![reason; 1]});
        let read = serde_json::from_value::<Holder>(json).expect("it is read");
        assert_eq!(read.reasons[0].text.chars().count(), MAX_TEXT + 3);
        assert!(!read.reasons[0].text.contains('\u{200b}'));
    }
}
