//! The tools that steer the conversation. Each returns intents, which the runtime applies.

use serde_json::json;
use tool_core::{Intent, ToolOutput, toolset};

/// The name of the intent that blocks the guest. Its payload has the `seconds`.
pub(crate) const BLOCK_USER: &str = "concierge.block_user";

pub(crate) struct Conversation;

/// Steers the conversation itself.
#[expect(clippy::unused_self, reason = "the methods of a toolset take `self`")]
#[toolset(name = "conversation", title = "Conversation", discover = false)]
impl Conversation {
    /// Block the user for a while, because what was said was not meant for you. It gets no answer, and neither does what is
    /// said meanwhile.
    #[tool(
        category = "action",
        modes("voice", "text"),
        guide = "concierge/guides/ignore_user.md"
    )]
    pub(crate) fn ignore_user(
        &self,
        /// How long, in seconds
        #[arg(default = 30, range(1..=3600))]
        duration_seconds: u32,
        /// Why, in a few words
        #[arg(length(..=200))]
        reason: Option<&str>,
    ) -> ToolOutput {
        let block = Intent::Custom {
            name: BLOCK_USER.to_owned(),
            payload: json!({"seconds": duration_seconds}),
        };
        let output = ToolOutput::stop()
            .intent(Intent::SuppressAudio)
            .intent(Intent::SuppressTranscript)
            .intent(block);
        match reason {
            Some(reason) => output.meta("reason", reason),
            None => output,
        }
    }

    /// Go on in voice, because the guest wants to talk.
    #[tool(
        category = "utility",
        modes("text"),
        guide = "concierge/guides/start_voice_session.md"
    )]
    pub(crate) fn start_voice_session(
        &self,
        /// The greeting
        #[arg(length(1..=300))]
        greeting: Option<&str>,
    ) -> ToolOutput {
        said_next(ToolOutput::new(json!({"next": "voice"})), greeting)
    }

    /// End the spoken conversation after this turn.
    #[tool(
        category = "action",
        modes("voice"),
        guide = "concierge/guides/end_voice_session.md"
    )]
    pub(crate) fn end_voice_session(
        &self,
        /// The last thing that the guest hears
        #[arg(length(1..=300))]
        farewell: Option<&str>,
    ) -> ToolOutput {
        said_next(
            ToolOutput::new(json!({"ends": "after this turn"})).intent(Intent::EndVoiceSession),
            farewell,
        )
    }
}

fn said_next(output: ToolOutput, message: Option<&str>) -> ToolOutput {
    match message {
        Some(message) => output.intent(Intent::SetPendingMessage(message.to_owned())),
        None => output,
    }
}
