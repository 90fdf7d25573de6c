//! The settings of a model that providers name differently.

use crate::Provider;
use crate::hosts::Host;
use crate::request::{Request, is_thinking, may_not_call};
use crate::setting_places::{ReasoningEffort, Setting, SettingPlace};
use serde_json::{Map, Value, json};
use thiserror::Error;
use tool_core::session::{Message, ToolChoice, is_note};

/// The settings of a model that providers have under different names.
///
/// `HttpModel` has a method for each. If you send requests yourself,
/// [`write`](Self::write) puts them into the body.
///
/// ```
/// use tool_adapters::providers::{Host, ModelSettings, Request};
/// use tool_adapters::{Provider, declare, protocol};
/// use tool_core::ToolContext;
/// use tool_core::serde_json::Map;
/// use tool_core::session::{Message, ToolChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut settings = ModelSettings::default();
/// settings.stop = vec!["END".to_owned()];
/// settings.top_p = Some(0.9);
///
/// let provider = Provider::Gemini;
/// let request = Request {
///     model: "gemini-3-flash",
///     instructions: "",
///     history: &[Message::User("Hi".into())],
///     declarations: &declare(provider, &ToolContext::builder().build()?),
///     tool_choice: ToolChoice::Auto,
///     stream: false,
///     max_tokens: None,
///     extra: &Map::new(),
/// };
/// let mut body = protocol(provider).request(&request);
/// settings.write(provider, &Host::of(provider), &request, &mut body)?;
/// assert_eq!(body["generationConfig"]["stopSequences"][0], "END");
/// assert_eq!(body["generationConfig"]["topP"], 0.9);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The randomness of the answer.
    pub temperature: Option<f64>,
    /// The share of the probability from which the model picks.
    pub top_p: Option<f64>,
    /// The seed of the randomness. Equal requests get similar answers.
    pub seed: Option<i64>,
    /// The texts before which the answer ends.
    pub stop: Vec<String>,
    /// The amount of thinking.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// True if the model may make several calls in one step.
    pub parallel_tool_calls: Option<bool>,
    /// The tool that the model has to call first, after each message of the user.
    pub first_tool: Option<String>,
}

/// The settings of a model that a server does not have, or whose values it does not take. Nothing
/// was sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the settings cannot be sent: {}", .problems.join("; "))]
pub struct SettingsError {
    problems: Vec<String>,
}

