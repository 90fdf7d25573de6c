//! What a reply says about its end, over each protocol.

use crate::scripts;
use crate::server::{Answer, Server};
use crate::support::{model, session};
use crate::whole::{Called, End, PROVIDERS, Whole, anthropic, json_answer};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::HttpModel;
use tool_core::session::ReplyFinish;
use tool_core::{Mode, Policy, Runtime, ToolContext, ToolResponse, tool};

const ADD: Called<'static> = Called {
    id: "call_1",
    name: "add",
    arguments: r#"{"a":1,"b":2}"#,
};

/// Plays answers to a conversation with a model that does not stream.
async fn agent(
    provider: Provider,
    answers: impl IntoIterator<Item = Answer>,
) -> (AgentLoop<HttpModel>, Server) {
    let server = Server::start(answers).await;
    let (session, _) = session().await;
    (
        AgentLoop::new(
            session,
            model(provider, &server).stream(false).max_tokens(500),
        ),
        server,
    )
}

/// Returns the bodies of the requests.
fn bodies(server: &Server) -> Vec<Value> {
    server
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect()
}

// M6
#[tokio::test]
async fn a_whole_answer_is_complete() {
    for provider in PROVIDERS {
        let answer = Whole {
            text: "Hello",
            ..Whole::default()
        }
        .answer(provider)
        .expect("an answer");
        let (mut agent, _server) = agent(provider, [answer]).await;
        let reply = agent.prompt("Hi").await;
        assert_eq!(
            (reply.finish, reply.text.as_deref()),
            (ReplyFinish::Complete, Some("Hello")),
            "{provider}"
        );
    }
}

// M6
#[tokio::test]
async fn half_a_text_stays_and_the_finish_says_so() {
    for (end, finish) in [
        (End::Length, ReplyFinish::Length),
        (End::Withheld, ReplyFinish::Withheld),
    ] {
        for provider in PROVIDERS {
            let Some(answer) = (Whole {
                text: "It is",
                end,
                ..Whole::default()
            })
            .answer(provider) else {
                continue;
            };
            let (mut agent, _server) = agent(provider, [answer]).await;
            let reply = agent.prompt("Hi").await;
            assert_eq!(
                (reply.finish, reply.text.as_deref()),
                (finish, Some("It is")),
                "{provider}: {reply:?}"
            );
            assert_eq!(
                (reply.error, reply.usage.input, reply.usage.output),
                (None, 10, 5),
                "{provider}"
            );
        }
    }
}

// M6
#[tokio::test]
async fn all_tokens_in_thoughts_is_an_error_that_names_the_limit() {
    for provider in PROVIDERS {
        let whole = Whole {
            thought: "Let me think",
            end: End::Length,
            ..Whole::default()
        };
        let next = Whole {
            text: "Hello",
            ..Whole::default()
        }
        .answer(provider)
        .expect("an answer");
        let (mut agent, _server) =
            agent(provider, [whole.answer(provider).expect("an answer"), next]).await;
        let reply = agent.prompt("Hi").await;
        let message = reply
            .error
            .as_ref()
            .map(|error| error.message.clone())
            .unwrap_or_default();
        assert_eq!(
            (reply.finish, reply.text),
            (ReplyFinish::Length, None),
            "{provider}"
        );
        assert!(
            message.contains("500 output tokens") && message.contains("raise `max_tokens`"),
            "{provider}: {message}"
        );
        assert_eq!(
            (reply.usage.input, reply.usage.output),
            (10, 5),
            "{provider}"
        );
        assert_eq!(
            agent.prompt("Again").await.text.as_deref(),
            Some("Hello"),
            "{provider}"
        );
    }
}

// M1
#[tokio::test]
async fn the_limit_that_the_request_had_is_named() {
    for (provider, setting, limit) in [
        (Provider::Anthropic, None, "8192 output tokens"),
        (
            Provider::Ollama,
            None,
            "the provider's limit of output tokens",
        ),
        (
            Provider::OpenAiChat,
            Some(("max_tokens", json!(77))),
            "77 output tokens",
        ),
        (
            Provider::Gemini,
            Some(("generationConfig", json!({"maxOutputTokens": 77}))),
            "77 output tokens",
        ),
    ] {
        let answer = Whole {
            end: End::Length,
            ..Whole::default()
        }
        .answer(provider)
        .expect("an answer");
        let server = Server::start([answer]).await;
        let mut model = model(provider, &server).stream(false);
        if let Some((name, value)) = setting {
            model = model.setting(name, value);
        }
        let reply = AgentLoop::new(session().await.0, model).prompt("Hi").await;
        let message = reply
            .error
            .map(|error| error.message.clone())
            .unwrap_or_default();
        assert!(message.contains(limit), "{provider}: {message}");
    }
}

