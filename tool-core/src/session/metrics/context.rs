//! Tokens in a model's context window: what a session starts with, and the most that its model has
//! seen.

use crate::session::metrics::tool_stats::estimated_tokens;
use crate::text::characters;
use crate::tool::ToolDefinition;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Tokens of a context window: estimates of what a session starts with, and the counts that
/// providers have reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ContextMetrics {
    /// The tokens that a session starts with: the sum of `system_prompt_tokens` and
    /// `tool_decl_tokens`.
    pub session_init_tokens: u64,
    /// The system prompt given by the host, otherwise the instructions about the tools.
    pub system_prompt_tokens: u64,
    /// The declarations of the tools in their canonical form.
    pub tool_decl_tokens: u64,
    /// The largest context that a provider has reported.
    pub peak_tokens: u64,
}

impl ContextMetrics {
    /// Estimates the context of a session with these instructions and tools before its first turn.
    pub(crate) fn new<'a>(
        instructions: &str,
        tools: impl Iterator<Item = &'a ToolDefinition>,
    ) -> Self {
        // As one list: `[{"name":..,"description":..,"parameters":..},..]`.
        let punctuation = r#"{"name":,"description":,"parameters":},"#.len();
        let quoted = |text: &str| serde_json::to_string(text).map_or(0, |text| characters(&text));
        let mut declared = 0;
        for tool in tools {
            declared += punctuation + quoted(tool.name()) + quoted(tool.description());
            declared += characters(tool.parameters_json());
        }
        let tool_decl_tokens = tokens_of(if declared == 0 { 0 } else { declared + 1 });
        Self {
            tool_decl_tokens,
            ..Self::default()
        }
        .with_prompt(tokens_in(instructions))
    }

    /// Replaces the tokens of the system prompt.
    pub(crate) fn with_prompt(self, tokens: u64) -> Self {
        Self {
            session_init_tokens: tokens + self.tool_decl_tokens,
            system_prompt_tokens: tokens,
            ..self
        }
    }

    /// Logs one line per figure of a session with so many tools.
    pub(crate) fn log(self, session: &str, tools: usize) {
        let session = session.escape_debug();
        tracing::info!(target: "tool_core::context", %session, tokens = self.session_init_tokens, "tokens at session start");
        tracing::info!(target: "tool_core::context", %session, tokens = self.system_prompt_tokens, "tokens of the system prompt");
        tracing::info!(
            target: "tool_core::context", %session, tokens = self.tool_decl_tokens, tools, "tokens of the tool declarations"
        );
    }
}

/// Estimates the tokens of a text.
pub(crate) fn tokens_in(text: &str) -> u64 {
    tokens_of(characters(text))
}

fn tokens_of(characters: usize) -> u64 {
    estimated_tokens(u32::try_from(characters).unwrap_or(u32::MAX)).into()
}

/// The context of one session's model.
#[derive(Default)]
pub(crate) struct ContextUsage {
    /// The tokens of the host's own system prompt, plus one; 0 if none was given.
    prompt: AtomicU64,
    peak: AtomicU64,
    nearly_full: AtomicBool,
}

impl ContextUsage {
    pub(crate) fn new(prompt: Option<u64>) -> Self {
        Self {
            prompt: AtomicU64::new(prompt.map_or(0, |tokens| tokens + 1)),
            ..Self::default()
        }
    }

    pub(crate) fn prompt(&self) -> Option<u64> {
        self.prompt.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Sets the tokens of the system prompt. Returns true if they were others before.
    pub(crate) fn set_prompt(&self, tokens: u64) -> bool {
        self.prompt.swap(tokens + 1, Ordering::Relaxed) != tokens + 1
    }

    /// Takes in a reported context size. Returns true when it has just reached 0.9 of the window.
    pub(crate) fn observe(&self, tokens: u64, window: u64) -> bool {
        self.peak.fetch_max(tokens, Ordering::Relaxed);
        let nearly_full = u128::from(tokens) * 10 >= u128::from(window) * 9;
        let was_nearly_full = self.nearly_full.swap(nearly_full, Ordering::Relaxed);
        nearly_full && !was_nearly_full
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_nine_tenths_once_per_crossing() {
        let usage = ContextUsage::default();
        let reported = [899_999, 900_000, 950_000, 1_200_000, 899_999, 900_000]
            .map(|tokens| usage.observe(tokens, 1_000_000));
        assert_eq!(reported, [false, true, false, false, false, true]);
        assert_eq!(usage.peak(), 1_200_000);
    }

    #[test]
    fn does_not_round_nine_tenths_of_odd_windows() {
        let reported = |tokens| ContextUsage::default().observe(tokens, 15);
        assert_eq!([13, 14].map(reported), [false, true]);
    }
}