impl SettingsError {
    /// Returns every problem, in words.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl ModelSettings {
    /// Writes the settings into the body of a request, where the server has them. A member that [`Request::extra`] sets stays.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] with every setting that the server does not have.
    pub fn write(
        &self,
        provider: Provider,
        host: &Host,
        request: &Request<'_>,
        body: &mut Value,
    ) -> Result<(), SettingsError> {
        let values = self.values(request);
        let mut problems = self.wrong_values();
        problems.extend(self.wrong_first_tool(request));
        let mut written = Vec::new();
        for (setting, value) in values {
            match self.place(provider, host, request.model, setting) {
                Ok(place) => written.push((place, value)),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(SettingsError { problems });
        }

        for (place, value) in written {
            let is_about_calls = matches!(
                place.setting,
                Setting::ParallelToolCalls | Setting::FirstTool
            );
            let is_sent = !is_about_calls || Self::concerns(place.setting, request);
            if is_sent && !is_set(request.extra, place.path) {
                put(body, place, (place.shape)(value));
            }
        }
        Ok(())
    }

    /// Returns the settings that are set, with their values.
    fn values(&self, request: &Request<'_>) -> Vec<(Setting, Value)> {
        let effort = self.reasoning_effort.map(|effort| effort.as_str().into());
        let first_tool = self
            .first_tool
            .as_deref()
            .map(|name| Value::from(&*request.declarations.written_name(name)));
        let stop = Some(&self.stop).filter(|stop| !stop.is_empty());
        let all = [
            (Setting::Temperature, self.temperature.map(Value::from)),
            (Setting::TopP, self.top_p.map(Value::from)),
            (Setting::Seed, self.seed.map(Value::from)),
            (Setting::Stop, stop.map(|stop| json!(stop))),
            (Setting::ReasoningEffort, effort),
            // The choice of a tool replaces the one that the request has, so that it comes before
            // its details.
            (Setting::FirstTool, first_tool),
            (
                Setting::ParallelToolCalls,
                self.parallel_tool_calls.map(Value::from),
            ),
        ];
        all.into_iter()
            .filter_map(|(setting, value)| Some((setting, value?)))
            .collect()
    }

    fn wrong_values(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self
            .temperature
            .is_some_and(|value| !value.is_finite() || value < 0.0)
        {
            problems.push("`temperature` has to be a number of at least 0".to_owned());
        }
        if self
            .top_p
            .is_some_and(|value| !(0.0..=1.0).contains(&value))
        {
            problems.push("`top_p` has to be a number from 0 to 1".to_owned());
        }
        if self.stop.iter().any(String::is_empty) {
            problems.push("a text of `stop` is empty".to_owned());
        }
        problems
    }

    fn wrong_first_tool(&self, request: &Request<'_>) -> Option<String> {
        let name = self.first_tool.as_deref()?;
        let is_sent = Self::concerns(Setting::FirstTool, request);
        if is_sent && request.declarations.wire_name(name).is_none() {
            return Some(format!(
                "`first_tool` is `{}`, which the request does not declare",
                name.escape_debug()
            ));
        }
        is_thinking(request.extra).then(|| {
            "`first_tool` forces a call, which providers refuse beside thinking".to_owned()
        })
    }

    /// Returns true if a request takes a setting about calls.
    fn concerns(setting: Setting, request: &Request<'_>) -> bool {
        if request.declarations.is_empty() || may_not_call(request) {
            return false;
        }
        let is_free = matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::Required);
        setting != Setting::FirstTool || is_free && user_spoke_last(request.history)
    }

    /// Returns the place of a setting at a server, or the problem.
    fn place(
        &self,
        provider: Provider,
        host: &Host,
        model: &str,
        setting: Setting,
    ) -> Result<&'static SettingPlace, String> {
        let places = host.settings(provider);
        let name = setting.name();
        if host.rules.lacks.contains(&setting) {
            return Err(format!("{} has no `{name}`", host.turn_id().as_str()));
        }
        let Some(place) = places.iter().find(|place| place.setting == setting) else {
            return Err(format!("{provider} has no `{name}`"));
        };
        if setting == Setting::FirstTool && !(provider.spec().takes_tool_choice)(model) {
            return Err(format!(
                "the model `{}` of {provider} has no `{name}`",
                model.escape_debug()
            ));
        }
        match self.reasoning_effort {
            Some(effort) if !place.efforts.contains(&effort) => {
                let known = place.efforts.iter().map(|effort| effort.as_str());
                let known = known.collect::<Vec<_>>().join(", ");
                Err(format!(
                    "{provider} has no `{name}` {effort}; it has {known}"
                ))
            }
            _ => Ok(place),
        }
    }
}

/// Returns true if the model answers a message of the user, and not a result or a note of the
/// application.
fn user_spoke_last(history: &[Message]) -> bool {
    match history.last() {
        Some(Message::User(message)) => !is_note(&message.text()),
        _ => false,
    }
}

/// Returns true if the caller's own settings have a member.
fn is_set(extra: &Map<String, Value>, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    let mut value = extra.get(*first);
    for name in rest {
        value = value.and_then(|value| value.get(*name));
    }
    value.is_some()
}

/// Puts a value at its place. The choice of a tool replaces what is there; the members of others
/// join it.
fn put(body: &mut Value, place: &SettingPlace, value: Value) {
    let mut target = body;
    for name in place.path {
        let Some(members) = target.as_object_mut() else {
            return;
        };
        target = members
            .entry(*name)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    match (target, value) {
        (Value::Object(target), Value::Object(members)) if place.setting != Setting::FirstTool => {
            for (name, value) in members {
                target.entry(name).or_insert(value);
            }
        }
        (target, value) => *target = value,
    }
}