// M6
#[tokio::test]
async fn a_refusal_is_the_text_and_the_finish() {
    let chat = json!({"id": "c", "object": "chat.completion", "model": "the-model", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": null, "refusal": "I can't."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    let content = json!([{"type": "refusal", "refusal": "I can't."}]);
    let item = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content});
    let responses = json!({"id": "r", "object": "response", "status": "completed", "output": [item],
        "usage": {"input_tokens": 10, "output_tokens": 5}});
    let messages = anthropic(&[json!({"type": "text", "text": "I can't."})], "refusal");
    for (provider, body) in [
        (Provider::OpenAiChat, chat),
        (Provider::OpenAiResponses, responses),
        (Provider::Anthropic, messages),
    ] {
        let (mut agent, _server) = agent(provider, [json_answer(&body)]).await;
        let reply = agent.prompt("Hi").await;
        assert_eq!(
            (reply.finish, reply.text.as_deref()),
            (ReplyFinish::Refused, Some("I can't.")),
            "{provider}"
        );
        assert_eq!(
            (reply.usage.input, reply.usage.output),
            (10, 5),
            "{provider}"
        );
    }
}

/// Plays one call after another, and then a text.
async fn limited(provider: Provider, last: &Whole<'_>) -> (AgentLoop<HttpModel>, Server) {
    let ids = ["call_1", "call_2"];
    let calls = ids.map(|id| {
        Whole {
            calls: &[Called { id, ..ADD }],
            end: End::Calls,
            ..Whole::default()
        }
        .answer(provider)
    });
    let answers = calls
        .into_iter()
        .chain([last.answer(provider)])
        .map(|answer| answer.expect("an answer"));
    let server = Server::start(answers).await;
    let tools = ToolContext::builder().with(add).build().expect("builds");
    let runtime = Runtime::builder(tools)
        .policy(Policy::text().max_tool_steps(2))
        .build()
        .expect("builds");
    let session = runtime.session("s-1", Mode::Text).await.expect("opens");
    (
        AgentLoop::new(session, model(provider, &server).stream(false)),
        server,
    )
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

// L21, M6
#[tokio::test]
async fn the_limit_of_steps_is_the_finish() {
    for provider in PROVIDERS {
        let (mut agent, server) = limited(
            provider,
            &Whole {
                text: "It is 3.",
                ..Whole::default()
            },
        )
        .await;
        let reply = agent.prompt("1 + 2?").await;
        assert_eq!(
            (reply.finish, reply.steps),
            (ReplyFinish::StepLimit, 2),
            "{provider}"
        );
        assert_eq!(
            (reply.text.as_deref(), reply.usage.input),
            (Some("It is 3."), 30),
            "{provider}"
        );
        assert_eq!(bodies(&server).len(), 3);

        let once_more = Whole {
            calls: &[Called {
                id: "call_3",
                ..ADD
            }],
            end: End::Calls,
            ..Whole::default()
        };
        let (mut agent, _server) = limited(provider, &once_more).await;
        let reply = agent.prompt("1 + 2?").await;
        assert_eq!(
            (reply.finish, reply.text, reply.responses.len()),
            (ReplyFinish::StepLimit, None, 2),
            "{provider}"
        );
        let history = format!("{:?}", agent.history());
        assert!(!history.contains("call_3"), "{provider}: {history}");
    }
}

// M6
#[tokio::test]
async fn text_beside_a_call_stays_if_only_thoughts_follow() {
    for provider in PROVIDERS {
        let beside = Whole {
            text: "It is 3.",
            calls: &[ADD],
            end: End::Calls,
            ..Whole::default()
        };
        let thoughts = Whole {
            thought: "Nothing to add.",
            ..Whole::default()
        };
        let next = Whole {
            text: "Hello",
            ..Whole::default()
        };
        let answers =
            [beside, thoughts, next].map(|whole| whole.answer(provider).expect("an answer"));
        let (mut agent, server) = agent(provider, answers).await;
        let reply = agent.prompt("1 + 2?").await;
        assert_eq!(
            (reply.finish, reply.text.as_deref()),
            (ReplyFinish::Complete, Some("It is 3.")),
            "{provider}"
        );
        assert_eq!(
            agent.prompt("Again").await.text.as_deref(),
            Some("Hello"),
            "{provider}"
        );
        assert_acceptable(provider, &bodies(&server)[2]);
    }
}

// M1
#[tokio::test]
async fn a_call_that_was_cut_off_is_answered_and_made_again() {
    for provider in PROVIDERS {
        let half = Called {
            arguments: r#"{"a":1,"b""#,
            ..ADD
        };
        let cut = Whole {
            thought: "Let me see",
            calls: &[half],
            end: End::Length,
            ..Whole::default()
        };
        let whole = Whole {
            calls: &[Called {
                id: "call_2",
                ..ADD
            }],
            end: End::Calls,
            ..Whole::default()
        };
        let text = Whole {
            text: "It is 3.",
            ..Whole::default()
        };
        let answers = [cut, whole, text].map(|whole| whole.answer(provider).expect("an answer"));
        let (mut agent, server) = agent(provider, answers).await;
        let reply = agent.prompt("1 + 2?").await;
        assert_eq!(
            (reply.finish, reply.text.as_deref()),
            (ReplyFinish::Complete, Some("It is 3.")),
            "{provider}"
        );
        let ran = reply
            .responses
            .iter()
            .map(ToolResponse::is_ok)
            .collect::<Vec<_>>();
        assert_eq!((ran, reply.steps), (vec![false, true], 2), "{provider}");
        let told = bodies(&server)[1].to_string();
        let says_all = ["500 output tokens", "shorter arguments"]
            .iter()
            .all(|part| told.contains(part));
        assert!(says_all, "{provider}: {told}");
        assert_acceptable(provider, &bodies(&server)[1]);
    }
}

/// Checks what providers refuse in the messages of a request.
fn assert_acceptable(provider: Provider, body: &Value) {
    let messages = ["messages", "contents", "input"]
        .iter()
        .find_map(|name| body[*name].as_array())
        .expect("messages");
    for message in messages {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = &call["function"]["arguments"];
            let parsed = arguments.as_str().map_or_else(
                || arguments.clone(),
                |text| serde_json::from_str(text).unwrap_or_default(),
            );
            assert!(
                parsed.is_object(),
                "{provider}: expected an object as arguments, got {arguments}"
            );
        }
        let Some(content) = message["content"].as_array() else {
            continue;
        };
        assert!(!content.is_empty(), "{provider}: {body}");
        for block in content {
            assert!(
                block["text"]
                    .as_str()
                    .is_none_or(|text| !text.trim().is_empty()),
                "{provider}: a blank text"
            );
        }
        let last = content.last().expect("not empty");
        let is_thought = last["type"] == "thinking" || last.get("reasoningContent").is_some();
        // Calls follow the content where they have a member of their own.
        let is_last = message["role"] == "assistant" && message.get("tool_calls").is_none();
        assert!(
            !(is_last && is_thought),
            "{provider}: the last block is a thought: {body}"
        );
    }
}

