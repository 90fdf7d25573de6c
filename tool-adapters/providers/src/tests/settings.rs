//! Settings of a model in the requests of each provider.

use crate::Provider;
use crate::hosts::Host;
use crate::protocol::protocol;
use crate::request::Request;
use crate::setting_places::{ReasoningEffort, Setting};
use crate::settings::{ModelSettings, SettingsError};
use crate::spec::Endpoint;
use crate::tests::fixtures::{assistant, declared, result, user};
use expect_test::expect;
use serde_json::{Map, Value, json};
use tool_core::session::{Message, ToolChoice};

/// A request whose settings are written.
struct Sent {
    provider: Provider,
    base_url: &'static str,
    history: Vec<Message>,
    choice: ToolChoice,
    extra: Value,
}

impl Sent {
    fn to(provider: Provider) -> Self {
        Self {
            provider,
            base_url: "",
            history: vec![user("Look around.")],
            choice: ToolChoice::Auto,
            extra: json!({}),
        }
    }

    /// Returns the body with and without the settings.
    fn bodies(&self, settings: &ModelSettings) -> Result<[Value; 2], SettingsError> {
        let declarations = declared(self.provider, true);
        let extra = self.extra.as_object().cloned().unwrap_or_default();
        let request = Request {
            model: "a-model",
            instructions: "",
            history: &self.history,
            declarations: &declarations,
            tool_choice: self.choice,
            stream: false,
            max_tokens: None,
            extra: &extra,
        };
        let host = Host::at(self.provider, self.base_url);
        let mut protocol = protocol(self.provider);
        protocol.host(host.clone());
        let plain = protocol.request(&request);
        let mut body = plain.clone();
        settings.write(self.provider, &host, &request, &mut body)?;
        Ok([body, plain])
    }

    /// Returns the members that the settings have changed, or the problems.
    fn changes(&self, settings: &ModelSettings) -> String {
        let [body, plain] = match self.bodies(settings) {
            Ok(bodies) => bodies,
            Err(error) => return error.problems().join("; "),
        };
        let members = body.as_object().cloned().unwrap_or_default();
        let changed = members
            .into_iter()
            .filter(|(name, value)| plain.get(name) != Some(value))
            .map(|(name, mut value)| {
                // The tools of Bedrock stand beside the choice.
                value.as_object_mut().map(|value| value.remove("tools"));
                (name, value)
            });
        Value::Object(changed.collect::<Map<_, _>>()).to_string()
    }
}

fn over_http() -> impl Iterator<Item = Provider> {
    Provider::ALL
        .into_iter()
        .filter(|provider| matches!(provider.spec().endpoint, Endpoint::Http(_)))
}

#[test]
fn the_book_has_the_place_of_each_setting() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/models.md");
    let book = std::fs::read_to_string(path).expect("the book");
    for provider in over_http() {
        let mut row = format!("| `{provider:?}` |");
        for setting in Setting::ALL {
            let places = provider.spec().settings;
            let cell = match places.iter().find(|place| place.setting == setting) {
                Some(place) => format!("`{}`", place.path.join(".")),
                None => "–".to_owned(),
            };
            row = format!("{row} {cell} |");
        }
        assert!(book.contains(&row), "{row}");
    }
}

/// One line for each provider.
fn table(settings: &ModelSettings) -> String {
    let line = |provider| format!("{provider}: {}", Sent::to(provider).changes(settings));
    over_http().map(line).collect::<Vec<_>>().join("\n")
}

fn first_tool(name: &str) -> ModelSettings {
    ModelSettings {
        first_tool: Some(name.to_owned()),
        ..ModelSettings::default()
    }
}

#[test]
fn randomness_has_each_providers_names() {
    let settings = ModelSettings {
        temperature: Some(0.5),
        top_p: Some(0.9),
        ..ModelSettings::default()
    };
    expect![[""]].assert_eq(&table(&settings));
}

#[test]
fn seeds_and_ends_have_each_providers_names() {
    let settings = ModelSettings {
        seed: Some(7),
        stop: vec!["END".into()],
        ..ModelSettings::default()
    };
    expect![[""]].assert_eq(&table(&settings));
}

#[test]
fn efforts_are_each_providers_words() {
    let settings = ModelSettings {
        reasoning_effort: Some(ReasoningEffort::Minimal),
        ..ModelSettings::default()
    };
    let low = ModelSettings {
        reasoning_effort: Some(ReasoningEffort::Low),
        ..ModelSettings::default()
    };
    expect![[""]].assert_eq(&[table(&settings), table(&low)].join("\n\n"));
}

