//! Typed answers over each protocol: in the provider's form for structured output, or by the control tool.

use crate::server::{Answer, Server};
use crate::support::{model, session};
use crate::whole::{Called, End, PROVIDERS, Whole, anthropic, json_answer};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::{HttpModel, StructuredOutput};
use tool_core::session::{Message, Model, TypedReply};
use tool_core::{ToolContext, tool_type};

/// A booking.
#[tool_type]
#[derive(Debug, PartialEq)]
struct Booking {
    guest: String,
    seats: u8,
    note: Option<String>,
}

const ADA: &str = r#"{"guest":"Ada","seats":4}"#;

const ADD: Called<'static> = Called {
    id: "call_1",
    name: "add",
    arguments: r#"{"a":1,"b":2}"#,
};

const FINAL: Called<'static> = Called {
    id: "call_9",
    name: "final_answer",
    arguments: r#"{"answer":{"guest":"Ada","seats":4}}"#,
};

fn ada() -> Booking {
    Booking {
        guest: "Ada".into(),
        seats: 4,
        note: None,
    }
}

fn says(provider: Provider, text: &str) -> Answer {
    Whole {
        text,
        ..Whole::default()
    }
    .answer(provider)
    .expect("an answer")
}

fn calls(provider: Provider, calls: &[Called<'_>]) -> Answer {
    Whole {
        thought: "Let me see",
        calls,
        end: End::Calls,
        ..Whole::default()
    }
    .answer(provider)
    .expect("an answer")
}

/// Creates a conversation without tools.
async fn bare(model: HttpModel) -> AgentLoop<HttpModel> {
    AgentLoop::with_tools(ToolContext::builder().build().expect("no tools"), model)
        .await
        .expect("opens")
}

/// Creates a conversation with the tool `add`.
async fn with_add(model: HttpModel) -> AgentLoop<HttpModel> {
    AgentLoop::new(session().await.0, model)
}

async fn ask(agent: &mut AgentLoop<impl Model>) -> TypedReply<Booking> {
    agent
        .prompt_typed::<Booking>("A table for Ada, 4 seats.")
        .await
        .expect("answers")
}

fn bodies(server: &Server) -> Vec<Value> {
    server
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect()
}

/// Returns the form of the text that a request asks for; null if it asks for none.
fn form(provider: Provider, body: &Value) -> &Value {
    match provider {
        Provider::OpenAiResponses => &body["text"]["format"],
        Provider::Anthropic => &body["output_config"]["format"],
        Provider::Gemini => &body["generationConfig"]["responseSchema"],
        Provider::GeminiJsonSchema => &body["generationConfig"]["responseJsonSchema"],
        Provider::Bedrock => &body["outputConfig"]["textFormat"],
        Provider::Ollama => &body["format"],
        _ => &body["response_format"],
    }
}

/// Returns true if a request forces the model to call a tool, which providers refuse beside thinking.
fn forces_a_call(body: &Value) -> bool {
    let places = [
        "/tool_choice",
        "/toolConfig/toolChoice",
        "/toolConfig/functionCallingConfig",
    ];
    let choices = places.iter().filter_map(|place| body.pointer(place));
    let choice = choices
        .map(Value::to_string)
        .collect::<String>()
        .to_lowercase();
    ["any", "required", "tool"]
        .iter()
        .any(|word| choice.contains(&format!("\"{word}\"")))
}

fn declares(body: &Value, tool: &str) -> bool {
    let tools = [&body["tools"], &body["toolConfig"]]
        .map(Value::to_string)
        .concat();
    tools.contains(&format!("\"name\":\"{tool}\""))
}

#[tokio::test]
async fn without_tools_every_provider_gets_the_form_of_the_answer() {
    for provider in PROVIDERS.into_iter().chain([Provider::GeminiJsonSchema]) {
        let dialect = if provider == Provider::GeminiJsonSchema {
            Provider::Gemini
        } else {
            provider
        };
        for text in [ADA, r#"{"answer":{"guest":"Ada","seats":4,"note":null}}"#] {
            let server = Server::start([says(dialect, text)]).await;
            let mut agent = bare(model(provider, &server).stream(false)).await;
            assert_eq!(ask(&mut agent).await.output, ada(), "{provider}");
            let body = &bodies(&server)[0];
            assert!(
                form(provider, body).to_string().contains("guest"),
                "{provider}: {body}"
            );
            assert!(
                !declares(body, "final_answer") && !forces_a_call(body),
                "{provider}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn tools_and_a_typed_answer_work_in_one_loop() {
    for provider in PROVIDERS {
        let answers = [
            calls(provider, &[ADD]),
            says(provider, "Four seats for Ada."),
            says(provider, ADA),
        ];
        let server = Server::start(answers).await;
        let mut agent = with_add(model(provider, &server).stream(false)).await;
        let typed = ask(&mut agent).await;
        assert_eq!((typed.output, typed.reply.steps), (ada(), 1), "{provider}");
        for body in bodies(&server) {
            let has_form = !form(provider, &body).is_null();
            assert!(
                has_form != declares(&body, "final_answer"),
                "{provider}: one of the two: {body}"
            );
            assert!(!forces_a_call(&body), "{provider}: {body}");
        }
    }
}

#[tokio::test]
async fn the_control_tool_takes_the_answer_on_every_provider() {
    for provider in PROVIDERS {
        let server = Server::start([calls(provider, &[ADD]), calls(provider, &[FINAL])]).await;
        let model = model(provider, &server)
            .stream(false)
            .structured_output(StructuredOutput::Never);
        let mut agent = with_add(model).await;
        assert_eq!(ask(&mut agent).await.output, ada(), "{provider}");
        for body in bodies(&server) {
            assert!(
                declares(&body, "final_answer") && form(provider, &body).is_null(),
                "{provider}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn the_form_stands_beside_tools_where_the_provider_takes_both() {
    for provider in PROVIDERS {
        let server = Server::start([calls(provider, &[ADD]), says(provider, ADA)]).await;
        let model = model(provider, &server)
            .stream(false)
            .structured_output(StructuredOutput::BesideTools);
        let mut agent = with_add(model).await;
        assert_eq!(ask(&mut agent).await.output, ada(), "{provider}");
        for body in bodies(&server) {
            assert!(
                declares(&body, "add") && !form(provider, &body).is_null(),
                "{provider}: {body}"
            );
            assert!(!declares(&body, "final_answer"), "{provider}: {body}");
        }
    }
}

// M4
#[tokio::test]
async fn a_retry_beside_thinking_keeps_the_thought_and_forces_nothing() {
    let thought = json!({"type": "thinking", "thinking": "Let me see", "signature": "c2lnbmVk"});
    let wrong = [
        vec![
            thought.clone(),
            json!({"type": "text", "text": "Four seats."}),
        ],
        vec![
            thought.clone(),
            json!({"type": "text", "text": r#"{"answer":{"guest":"Ada","seats":300}}"#}),
        ],
        vec![
            thought.clone(),
            json!({"type": "tool_use", "id": "toolu_1", "name": "final_answer", "input": {"answer": {"guest": 1}}}),
        ],
    ];
    for output in [StructuredOutput::BesideTools, StructuredOutput::Never] {
        for content in &wrong {
            let first = json_answer(&anthropic(content, "end_turn"));
            let server = Server::start([first, says(Provider::Anthropic, ADA)]).await;
            let model = model(Provider::Anthropic, &server)
                .stream(false)
                .structured_output(output);
            let model = model.setting(
                "thinking",
                json!({"type": "enabled", "budget_tokens": 1024}),
            );
            let mut agent = with_add(model).await;
            assert_eq!(ask(&mut agent).await.output, ada());
            let bodies = bodies(&server);
            assert!(bodies.iter().all(|body| !forces_a_call(body)), "{bodies:?}");
            assert_eq!(bodies[1]["messages"][1]["content"][0], thought);
        }
    }
}

// M4
#[tokio::test]
async fn a_step_with_a_call_and_an_answer_keeps_its_thought() {
    let content = vec![
        json!({"type": "thinking", "thinking": "Both", "signature": "c2lnbmVk"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}),
        json!({"type": "tool_use", "id": "toolu_2", "name": "final_answer", "input": {"answer": {"guest": "A", "seats": 1}}}),
    ];
    let server = Server::start([
        json_answer(&anthropic(&content, "tool_use")),
        calls(Provider::Anthropic, &[FINAL]),
    ])
    .await;
    let model = model(Provider::Anthropic, &server)
        .stream(false)
        .structured_output(StructuredOutput::Never);
    let mut agent = with_add(model).await;
    assert_eq!(ask(&mut agent).await.output, ada());
    let messages = bodies(&server)[1]["messages"].clone();
    assert_eq!(messages[1]["content"], json!(content));
    let ids = messages[2]["content"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|result| result["tool_use_id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), ["toolu_1", "toolu_2"]);
}

#[tokio::test]
async fn a_server_that_refuses_the_form_gets_the_control_tool() {
    for (provider, message) in [
        (
            Provider::OpenAiChat,
            "This response_format type is unavailable now",
        ),
        (
            Provider::Anthropic,
            "'the-model' does not support output format.",
        ),
        (
            Provider::Gemini,
            "Function calling with a response mime type: 'application/json' is unsupported",
        ),
    ] {
        let refusal = Answer::new(
            400,
            &[],
            &json!({"error": {"message": message}}).to_string(),
        );
        let answers = [
            refusal,
            calls(provider, &[FINAL]),
            calls(provider, &[FINAL]),
        ];
        let server = Server::start(answers).await;
        let mut agent = bare(model(provider, &server).stream(false)).await;
        assert_eq!(
            (ask(&mut agent).await.output, ask(&mut agent).await.output),
            (ada(), ada())
        );
        let forms = bodies(&server)
            .iter()
            .map(|body| !form(provider, body).is_null())
            .collect::<Vec<_>>();
        assert_eq!(forms, [true, false, false], "{provider}");
    }
    let other = Answer::new(
        400,
        &[],
        r#"{"error": {"message": "the prompt is too long"}}"#,
    );
    let server = Server::start([other]).await;
    let error = bare(model(Provider::OpenAiChat, &server))
        .await
        .prompt_typed::<Booking>("Hi")
        .await
        .expect_err("fails");
    assert!(
        error.to_string().contains("the prompt is too long"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_form_stands_beside_settings_of_the_same_member() {
    for (provider, name, setting) in [
        (
            Provider::Anthropic,
            "output_config",
            json!({"effort": "high"}),
        ),
        (
            Provider::OpenAiResponses,
            "text",
            json!({"verbosity": "low"}),
        ),
        (
            Provider::Gemini,
            "generationConfig",
            json!({"temperature": 0.2}),
        ),
    ] {
        let server = Server::start([says(provider, ADA)]).await;
        let model = model(provider, &server)
            .stream(false)
            .setting(name, setting.clone());
        assert_eq!(ask(&mut bare(model).await).await.output, ada());
        let body = &bodies(&server)[0];
        assert!(!form(provider, body).is_null(), "{provider}: {body}");
        for (member, value) in setting.as_object().expect("an object") {
            assert_eq!(&body[name][member], value, "{provider}");
        }
    }
}

#[tokio::test]
async fn a_form_that_the_program_has_set_stays() {
    for (provider, name, setting) in [
        (
            Provider::OpenAiChat,
            "response_format",
            json!({"type": "json_object"}),
        ),
        (Provider::Ollama, "format", json!("json")),
        (
            Provider::Anthropic,
            "output_config",
            json!({"format": {"type": "json_schema", "schema": {"type": "object"}}}),
        ),
    ] {
        let server = Server::start([says(provider, ADA)]).await;
        let model = model(provider, &server)
            .stream(false)
            .setting(name, setting.clone());
        assert_eq!(ask(&mut bare(model).await).await.output, ada());
        let body = &bodies(&server)[0];
        assert!(
            body[name] == setting && declares(body, "final_answer"),
            "{provider}: {body}"
        );
    }
}

/// A place with names that a provider does not accept.
#[tool_type]
#[derive(Debug, PartialEq)]
struct Place {
    #[serde(rename = "$near")]
    near: String,
    #[serde(rename = "max distance")]
    distance: Option<u32>,
}

#[tokio::test]
async fn properties_with_other_names_come_back_under_their_own() {
    // The model answers with the names of the schema that it got.
    for text in [
        r#"{"answer":{"near":"Rome","max_distance":5}}"#,
        r#"{"answer":{"near":"Rome","max_distance":null}}"#,
    ] {
        let server = Server::start([says(Provider::Anthropic, text)]).await;
        let mut agent = bare(model(Provider::Anthropic, &server).stream(false)).await;
        let place = agent
            .prompt_typed::<Place>("Where?")
            .await
            .expect("answers")
            .output;
        let distance = text.contains('5').then_some(5);
        assert_eq!(
            place,
            Place {
                near: "Rome".into(),
                distance
            }
        );
    }
}

#[tokio::test]
async fn an_answer_after_a_comment_comes_back_under_its_own_names() {
    for text in [
        r#"Here it is: {"answer":{"near":"Rome","max_distance":5}}"#,
        "Here it is:\n```json\n{\"answer\":{\"near\":\"Rome\",\"max_distance\":5}}\n```",
    ] {
        let server = Server::start([says(Provider::Anthropic, text)]).await;
        let mut agent = bare(model(Provider::Anthropic, &server).stream(false)).await;
        let place = agent.prompt_typed::<Place>("Where?").await;
        let expected = Place {
            near: "Rome".into(),
            distance: Some(5),
        };
        assert_eq!(place.expect("answers").output, expected, "{text}");
    }
}

#[tokio::test]
async fn a_comment_that_quotes_the_answer_stays() {
    let answer = r#"{"answer":{"near":"Rome","max_distance":5}}"#;
    let comment = format!("You may have hoped for another place than {answer} says.");
    let text = format!("{comment} It is {answer}");
    let server = Server::start([says(Provider::Anthropic, &text)]).await;
    let mut agent = bare(model(Provider::Anthropic, &server).stream(false)).await;
    let place = agent.prompt_typed::<Place>("Where?").await;
    assert_eq!(place.expect("answers").output.near, "Rome");

    let last = agent.history().messages().last();
    let Some(Message::Assistant {
        text: Some(said), ..
    }) = last
    else {
        panic!("the answer is not in the history: {last:?}");
    };
    assert!(said.starts_with(&comment), "{said}");
}

/// A tree, whose schema leads back to itself.
#[tool_type]
#[derive(Debug, PartialEq)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[tokio::test]
async fn a_schema_without_a_strict_form_goes_to_the_control_tool() {
    let arguments = r#"{"answer":{"name":"oak","children":[]}}"#;
    let call = Called { arguments, ..FINAL };
    for provider in [Provider::Anthropic, Provider::Bedrock] {
        let server = Server::start([calls(provider, &[call])]).await;
        let mut agent = bare(model(provider, &server).stream(false)).await;
        assert_eq!(
            agent
                .prompt_typed::<Tree>("A tree")
                .await
                .expect("answers")
                .output
                .name,
            "oak"
        );
        assert!(form(provider, &bodies(&server)[0]).is_null(), "{provider}");
    }
}

#[tokio::test]
async fn a_forced_choice_of_the_program_is_left_out_beside_thinking() {
    for (provider, name, setting, is_thinking) in [
        (
            Provider::Anthropic,
            "thinking",
            json!({"type": "adaptive"}),
            true,
        ),
        (
            Provider::Anthropic,
            "thinking",
            json!({"type": "disabled"}),
            false,
        ),
        (
            Provider::OpenAiChat,
            "thinking",
            json!({"type": "enabled"}),
            true,
        ),
        (Provider::OpenAiChat, "enable_thinking", json!(true), true),
        (
            Provider::OpenAiChat,
            "reasoning_effort",
            json!("high"),
            false,
        ),
        (
            Provider::Bedrock,
            "additionalModelRequestFields",
            json!({"thinking": {"type": "enabled"}}),
            true,
        ),
    ] {
        let server = Server::start([says(provider, "Hello")]).await;
        let mut model = model(provider, &server)
            .stream(false)
            .setting(name, setting);
        let (session, _) = session().await;
        let mut history = tool_core::session::History::new();
        let choice = tool_core::session::ToolChoice::Required;
        let _ = session
            .reply_with(&mut model, &mut history, "Hi", choice)
            .await;
        assert_eq!(
            forces_a_call(&bodies(&server)[0]),
            !is_thinking,
            "{provider} {name}"
        );
    }
}