// M6
#[tokio::test]
async fn a_paused_turn_goes_back_as_it_came() {
    let search = json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "tea"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []});
    let paused = vec![json!({"type": "text", "text": "I found "}), search];
    let rest = vec![found, json!({"type": "text", "text": "green tea."})];
    let answers = [
        anthropic(&paused, "pause_turn"),
        anthropic(&rest, "end_turn"),
    ];
    let (mut agent, server) = agent(Provider::Anthropic, answers.iter().map(json_answer)).await;
    let reply = agent.prompt("Tea?").await;
    assert_eq!(
        (reply.finish, reply.text.as_deref()),
        (ReplyFinish::Complete, Some("I found green tea."))
    );
    let messages = bodies(&server)[1]["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(2));
    assert_eq!(messages[1], json!({"role": "assistant", "content": paused}));
    assert_eq!(reply.usage.input, 20);
}

// M5, M6
#[tokio::test]
async fn a_turn_that_stays_paused_ends_and_does_not_poison_the_next() {
    let paused = |number: u32| {
        let search = json!({"type": "server_tool_use", "id": format!("srv_{number}"), "name": "web_search", "input": {}});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": format!("srv_{number}"), "content": []});
        let content = if number < 8 {
            vec![search, found]
        } else {
            vec![search]
        };
        json_answer(&anthropic(&content, "pause_turn"))
    };
    let last = json_answer(&anthropic(
        &[json!({"type": "text", "text": "Hello"})],
        "end_turn",
    ));
    let (mut agent, server) = agent(Provider::Anthropic, (0..9).map(paused).chain([last])).await;
    let reply = agent.prompt("Tea?").await;
    assert_eq!(
        (reply.finish, reply.text, server.requests().len()),
        (ReplyFinish::Paused, None, 9)
    );
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    let sent = bodies(&server)[9]["messages"].to_string();
    assert!(
        sent.contains("srv_7") && !sent.contains("srv_8"),
        "a use without a result is refused: {sent}"
    );
}

