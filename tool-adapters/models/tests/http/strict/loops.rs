//! Four steps of calls with each server, one of them invented, and a turn after them. The servers answer 400 as the real ones do.

use crate::server::{Answer, Request, Server};
use crate::strict::forms::{ErrorForm, Form, Reasoning, Said, Step, write};
use crate::strict::parts::{
    CHAT_PARTS, COHERE_PARTS, CONVERSE_PARTS, GENERATE_CONTENT_PARTS, MESSAGES_PARTS,
    MISTRAL_PARTS, OLLAMA_PARTS, RESPONSES_PARTS,
};
use crate::strict::rules::{
    CHAT, CLOSED, COHERE, CONVERSE, GEMINI_CHAT, GENERATE_CONTENT, GROQ, MAX_COMPLETION_TOKENS,
    MAX_TOKENS, MESSAGES, MISTRAL, NEEDS_REASONING, NO_CACHE_KEY, OLLAMA, RESPONSES, Rule,
    TEXT_RESULTS, broken, items,
};
use crate::support::session;
use serde_json::Value;
use std::net::SocketAddr;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::providers::ReasoningBack;
use tool_adapters::transport::http::{HttpModel, client_builder};
use tool_core::ToolCall;
use tool_core::call::ModelResult;
use tool_core::session::{History, Message, Repair};

/// A server of a provider.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) provider: Provider,
    /// The domain of the base URL and its path.
    domain: &'static str,
    path: &'static str,
    form: Form,
    rules: &'static [&'static [Rule]],
    error: ErrorForm,
    /// What the server sends beside its texts and calls. It refuses a step that comes back without.
    reasoning: Reasoning,
}

const NO_REASONING: Reasoning = Reasoning {
    message: "",
    call: "",
};
const REASONING_CONTENT: Reasoning = Reasoning {
    message: r#"{"reasoning_content": "mark-#-"}"#,
    call: "",
};
const REASONING: Reasoning = Reasoning {
    message: r#"{"reasoning": "mark-#-"}"#,
    call: "",
};
const DETAILS: Reasoning = Reasoning {
    message: r#"{"reasoning": "mark-#-a", "reasoning_details": [
        {"type": "reasoning.text", "index": 0, "text": "mark-#-b", "signature": "mark-#-c", "format": "anthropic-claude-v1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "mark-#-d", "id": "rs_#"}]}"#,
    call: "",
};
const SIGNATURES: Reasoning = Reasoning {
    message: r#"{"extra_content": {"google": {"thought_signature": "mark-#-text"}}}"#,
    call: r#"{"extra_content": {"google": {"thought_signature": "mark-#-call"}}}"#,
};
const PARTS: Reasoning = Reasoning {
    message: r#"[{"type": "thinking", "thinking": [{"type": "text", "text": "mark-#-"}], "closed": true}]"#,
    call: "",
};
const IN_ITEMS: Reasoning = Reasoning {
    message: r#""mark-#-""#,
    call: "",
};

const fn chat(
    name: &'static str,
    domain: &'static str,
    path: &'static str,
    rules: &'static [&'static [Rule]],
    reasoning: Reasoning,
) -> Row {
    let (provider, form, error) = (Provider::OpenAiChat, Form::Chat, ErrorForm::OpenAi);
    Row {
        name,
        provider,
        domain,
        path,
        form,
        rules,
        error,
        reasoning,
    }
}

const fn other(
    name: &'static str,
    provider: Provider,
    form: Form,
    error: ErrorForm,
    rules: &'static [&'static [Rule]],
) -> Row {
    Row {
        name,
        provider,
        domain: "",
        path: "",
        form,
        rules,
        error,
        reasoning: IN_ITEMS,
    }
}