#[test]
fn single_calls_have_each_providers_form() {
    let settings = ModelSettings {
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    expect![[""]].assert_eq(&table(&settings));
}

#[test]
fn a_tool_is_named_in_each_providers_form() {
    expect![[""]].assert_eq(&table(&first_tool("look")));
}

#[test]
fn a_tool_that_is_not_declared_is_a_problem() {
    let problem = Sent::to(Provider::OpenAiChat).changes(&first_tool("jump"));
    assert_eq!(
        problem,
        "`first_tool` is `jump`, which the request does not declare"
    );
}

#[test]
fn a_tool_is_forced_after_the_users_message_only() {
    let settings = first_tool("look");
    let chat = || Sent::to(Provider::OpenAiChat);
    assert_ne!(chat().changes(&settings), "{}");

    let called = vec![
        user("Look around."),
        assistant("", &[("call_1", "{}")], None),
        result("call_1", "a door", false),
    ];
    let note = "[Note by the application, not said by the user] The call `call_1` has ended.";
    for history in [called, vec![user("Look around."), user(note)]] {
        let sent = Sent { history, ..chat() };
        assert_eq!(sent.changes(&settings), "{}");
    }
    let sent = Sent {
        choice: ToolChoice::None,
        ..chat()
    };
    assert_eq!(sent.changes(&settings), "{}");
}

#[test]
fn a_forced_tool_replaces_a_required_call() {
    let settings = ModelSettings {
        parallel_tool_calls: Some(false),
        ..first_tool("look")
    };
    let sent = Sent {
        choice: ToolChoice::Required,
        ..Sent::to(Provider::Anthropic)
    };
    let [body, _] = sent.bodies(&settings).expect("both");
    assert_eq!(
        body["tool_choice"],
        json!({"type": "tool", "name": "look", "disable_parallel_tool_use": true})
    );
}

#[test]
fn single_calls_keep_the_choice_of_the_request() {
    let settings = ModelSettings {
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    let sent = Sent {
        choice: ToolChoice::Required,
        ..Sent::to(Provider::Anthropic)
    };
    let [body, _] = sent.bodies(&settings).expect("written");
    assert_eq!(
        body["tool_choice"],
        json!({"type": "any", "disable_parallel_tool_use": true})
    );
}

#[test]
fn members_of_the_caller_stay() {
    let settings = ModelSettings {
        temperature: Some(0.5),
        top_p: Some(0.5),
        ..ModelSettings::default()
    };
    let sent = Sent {
        extra: json!({"generationConfig": {"temperature": 1.5, "topK": 3}}),
        ..Sent::to(Provider::Gemini)
    };
    let [body, _] = sent.bodies(&settings).expect("written");
    assert_eq!(
        body["generationConfig"],
        json!({"temperature": 1.5, "topK": 3, "topP": 0.5})
    );
}

#[test]
fn every_problem_is_told_at_once() {
    let settings = ModelSettings {
        temperature: Some(f64::NAN),
        top_p: Some(2.0),
        seed: Some(1),
        stop: vec![String::new()],
        ..first_tool("jump")
    };
    let error = Sent::to(Provider::OpenAiResponses)
        .bodies(&settings)
        .expect_err("wrong");
    expect![[""]].assert_eq(&error.problems().join("\n"));
}

#[test]
fn a_server_lacks_settings_of_its_protocol() {
    let settings = ModelSettings {
        seed: Some(1),
        parallel_tool_calls: Some(false),
        temperature: Some(1.0),
        ..first_tool("look")
    };
    let sent = Sent {
        base_url: "https://api.deepseek.com",
        ..Sent::to(Provider::OpenAiChat)
    };
    expect![[""]].assert_eq(&sent.changes(&settings));
    let mistral = Sent {
        base_url: "https://api.mistral.ai/v1",
        ..Sent::to(Provider::OpenAiChat)
    };
    let [body, _] = mistral.bodies(&settings).expect("written");
    assert_eq!(body["random_seed"], 1);
}

#[test]
fn no_tool_is_forced_beside_thinking() {
    let sent = Sent {
        extra: json!({"thinking": {"type": "adaptive"}}),
        ..Sent::to(Provider::Anthropic)
    };
    let problem = sent.changes(&first_tool("look"));
    assert!(problem.contains("beside thinking"), "{problem}");
}
