//! The mode of a conversation: voice or text.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// The mode of a conversation.
///
/// ```
/// use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Show a table.
/// #[tool(modes("text"))]
/// fn show_table() -> &'static str {
///     "| a | b |"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(show_table).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Voice).await?;
/// let response = session.call(ToolCall::new("call_1", "show_table", "{}")).await;
/// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::ModeRestricted));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A spoken conversation.
    Voice,
    /// A written conversation.
    #[default]
    Text,
}

impl Mode {
    /// Returns the mode's name: `voice` or `text`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Text => "text",
        }
    }
}

/// The mode of a conversation that can be handed over.
pub(crate) struct CurrentMode(AtomicBool);

impl CurrentMode {
    pub(crate) fn new(mode: Mode) -> Self {
        Self(AtomicBool::new(mode == Mode::Voice))
    }

    #[inline]
    pub(crate) fn get(&self) -> Mode {
        if self.0.load(Ordering::Acquire) {
            Mode::Voice
        } else {
            Mode::Text
        }
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.0.store(mode == Mode::Voice, Ordering::Release);
    }
}

/// A set of modes: those in which a tool may be called.
///
/// ```
/// use tool_core::Mode;
/// use tool_core::call::Modes;
///
/// assert!(Modes::TEXT.contains(Mode::Text) && !Modes::TEXT.contains(Mode::Voice));
/// assert_eq!(Modes::BOTH.iter().collect::<Vec<_>>(), [Mode::Voice, Mode::Text]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modes(u8);

impl Modes {
    /// Voice only.
    pub const VOICE: Self = Self(1 << Mode::Voice as u8);
    /// Text only.
    pub const TEXT: Self = Self(1 << Mode::Text as u8);
    /// Voice and text, the default.
    pub const BOTH: Self = Self(Self::VOICE.0 | Self::TEXT.0);

    /// No mode.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the set with `mode`.
    pub(crate) const fn with(self, mode: Mode) -> Self {
        Self(self.0 | (1 << mode as u8))
    }

    /// Returns true if the set contains `mode`.
    pub const fn contains(self, mode: Mode) -> bool {
        self.0 & (1 << mode as u8) != 0
    }

    /// Returns the modes in the set, voice first.
    pub fn iter(self) -> impl Iterator<Item = Mode> {
        [Mode::Voice, Mode::Text]
            .into_iter()
            .filter(move |mode| self.contains(*mode))
    }
}