pub(crate) const ROWS: &[Row] = &[
    chat(
        "OpenAI",
        "api.openai.com",
        "/v1",
        &[CHAT, CLOSED, MAX_COMPLETION_TOKENS, CHAT_PARTS],
        NO_REASONING,
    ),
    chat(
        "DeepSeek",
        "api.deepseek.com",
        "",
        &[
            CHAT,
            MAX_TOKENS,
            TEXT_RESULTS,
            NEEDS_REASONING,
            NO_CACHE_KEY,
            CHAT_PARTS,
        ],
        REASONING_CONTENT,
    ),
    chat(
        "Moonshot",
        "api.moonshot.ai",
        "/v1",
        &[CHAT, MAX_TOKENS, NEEDS_REASONING, CHAT_PARTS],
        REASONING_CONTENT,
    ),
    Row {
        error: ErrorForm::GoogleList,
        ..chat(
            "Gemini in OpenAI's form",
            "generativelanguage.googleapis.com",
            "/v1beta/openai",
            &[CHAT, GEMINI_CHAT, CHAT_PARTS],
            SIGNATURES,
        )
    },
    chat(
        "OpenRouter",
        "openrouter.ai",
        "/api/v1",
        &[CHAT, MAX_TOKENS, CHAT_PARTS],
        DETAILS,
    ),
    chat(
        "Groq",
        "api.groq.com",
        "/openai/v1",
        &[CHAT, GROQ, MAX_COMPLETION_TOKENS, NO_CACHE_KEY, CHAT_PARTS],
        REASONING,
    ),
    Row {
        error: ErrorForm::Local,
        ..chat(
            "vLLM",
            "",
            "/v1",
            &[CHAT, TEXT_RESULTS, CHAT_PARTS],
            REASONING,
        )
    },
    Row {
        error: ErrorForm::Local,
        ..chat(
            "llama.cpp",
            "",
            "/v1",
            &[CHAT, MAX_TOKENS, TEXT_RESULTS, CHAT_PARTS],
            REASONING_CONTENT,
        )
    },
    Row {
        provider: Provider::Mistral,
        error: ErrorForm::Mistral,
        ..chat(
            "Mistral",
            "",
            "",
            &[CHAT, MAX_TOKENS, MISTRAL, MISTRAL_PARTS],
            PARTS,
        )
    },
    Row {
        error: ErrorForm::Mistral,
        ..chat(
            "Mistral as Chat Completions",
            "api.mistral.ai",
            "/v1",
            &[CHAT, MAX_TOKENS, MISTRAL, MISTRAL_PARTS],
            PARTS,
        )
    },
    chat(
        "Azure",
        "team.openai.azure.com",
        "/openai/v1",
        &[CHAT, CLOSED, MAX_COMPLETION_TOKENS],
        NO_REASONING,
    ),
    chat(
        "Together",
        "api.together.xyz",
        "/v1",
        &[CHAT, MAX_TOKENS, NO_CACHE_KEY],
        REASONING,
    ),
    chat(
        "xAI",
        "api.x.ai",
        "/v1",
        &[CHAT, MAX_COMPLETION_TOKENS, NO_CACHE_KEY],
        REASONING_CONTENT,
    ),
    Row {
        provider: Provider::LmStudio,
        error: ErrorForm::Local,
        ..chat(
            "LM Studio",
            "",
            "/v1",
            &[CHAT, MAX_TOKENS, TEXT_RESULTS, NO_CACHE_KEY],
            REASONING_CONTENT,
        )
    },
    Row {
        error: ErrorForm::Local,
        ..chat(
            "Ollama in OpenAI's form",
            "",
            "/v1",
            &[CHAT, MAX_TOKENS, TEXT_RESULTS, NO_CACHE_KEY],
            REASONING,
        )
    },
    other(
        "Responses",
        Provider::OpenAiResponses,
        Form::Responses,
        ErrorForm::OpenAi,
        &[RESPONSES, RESPONSES_PARTS],
    ),
    other(
        "Messages",
        Provider::Anthropic,
        Form::Messages,
        ErrorForm::Anthropic,
        &[MESSAGES, MESSAGES_PARTS],
    ),
    other(
        "generateContent",
        Provider::Gemini,
        Form::GenerateContent,
        ErrorForm::Google,
        &[GENERATE_CONTENT, GENERATE_CONTENT_PARTS],
    ),
    other(
        "Converse",
        Provider::Bedrock,
        Form::Converse,
        ErrorForm::Aws,
        &[CONVERSE, CONVERSE_PARTS],
    ),
    Row {
        reasoning: Reasoning {
            message: r#"{"tool_plan": "mark-#-"}"#,
            call: "",
        },
        ..other(
            "Cohere",
            Provider::Cohere,
            Form::Cohere,
            ErrorForm::Cohere,
            &[CHAT, COHERE, COHERE_PARTS],
        )
    },
    Row {
        reasoning: Reasoning {
            message: r#"{"thinking": "mark-#-"}"#,
            call: "",
        },
        ..other(
            "Ollama",
            Provider::Ollama,
            Form::Ollama,
            ErrorForm::Ollama,
            &[OLLAMA, OLLAMA_PARTS],
        )
    },
];

