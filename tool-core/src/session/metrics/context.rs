//! How full a model's context window is: what a session begins with, and what its model had before it at most. R-M4

use crate::call::mode::Mode;
use crate::session::metrics::stats::tokens;
use crate::session::runtime::Toolbox;
use crate::session::session;
use crate::session::session::Core;
use crate::text::characters;
use crate::tool::definition::ToolDefinition;
use crate::tool::function;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Tokens of a context window: estimates of what a session begins with, and what providers have counted since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ContextMetrics {
    /// What a session begins with: the sum of the next two.
    pub session_init_tokens: u64,
    /// The system prompt: the host's where it told it, or else the instructions about the tools.
    pub system_prompt_tokens: u64,
    /// The declarations of the tools, in their canonical form.
    pub tool_decl_tokens: u64,
    /// The most that a model had before it.
    pub peak_tokens: u64,
}

/// What a session begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beginning {
    pub(crate) system_prompt: u64,
    pub(crate) declarations: u64,
    pub(crate) tools: usize,
}

impl Beginning {
    fn of<'a>(tools: impl Iterator<Item = &'a ToolDefinition> + Clone, full_guides: bool) -> Self {
        let instructions = session::told(tools.clone(), full_guides);
        // As one list: `[{"name":..,"description":..,"parameters":..},..]`.
        let around = r#"{"name":,"description":,"parameters":},"#.len();
        let quoted = |text: &str| serde_json::to_string(text).map_or(0, |text| characters(&text));
        let declared = |tool: &ToolDefinition| {
            around + quoted(tool.name()) + quoted(tool.description()) + characters(tool.parameters_json())
        };
        let declarations = tools.clone().map(declared).sum::<usize>();
        Self {
            system_prompt: tokens_of(characters(&instructions)),
            declarations: tokens_of(if declarations == 0 { 0 } else { declarations + 1 }),
            tools: tools.count(),
        }
    }

    /// Of a session of these tools in a mode, with all that a `dynamic` toolset may hide.
    pub(crate) fn of_toolbox(toolbox: &Toolbox, mode: Mode, full_guides: bool) -> Self {
        let of_mode = |tool: &&ToolDefinition| tool.modes().contains(mode);
        Self::of(
            toolbox.context.function_tools().iter().map(function::FunctionTool::definition).filter(of_mode),
            full_guides,
        )
    }

    fn of_session(core: &Core) -> Self {
        let full_guides = core.policy().full_guides[core.mode as usize];
        let context = &core.toolbox.context;
        let begins = if context.function_tools().iter().any(function::FunctionTool::is_dynamic) {
            let now = core.now();
            let seen =
                context.definitions_for(&now).filter(|tool| tool.modes().contains(core.mode)).collect::<Vec<_>>();
            Self::of(seen.into_iter(), full_guides)
        } else {
            core.toolbox.begins(core.mode, full_guides)
        };
        begins.with_prompt(core.measured.context.prompt)
    }

    pub(crate) fn with_prompt(self, prompt: Option<u64>) -> Self {
        Self { system_prompt: prompt.unwrap_or(self.system_prompt), ..self }
    }

    pub(crate) fn with_peak(self, peak_tokens: u64) -> ContextMetrics {
        ContextMetrics {
            session_init_tokens: self.system_prompt + self.declarations,
            system_prompt_tokens: self.system_prompt,
            tool_decl_tokens: self.declarations,
            peak_tokens,
        }
    }
}

/// What a text of so many characters costs a model to read, about.
pub(crate) fn tokens_of(characters: usize) -> u64 {
    tokens(u32::try_from(characters).unwrap_or(u32::MAX)).into()
}

/// The tokens of a system prompt.
pub(crate) fn tokens_in(text: &str) -> u64 {
    tokens_of(characters(text))
}

/// What a session's model has before it.
#[derive(Default)]
pub(crate) struct Monitor {
    /// The host's own system prompt, where it told it.
    pub(crate) prompt: Option<u64>,
    peak: AtomicU64,
    above: AtomicBool,
}

impl Monitor {
    pub(crate) fn new(prompt: Option<u64>) -> Self {
        Self { prompt, ..Self::default() }
    }

    /// The model had so many tokens before it. Whether they have just come to 0.9 of the window.
    pub(crate) fn observe(&self, tokens: u64, window: u64) -> bool {
        self.peak.fetch_max(tokens, Ordering::Relaxed);
        let above = u128::from(tokens) * 10 >= u128::from(window) * 9;
        let was = self.above.swap(above, Ordering::Relaxed);
        above && !was
    }
}

impl Core {
    pub(crate) fn context(&self) -> ContextMetrics {
        Beginning::of_session(self).with_peak(self.measured.context.peak.load(Ordering::Relaxed))
    }

    /// Says what the session begins with, a line a figure, where somebody listens.
    pub(crate) fn tell_beginning(&self) {
        if !tracing::enabled!(target: "tool_core::context", tracing::Level::INFO) {
            return;
        }
        let Beginning { system_prompt, declarations, tools } = Beginning::of_session(self);
        let session = self.id.as_str().escape_debug();
        let total = system_prompt + declarations;
        tracing::info!(target: "tool_core::context", %session, tokens = total, "tokens at session start");
        tracing::info!(target: "tool_core::context", %session, tokens = system_prompt, "tokens of the system prompt");
        tracing::info!(target: "tool_core::context", %session, tokens = declarations, tools, "tokens of the tools' declarations");
    }

    /// The model had so many tokens before it. R-M4
    pub(crate) fn observe_context(&self, tokens: u64) {
        self.shared.measured.peak.fetch_max(tokens, Ordering::Relaxed);
        let window = self.policy().context_window;
        if self.measured.context.observe(tokens, window) {
            let session = self.id.as_str().escape_debug();
            tracing::warn!(target: "tool_core::context", %session, tokens, window, "the context window is nearly full");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-M4
    #[test]
    fn nine_tenths_of_the_window_are_told_once_per_crossing() {
        let monitor = Monitor::default();
        let told =
            [899_999, 900_000, 950_000, 1_200_000, 899_999, 900_000].map(|tokens| monitor.observe(tokens, 1_000_000));
        assert_eq!(told, [false, true, false, false, false, true]);
        assert_eq!(monitor.peak.load(Ordering::Relaxed), 1_200_000);
    }

    #[test]
    fn a_window_that_is_no_multiple_of_ten_is_not_rounded() {
        let told = |tokens| Monitor::default().observe(tokens, 15);
        assert_eq!([13, 14].map(told), [false, true]);
    }
}