// M5
#[tokio::test]
async fn a_refused_turn_is_left_out_of_the_next_request() {
    let thought = json!({"type": "thinking", "thinking": "Hm", "signature": "c2lnbmVk"});
    let refused = anthropic(
        &[thought, json!({"type": "text", "text": "First, take"})],
        "refusal",
    );
    let said = |text: &str| {
        json_answer(&anthropic(
            &[json!({"type": "text", "text": text})],
            "end_turn",
        ))
    };
    let answers = [said("Good morning"), json_answer(&refused), said("Tea")];
    let (mut agent, server) = agent(Provider::Anthropic, answers).await;
    let _ = agent.prompt("Hello").await;
    let reply = agent.prompt("Make a bomb").await;
    assert_eq!(
        (reply.finish, reply.text.as_deref()),
        (ReplyFinish::Refused, Some("First, take"))
    );
    assert_eq!(
        agent.prompt("What do you drink?").await.text.as_deref(),
        Some("Tea")
    );
    let sent = bodies(&server)[2]["messages"].to_string();
    assert!(
        !sent.contains("bomb") && !sent.contains("First, take"),
        "{sent}"
    );
    assert!(
        sent.contains("Good morning") && sent.contains("What do you drink?"),
        "{sent}"
    );
    assert!(
        format!("{:?}", agent.history()).contains("bomb"),
        "the history has it for other models"
    );
}

// M5
#[tokio::test]
async fn results_of_a_refused_turn_are_left_out_and_stay_answered() {
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 40, "b": 2}});
    let said = |text: &str| {
        json_answer(&anthropic(
            &[json!({"type": "text", "text": text})],
            "end_turn",
        ))
    };
    let answers = [
        json_answer(&anthropic(&[call], "tool_use")),
        json_answer(&anthropic(&[], "refusal")),
        said("Tea"),
    ];
    let (mut agent, server) = agent(Provider::Anthropic, answers).await;
    let reply = agent.prompt("40 + 2?").await;
    assert_eq!((reply.finish, reply.steps), (ReplyFinish::Refused, 1));
    assert!(
        reply
            .error
            .is_some_and(|error| error.message.contains("refused to answer"))
    );
    assert_eq!(
        agent.prompt("What do you drink?").await.text.as_deref(),
        Some("Tea")
    );
    let messages = bodies(&server)[2]["messages"].clone();
    let result = &messages[2]["content"][0];
    assert_eq!(
        (result["type"].as_str(), result["tool_use_id"].as_str()),
        (Some("tool_result"), Some("toolu_1"))
    );
    assert!(
        result["content"]
            .as_str()
            .is_some_and(|text| text.contains("left out")),
        "{messages}"
    );
}

// M6
#[tokio::test]
async fn attempts_that_failed_count_in_the_usage() {
    let broken = scripts::text(Provider::Anthropic, "Hel");
    let (half, _) = broken.split_once("event: message_delta").expect("an end");
    let whole = scripts::text(Provider::Anthropic, "Hello");
    let server = Server::start([Answer::events(half), Answer::events(&whole)]).await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, model(Provider::Anthropic, &server));
    let reply = agent.prompt("Hi").await;
    assert_eq!(
        (reply.finish, reply.text.as_deref()),
        (ReplyFinish::Complete, Some("Hello"))
    );
    assert_eq!((server.requests().len(), reply.usage.input), (2, 20));
}