/// The step in which the model invents a tool and breaks its arguments.
const INVENTED: usize = 1;

/// Returns the steps of a conversation: four steps of calls and a text, then two texts.
fn step(number: usize) -> Step {
    let said = match number {
        INVENTED => Said::Call {
            name: "$READFILE",
            arguments: r#"{"path": "/data/"#.to_owned(),
        },
        0..4 => Said::Call {
            name: "add",
            arguments: format!(r#"{{"a": {number}, "b": 1}}"#),
        },
        _ => Said::Text(format!("Answer number {number}.")),
    };
    Step { number, said }
}

/// Returns the messages of a request, or its input items, each with the one before: reasoning is an item of its own.
fn places(body: &Value) -> Vec<String> {
    let lists = ["messages", "contents", "input"].map(|name| items(&body[name]));
    let places = lists.concat();
    let before = std::iter::once(String::new()).chain(places.iter().map(Value::to_string));
    let is_item = body.get("input").is_some();
    let place = |(place, before): (&Value, String)| {
        if is_item {
            before + &place.to_string()
        } else {
            place.to_string()
        }
    };
    places.iter().zip(before).map(place).collect()
}

/// Returns the mistake in a request, or none.
fn mistake(row: &Row, body: &Value, sent: usize) -> Option<String> {
    if let Some(rule) = broken(row.rules, body) {
        return Some(format!("{} ({})", rule.says, rule.source));
    }
    let places = places(body);
    for step in (0..sent).map(step) {
        let place = places.iter().find(|place| place.contains(&step.key()));
        let Some(place) = place else {
            return Some(format!("step {} did not come back", step.number));
        };
        for mark in row.reasoning.marks(&step) {
            if !place.contains(&mark) {
                return Some(format!(
                    "step {} came back without `{mark}`: {place}",
                    step.number
                ));
            }
        }
    }
    None
}

pub(crate) async fn start(row: &'static Row) -> Server {
    let mut sent = 0;
    Server::answering(move |request: &Request| {
        if let Some(mistake) = mistake(row, &request.body, sent) {
            let (status, body) = row.error.write(&mistake);
            return Answer::new(
                status,
                &[("content-type", "application/json")],
                &body.to_string(),
            );
        }
        let body = write(row.form, &step(sent), row.reasoning);
        sent += 1;
        match row.form {
            Form::Chat => Answer::events(&body),
            _ => Answer::new(200, &[("content-type", "application/json")], &body),
        }
    })
    .await
}

/// Returns a model at the row's domain, which is this server.
pub(crate) fn model(row: &Row, server: &Server) -> HttpModel {
    let address = server
        .url
        .strip_prefix("http://")
        .and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.expect("an address");
    let domain = if row.domain.is_empty() {
        "127.0.0.1"
    } else {
        row.domain
    };
    let client = client_builder()
        .no_proxy()
        .resolve(domain, address)
        .build()
        .expect("a client");
    HttpModel::new(row.provider, "anthropic.the-model")
        .base_url(format!("http://{domain}:{}{}", address.port(), row.path))
        .api_key("sk-canary")
        .allow_unencrypted()
        .client(client)
        .stream(row.form == Form::Chat)
        .max_tokens(1_000)
        .retry(RetryPolicy::never())
}

// M4, M5
#[tokio::test]
async fn each_server_takes_back_what_it_has_sent() {
    for row in ROWS {
        let server = start(row).await;
        let (session, runs) = session().await;
        let mut agent = AgentLoop::new(session, model(row, &server)).instructions("Be brief.");
        for (prompt, answer) in [("Add.", 4), ("And now?", 5), ("Thanks.", 6)] {
            let reply = agent.prompt(prompt).await;
            assert_eq!(reply.error, None, "{}", row.name);
            assert_eq!(
                reply.text,
                Some(format!("Answer number {answer}.")),
                "{}",
                row.name
            );
        }
        assert_eq!(
            (runs.count(), server.requests().len()),
            (3, 7),
            "{}: the invented call does not run",
            row.name
        );
        assert!(agent.model_mut().history_repairs().is_empty());
    }
}

#[tokio::test]
async fn each_server_takes_cached_prompts_and_single_calls() {
    for row in ROWS {
        let server = start(row).await;
        let mut model = model(row, &server).cache_prompt(true);
        let has_single_calls = matches!(row.form, Form::Responses | Form::Messages);
        if has_single_calls {
            model = model.parallel_tool_calls(false);
        }
        let mut agent = AgentLoop::new(session().await.0, model).instructions("Be brief.");
        for prompt in ["Add.", "And now?"] {
            assert_eq!(agent.prompt(prompt).await.error, None, "{}", row.name);
        }
    }
}

// M4
#[tokio::test]
async fn a_step_does_not_go_to_another_server() {
    for row in ROWS.iter().filter(|row| row.form == Form::Chat) {
        let server = start(row).await;
        let mut agent = AgentLoop::new(session().await.0, model(row, &server));
        assert_eq!(agent.prompt("Add.").await.error, None, "{}", row.name);

        let other =
            Server::start([Answer::events(&write(Form::Chat, &step(9), NO_REASONING))]).await;
        let local = Row { domain: "", ..*row };
        agent.set_model(model(&local, &other));
        assert_eq!(agent.prompt("And now?").await.error, None, "{}", row.name);
        let body = other.requests()[0].body.to_string();
        assert!(
            !body.contains("mark-") && body.contains("Answer number 4."),
            "{}: {body}",
            row.name
        );
    }
}

// M4
#[tokio::test]
async fn a_switch_keeps_reasoning_back() {
    let row = ROWS.iter().find(|row| row.name == "vLLM").expect("a row");
    for (steps, came_back) in [
        (ReasoningBack::Never, vec![]),
        (ReasoningBack::WithinTurn, vec![5]),
        (ReasoningBack::Always, vec![0, 1, 2, 3, 4, 5]),
    ] {
        let mut sent = 0;
        let server = Server::answering(move |_| {
            // The second turn has a step of a call, too.
            let step = if sent == 5 {
                Step {
                    number: 5,
                    ..step(0)
                }
            } else {
                step(sent)
            };
            sent += 1;
            Answer::events(&write(Form::Chat, &step, REASONING))
        })
        .await;
        let mut agent =
            AgentLoop::new(session().await.0, model(row, &server).reasoning_back(steps));
        for prompt in ["Add.", "And now?"] {
            assert_eq!(agent.prompt(prompt).await.error, None);
        }
        let last = server
            .requests()
            .last()
            .expect("a request")
            .body
            .to_string();
        let marks = (0..7)
            .filter(|number| last.contains(&format!("mark-{number}-")))
            .collect::<Vec<_>>();
        assert_eq!(marks, came_back, "{steps:?}");
    }
}

// M5
#[tokio::test]
async fn a_cut_history_is_repaired_and_reported() {
    for row in ROWS {
        let server = start(row).await;
        let mut history = History::new();
        // The calls of a step that was cut off, and a result whose call is gone.
        history.push(Message::Result {
            call_id: "gone".into(),
            tool: "add".into(),
            result: result("a lost result"),
        });
        let calls = vec![
            ToolCall::new("1", "add", "{}"),
            ToolCall::new("1", "$READFILE", "oops"),
        ];
        history.push(Message::Assistant {
            text: None,
            calls,
            native: None,
        });
        history.push(Message::Result {
            call_id: "1".into(),
            tool: "add".into(),
            result: result("3"),
        });
        let mut agent = AgentLoop::with_history(session().await.0, model(row, &server), history);
        assert_eq!(agent.prompt("Go on.").await.error, None, "{}", row.name);

        let first = server.requests()[0].body.to_string();
        assert!(
            first.contains("a lost result") && first.contains("is not known"),
            "{}: {first}",
            row.name
        );
        let repairs = agent.model_mut().history_repairs().changes().to_vec();
        let is_reported = [
            matches!(&repairs[0], Repair::NotedResult { call_id, .. } if call_id == "gone"),
            matches!(&repairs[1], Repair::RenamedCall { from, .. } if from == "1"),
            matches!(&repairs[2], Repair::AddedResult { tool, .. } if tool == "$READFILE"),
        ];
        assert_eq!((is_reported, repairs.len()), ([true; 3], 3), "{repairs:?}");
        assert_eq!(
            agent.history().check().changes(),
            repairs,
            "the history itself stays"
        );
    }
}

fn result(text: &str) -> ModelResult {
    ModelResult {
        text: text.to_owned(),
        is_error: false,
        reply: true,
        parts: false,
        is_text: true,
        goes_on: false,
    }
}
