//! The places that settings of a model have in the requests of providers.
//!
//! A provider's spec has a table with one [`SettingPlace`] for each setting that it has.

use serde_json::{Value, json};
use std::fmt;

/// The amount of thinking before an answer.
///
/// Models differ in the efforts that they take. A provider whose interface has no such word refuses
/// the setting before anything is sent.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::ReasoningEffort;
/// use tool_adapters::transport::http::HttpModel;
///
/// let model = HttpModel::new(Provider::OpenAiResponses, "gpt-5").reasoning_effort(ReasoningEffort::Low);
/// # let _ = model;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// No thoughts.
    None,
    /// As few as possible.
    Minimal,
    /// Few.
    Low,
    /// The usual amount of most models.
    Medium,
    /// Many.
    High,
    /// More than many.
    XHigh,
    /// As many as the model can use.
    Max,
}

impl ReasoningEffort {
    /// All efforts.
    pub(crate) const ALL: &'static [Self] = &[
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// Returns the word that providers use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for ReasoningEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Setting {
    Temperature,
    TopP,
    Seed,
    Stop,
    ReasoningEffort,
    ParallelToolCalls,
    FirstTool,
}

impl Setting {
    /// All settings.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::Temperature,
        Self::TopP,
        Self::Seed,
        Self::Stop,
        Self::ReasoningEffort,
        Self::ParallelToolCalls,
        Self::FirstTool,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Seed => "seed",
            Self::Stop => "stop",
            Self::ReasoningEffort => "reasoning_effort",
            Self::ParallelToolCalls => "parallel_tool_calls",
            Self::FirstTool => "first_tool",
        }
    }
}

/// The place of a setting in the requests of a provider.
#[derive(Clone, Copy)]
pub(crate) struct SettingPlace {
    pub(crate) setting: Setting,
    /// The members that lead to it.
    pub(crate) path: &'static [&'static str],
    /// The efforts that the provider knows. All for other settings.
    pub(crate) efforts: &'static [ReasoningEffort],
    /// Writes the value.
    pub(crate) shape: fn(Value) -> Value,
}

impl SettingPlace {
    /// A setting whose value is written as it is.
    pub(crate) const fn at(setting: Setting, path: &'static [&'static str]) -> Self {
        Self {
            setting,
            path,
            efforts: ReasoningEffort::ALL,
            shape: |value| value,
        }
    }

    /// A setting whose value has another form.
    pub(crate) const fn shaped(
        setting: Setting,
        path: &'static [&'static str],
        shape: fn(Value) -> Value,
    ) -> Self {
        Self {
            shape,
            ..Self::at(setting, path)
        }
    }

    /// The effort, of which the provider knows some words.
    pub(crate) const fn effort(
        path: &'static [&'static str],
        efforts: &'static [ReasoningEffort],
    ) -> Self {
        Self {
            efforts,
            ..Self::at(Setting::ReasoningEffort, path)
        }
    }

    /// A tool by its name, as Chat Completions has it.
    pub(crate) const NAMED_FUNCTION: Self = Self::shaped(
        Setting::FirstTool,
        &["tool_choice"],
        |name| json!({"type": "function", "function": {"name": name}}),
    );
}

/// The settings of Chat Completions, as OpenAI and most other servers have them.
pub(crate) const CHAT: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["temperature"]),
    SettingPlace::at(Setting::TopP, &["top_p"]),
    SettingPlace::at(Setting::Seed, &["seed"]),
    SettingPlace::at(Setting::Stop, &["stop"]),
    SettingPlace::at(Setting::ReasoningEffort, &["reasoning_effort"]),
    SettingPlace::at(Setting::ParallelToolCalls, &["parallel_tool_calls"]),
    SettingPlace::NAMED_FUNCTION,
];

/// The settings of Mistral's chat.
pub(crate) const MISTRAL: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["temperature"]),
    SettingPlace::at(Setting::TopP, &["top_p"]),
    SettingPlace::at(Setting::Seed, &["random_seed"]),
    SettingPlace::at(Setting::Stop, &["stop"]),
    SettingPlace::at(Setting::ReasoningEffort, &["reasoning_effort"]),
    SettingPlace::at(Setting::ParallelToolCalls, &["parallel_tool_calls"]),
    SettingPlace::NAMED_FUNCTION,
];
