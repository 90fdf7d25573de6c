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
    expect![[r#"
        openai-chat: {"temperature":0.5,"top_p":0.9}
        openai-responses: {"temperature":0.5,"top_p":0.9}
        anthropic: anthropic has no `temperature`; anthropic has no `top_p`
        gemini: {"generationConfig":{"temperature":0.5,"topP":0.9}}
        gemini-json-schema: {"generationConfig":{"temperature":0.5,"topP":0.9}}
        bedrock: {"inferenceConfig":{"temperature":0.5,"topP":0.9}}
        mistral: {"temperature":0.5,"top_p":0.9}
        cohere: {"temperature":0.5,"p":0.9}
        ollama: {"options":{"temperature":0.5,"top_p":0.9}}
        llama-cpp: {"temperature":0.5,"top_p":0.9}
        vllm: {"temperature":0.5,"top_p":0.9}
        lm-studio: {"temperature":0.5,"top_p":0.9}"#]]
    .assert_eq(&table(&settings));
}

#[test]
fn seeds_and_ends_have_each_providers_names() {
    let settings = ModelSettings {
        seed: Some(7),
        stop: vec!["END".into()],
        ..ModelSettings::default()
    };
    expect![[r#"
        openai-chat: {"seed":7,"stop":["END"]}
        openai-responses: openai-responses has no `seed`; openai-responses has no `stop`
        anthropic: anthropic has no `seed`
        gemini: {"generationConfig":{"seed":7,"stopSequences":["END"]}}
        gemini-json-schema: {"generationConfig":{"seed":7,"stopSequences":["END"]}}
        bedrock: bedrock has no `seed`
        mistral: {"random_seed":7,"stop":["END"]}
        cohere: {"seed":7,"stop_sequences":["END"]}
        ollama: {"options":{"seed":7,"stop":["END"]}}
        llama-cpp: {"seed":7,"stop":["END"]}
        vllm: {"seed":7,"stop":["END"]}
        lm-studio: {"seed":7,"stop":["END"]}"#]]
    .assert_eq(&table(&settings));
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
    expect![[r#"
        openai-chat: {"reasoning_effort":"minimal"}
        openai-responses: {"reasoning":{"effort":"minimal"}}
        anthropic: anthropic has no `reasoning_effort` minimal; it has low, medium, high, xhigh, max
        gemini: {"generationConfig":{"thinkingConfig":{"thinkingLevel":"minimal"}}}
        gemini-json-schema: {"generationConfig":{"thinkingConfig":{"thinkingLevel":"minimal"}}}
        bedrock: bedrock has no `reasoning_effort`
        mistral: {"reasoning_effort":"minimal"}
        cohere: cohere has no `reasoning_effort`
        ollama: ollama has no `reasoning_effort` minimal; it has none, low, medium, high
        llama-cpp: llama-cpp has no `reasoning_effort` minimal; it has low, medium, high
        vllm: {"reasoning_effort":"minimal"}
        lm-studio: lm-studio has no `reasoning_effort`

        openai-chat: {"reasoning_effort":"low"}
        openai-responses: {"reasoning":{"effort":"low"}}
        anthropic: {"output_config":{"effort":"low"}}
        gemini: {"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}}
        gemini-json-schema: {"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}}
        bedrock: bedrock has no `reasoning_effort`
        mistral: {"reasoning_effort":"low"}
        cohere: cohere has no `reasoning_effort`
        ollama: {"think":"low"}
        llama-cpp: {"chat_template_kwargs":{"reasoning_effort":"low"}}
        vllm: {"reasoning_effort":"low"}
        lm-studio: lm-studio has no `reasoning_effort`"#]]
    .assert_eq(&[table(&settings), table(&low)].join("\n\n"));
}

#[test]
fn single_calls_have_each_providers_form() {
    let settings = ModelSettings {
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    expect![[r#"
        openai-chat: {"parallel_tool_calls":false}
        openai-responses: {"parallel_tool_calls":false}
        anthropic: {"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}
        gemini: gemini has no `parallel_tool_calls`
        gemini-json-schema: gemini-json-schema has no `parallel_tool_calls`
        bedrock: bedrock has no `parallel_tool_calls`
        mistral: {"parallel_tool_calls":false}
        cohere: cohere has no `parallel_tool_calls`
        ollama: ollama has no `parallel_tool_calls`
        llama-cpp: {"parallel_tool_calls":false}
        vllm: {"parallel_tool_calls":false}
        lm-studio: lm-studio has no `parallel_tool_calls`"#]]
    .assert_eq(&table(&settings));
}

#[test]
fn a_tool_is_named_in_each_providers_form() {
    expect![[r#"
        openai-chat: {"tool_choice":{"type":"function","function":{"name":"look"}}}
        openai-responses: {"tool_choice":{"type":"function","name":"look"}}
        anthropic: {"tool_choice":{"type":"tool","name":"look"}}
        gemini: {"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}}}
        gemini-json-schema: {"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}}}
        bedrock: {"toolConfig":{"toolChoice":{"tool":{"name":"look"}}}}
        mistral: {"tool_choice":{"type":"function","function":{"name":"look"}}}
        cohere: cohere has no `first_tool`
        ollama: ollama has no `first_tool`
        llama-cpp: llama-cpp has no `first_tool`
        vllm: {"tool_choice":{"type":"function","function":{"name":"look"}}}
        lm-studio: lm-studio has no `first_tool`"#]].assert_eq(&table(&first_tool("look")));
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
fn no_tool_is_forced_beside_thinking() {
    let sent = Sent {
        extra: json!({"thinking": {"type": "adaptive"}}),
        ..Sent::to(Provider::Anthropic)
    };
    let problem = sent.changes(&first_tool("look"));
    assert!(problem.contains("beside thinking"), "{problem}");
}
