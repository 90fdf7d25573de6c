//! Settings of a model. Their form in the requests of each provider is in `golden/requests`.

use crate::Provider;
use crate::hosts::Host;
use crate::protocol::protocol;
use crate::request::Request;
use crate::setting_places::{ReasoningEffort, Setting};
use crate::settings::{ModelSettings, SettingsError};
use crate::spec::Endpoint;
use crate::tests::fixtures::{assistant, declared, model_of, result, user};
use expect_test::expect;
use serde_json::{Map, Value, json};
use tool_core::session::{Message, ToolChoice};

/// A request whose settings are written.
struct Sent {
    provider: Provider,
    model: &'static str,
    base_url: &'static str,
    history: Vec<Message>,
    choice: ToolChoice,
    extra: Value,
}

impl Sent {
    fn to(provider: Provider) -> Self {
        Self {
            provider,
            model: model_of(provider),
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
            model: self.model,
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

    /// Returns the members that the settings have changed.
    fn changed_members(
        &self,
        settings: &ModelSettings,
    ) -> Result<Map<String, Value>, SettingsError> {
        let [body, plain] = self.bodies(settings)?;
        let members = body.as_object().cloned().unwrap_or_default();
        let changed = members
            .into_iter()
            .filter(|(name, value)| plain.get(name) != Some(value))
            .map(|(name, mut value)| {
                // The tools of Bedrock stand beside the choice.
                value.as_object_mut().map(|value| value.remove("tools"));
                (name, value)
            });
        Ok(changed.collect())
    }

    /// Returns the members that the settings have changed as a text, or the problems.
    fn changes(&self, settings: &ModelSettings) -> String {
        match self.changed_members(settings) {
            Ok(members) => Value::Object(members).to_string(),
            Err(error) => error.problems().join("; "),
        }
    }
}

/// Returns the cells of a provider in the book's table of settings.
pub(crate) fn book_cells(provider: Provider) -> Option<Vec<String>> {
    let Endpoint::Http(_) = provider.spec().endpoint else {
        return None;
    };
    let places = provider.spec().settings;
    let cell = |setting: Setting| match places.iter().find(|place| place.setting == setting) {
        Some(place) => format!("`{}`", place.path.join(".")),
        None => "–".to_owned(),
    };
    Some(Setting::ALL.into_iter().map(cell).collect())
}

/// Settings, and the name of the golden file for them.
struct Case {
    name: &'static str,
    settings: ModelSettings,
}

fn cases() -> Vec<Case> {
    let none = ModelSettings::default;
    vec![
        Case {
            name: "temperature and top_p",
            settings: ModelSettings {
                temperature: Some(0.5),
                top_p: Some(0.9),
                ..none()
            },
        },
        Case {
            name: "seed and stop",
            settings: ModelSettings {
                seed: Some(7),
                stop: vec!["END".into()],
                ..none()
            },
        },
        Case {
            name: "reasoning_effort minimal",
            settings: ModelSettings {
                reasoning_effort: Some(ReasoningEffort::Minimal),
                ..none()
            },
        },
        Case {
            name: "reasoning_effort low",
            settings: ModelSettings {
                reasoning_effort: Some(ReasoningEffort::Low),
                ..none()
            },
        },
        Case {
            name: "no parallel_tool_calls",
            settings: ModelSettings {
                parallel_tool_calls: Some(false),
                ..none()
            },
        },
        Case {
            name: "first_tool",
            settings: first_tool("look"),
        },
    ]
}

/// Returns the form of each setting in the requests of a provider: the members of the body, or the
/// problems. `None` for a provider that is not asked over HTTP.
pub(crate) fn forms(provider: Provider) -> Option<Value> {
    let Endpoint::Http(_) = provider.spec().endpoint else {
        return None;
    };
    let form = |case: Case| {
        let form = match Sent::to(provider).changed_members(&case.settings) {
            Ok(members) => Value::Object(members),
            Err(error) => error.problems().into(),
        };
        (case.name.to_owned(), form)
    };
    Some(Value::Object(cases().into_iter().map(form).collect()))
}

fn first_tool(name: &str) -> ModelSettings {
    ModelSettings {
        first_tool: Some(name.to_owned()),
        ..ModelSettings::default()
    }
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
    expect![[r"
        `temperature` has to be a number of at least 0
        `top_p` has to be a number from 0 to 1
        a text of `stop` is empty
        `first_tool` is `jump`, which the request does not declare
        openai-responses has no `seed`
        openai-responses has no `stop`"]]
    .assert_eq(&error.problems().join("\n"));
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
    expect!["openai-chat@api.deepseek.com has no `seed`; openai-chat@api.deepseek.com has no `first_tool`; openai-chat@api.deepseek.com has no `parallel_tool_calls`"].assert_eq(&sent.changes(&settings));
    let mistral = Sent {
        base_url: "https://api.mistral.ai/v1",
        ..Sent::to(Provider::OpenAiChat)
    };
    let [body, _] = mistral.bodies(&settings).expect("written");
    assert_eq!(body["random_seed"], 1);
}

#[test]
fn no_tool_is_forced_on_a_model_that_cannot_be_made_to() {
    let sent = |model| Sent {
        model,
        ..Sent::to(Provider::Bedrock)
    };
    assert_eq!(
        sent("meta.llama4-scout").changes(&first_tool("look")),
        "the model `meta.llama4-scout` of bedrock has no `first_tool`"
    );
    for model in [
        "eu.amazon.nova-pro-v1:0",
        "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x",
        "arn:aws:bedrock:us-east-1:1:provisioned-model/abc",
    ] {
        let sent = sent(model).bodies(&first_tool("look"));
        let [body, _] = sent.expect("written");
        assert_eq!(
            body["toolConfig"]["toolChoice"],
            json!({"tool": {"name": "look"}})
        );
    }
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