// M6
#[tokio::test]
async fn an_interrupted_answer_counts_in_the_usage() {
    let whole = scripts::text(Provider::Anthropic, "Hello");
    let (half, _) = whole
        .split_once("event: content_block_stop")
        .expect("an end");
    let mut server = Server::start([Answer::events(half).hangs()]).await;
    let (session, _) = session().await;
    let seen = crate::support::EventRecorder::default();
    let model = model(Provider::Anthropic, &server).on_event(seen.listener());
    let mut agent = AgentLoop::new(session, model);
    let interrupter = agent.interrupt_handle();
    let replying = tokio::spawn(async move { agent.prompt("Hi").await });
    seen.wait_for_text().await;
    interrupter.interrupt();
    let reply = replying.await.expect("ends");
    assert_eq!(
        (reply.finish, reply.interrupted, reply.usage.input),
        (ReplyFinish::Interrupted, true, 10)
    );
    assert!(server.was_closed().await);
}

/// Look at the clock.
#[tool]
fn clock() -> &'static str {
    "noon"
}

/// A stream with a call that has no piece of arguments.
fn chat_stream_of_clock(reason: &str) -> String {
    let call =
        json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "clock"}});
    let deltas = [
        (
            json!({"role": "assistant", "tool_calls": [call]}),
            Value::Null,
        ),
        (json!({}), json!(reason)),
    ];
    let events = deltas.map(|(delta, reason)| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})
        )
    });
    events.concat() + "data: [DONE]\n\n"
}

/// A stream with a call that has no piece of arguments.
fn messages_stream_of_clock(reason: &str) -> String {
    let message = anthropic(&[], "");
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let write = |event: &Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap_or_default()
        )
    };
    events.iter().map(write).collect()
}

// L28
#[tokio::test]
async fn a_tool_without_arguments_is_called_under_any_finish() {
    let chat = |arguments: Value, reason: &str| {
        let mut function = json!({"name": "clock"});
        if !arguments.is_null() {
            function["arguments"] = arguments;
        }
        let call = json!({"id": "call_1", "type": "function", "function": function});
        json!({"id": "c", "object": "chat.completion", "model": "the-model", "choices": [{"index": 0,
            "message": {"role": "assistant", "content": null, "tool_calls": [call]}, "finish_reason": reason}]})
    };
    let messages = |input: Option<Value>, reason: &str| {
        let mut call = json!({"type": "tool_use", "id": "toolu_1", "name": "clock"});
        if let Some(input) = input {
            call["input"] = input;
        }
        anthropic(&[call], reason)
    };
    let mut cases = Vec::new();
    for reason in ["tool_calls", "stop", "eos", "something_new"] {
        for arguments in [
            json!(""),
            json!("null"),
            json!("{}"),
            json!({}),
            Value::Null,
        ] {
            cases.push((Provider::OpenAiChat, chat(arguments, reason)));
        }
    }
    for reason in ["tool_use", "end_turn", "something_new"] {
        for input in [None, Some(Value::Null), Some(json!({})), Some(json!(""))] {
            cases.push((Provider::Anthropic, messages(input, reason)));
        }
    }
    let cases = cases
        .into_iter()
        .map(|(provider, body)| (provider, json_answer(&body)));
    let streams = [
        (Provider::OpenAiChat, chat_stream_of_clock("stop")),
        (Provider::OpenAiChat, chat_stream_of_clock("something_new")),
        (Provider::Anthropic, messages_stream_of_clock("end_turn")),
        (
            Provider::Anthropic,
            messages_stream_of_clock("something_new"),
        ),
    ];
    let streams = streams.map(|(provider, events)| (provider, Answer::events(&events)));
    for (provider, answer) in cases.chain(streams) {
        let body = format!("{answer:?}");
        let text = Whole {
            text: "It is noon.",
            ..Whole::default()
        }
        .answer(provider)
        .expect("an answer");
        let server = Server::start([answer, text]).await;
        let tools = ToolContext::builder().with(clock).build().expect("builds");
        let model = model(provider, &server).stream(false);
        let mut agent = AgentLoop::with_tools(tools, model).await.expect("opens");
        let reply = agent.prompt("What time is it?").await;
        let ran = reply
            .responses
            .first()
            .and_then(|response| response.data_json())
            == Some(r#""noon""#);
        assert!(
            ran && reply.text.as_deref() == Some("It is noon."),
            "{provider}: {body}\n{reply:?}"
        );
    }
}
