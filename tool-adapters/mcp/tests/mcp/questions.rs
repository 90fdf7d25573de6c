//! Questions of tools to the client's user, in the middle of a call.

use super::http::{EventReader, HttpClient, by_user, serve};
use super::support::{LineClient, stateless, until};
use reqwest::{Method, StatusCode};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation,
};
use rmcp::service::{RequestContext, RoleClient};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ErrorData, ServiceExt};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::mcp::Server;
use tool_core::call::LogLevel;
use tool_core::{
    Policy, RunContext, Runtime, ToolContext, ToolError, prompt, resource, tool, tool_type,
};

/// A seat.
#[tool_type]
struct Seat {
    row: u8,
    side: Side,
}

#[tool_type]
#[derive(Debug)]
enum Side {
    Window,
    Aisle,
}

/// Book a seat.
#[tool(timeout = "60s")]
async fn book(ctx: &RunContext, flight: String) -> Result<String, ToolError> {
    let seat = ctx
        .ask::<Seat>(format!("Which seat on {flight}?"))
        .await?
        .required()?;
    Ok(format!("{flight}: {} {:?}", seat.row, seat.side))
}

/// Book a seat, once the user agrees to it.
#[tool(confirm, timeout = "60s")]
async fn book_approved(ctx: &RunContext, flight: String) -> Result<String, ToolError> {
    let seat = ctx
        .ask::<Seat>(format!("Which seat on {flight}?"))
        .await?
        .required()?;
    Ok(format!("{flight}: {} {:?}", seat.row, seat.side))
}

/// Book a seat in a task of its own.
#[tool(timeout = "60s")]
async fn book_apart(ctx: &RunContext, flight: String) -> Result<String, ToolError> {
    let own = ctx.clone();
    let asking =
        ctx.spawn(async move { own.ask::<Seat>(format!("Which seat on {flight}?")).await });
    let seat = asking.await.expect("no panic")?.required()?;
    Ok(format!("{} {:?}", seat.row, seat.side))
}

/// Book a seat, and report it.
#[tool(timeout = "60s")]
async fn book_reported(ctx: &RunContext) -> Result<String, ToolError> {
    let seat = ctx.ask::<Seat>("Which seat?").await?.required()?;
    ctx.update(format!("{} {:?} is free", seat.row, seat.side));
    ctx.log(LogLevel::Info, "seats", "one is taken");
    Ok("booked".to_owned())
}

/// Book by another tool.
#[tool(timeout = "60s")]
async fn book_nested(ctx: &RunContext) -> Result<String, ToolError> {
    Ok(ctx
        .call("book", json!({"flight": "LH 1"}))
        .await
        .into_text())
}

/// Write about a seat.
#[prompt]
async fn write(ctx: &RunContext, about: &str) -> Result<String, ToolError> {
    let seat = ctx
        .ask::<Seat>(format!("Which seat on {about}?"))
        .await?
        .required()?;
    Ok(format!("{about}: {} {:?}", seat.row, seat.side))
}

/// The seat that the user names.
#[resource(uri = "seats://{flight}")]
async fn seat(ctx: &RunContext, flight: &str) -> Result<String, ToolError> {
    let seat = ctx
        .ask::<Seat>(format!("Which seat on {flight}?"))
        .await?
        .required()?;
    Ok(format!("{flight}: {} {:?}", seat.row, seat.side))
}

fn server_with(policy: Policy) -> Server {
    let builder = ToolContext::builder()
        .with(book)
        .with(book_approved)
        .with(book_apart)
        .with(book_nested)
        .with(book_reported)
        .with_prompt(write)
        .with_resource(seat);
    let tools = builder.build().expect("sound tools");
    Server::new(
        Runtime::builder(tools)
            .policy(policy)
            .build()
            .expect("a runtime"),
    )
}

fn server() -> Server {
    server_with(Server::policy())
}

fn elicitation() -> Value {
    json!({"elicitation": {}})
}

fn booking(id: u64, flight: &str) -> Value {
    let params = json!({"name": "book", "arguments": {"flight": flight}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn accept(id: &Value, row: u64) -> Value {
    let content = json!({"row": row, "side": "Aisle"});
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": content}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("a text: {answer}"))
}

/// Calls `book`, and returns its answer if the user answers with `result`.
async fn book_with(result: Value) -> Value {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    client.send(&booking(1, "LH 1")).await;
    let question = client.receive().await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
        .await;
    client.receive().await
}

// R-Q7
#[tokio::test]
async fn an_approved_call_asks_its_user() {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    let params = json!({"name": "book_approved", "arguments": {"flight": "LH 1"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    client.send(&call).await;
    let approval = client.receive().await;
    let agreed = json!({"action": "accept", "content": {}});
    let agreed = json!({"jsonrpc": "2.0", "id": approval["id"], "result": agreed});
    client.send(&agreed).await;

    let question = client.receive().await;
    assert_eq!(
        question["params"]["message"], "Which seat on LH 1?",
        "{question}"
    );
    client.send(&accept(&question["id"], 7)).await;
    assert_eq!(text(&client.receive().await), "LH 1: 7 Aisle");
}

// R-Q7
#[tokio::test]
async fn the_clients_user_answers_by_a_form() {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    client.send(&booking(1, "LH 1")).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Which seat on LH 1?");
    let form = json!({
        "type": "object",
        "properties": {
            "row": {"type": "integer", "minimum": 0, "maximum": 255},
            "side": {"type": "string", "enum": ["Window", "Aisle"]}
        },
        "required": ["row", "side"]
    });
    assert_eq!(question["params"]["requestedSchema"], form);
    client.send(&accept(&question["id"], 7)).await;
    let answer = client.receive().await;
    assert_eq!((text(&answer), &answer["id"]), ("LH 1: 7 Aisle", &json!(1)));
}

// R-Q7
#[tokio::test]
async fn refusals_of_the_clients_user_are_told_apart() {
    for (action, told) in [
        ("decline", "declined to answer"),
        ("cancel", "closed the form"),
    ] {
        let answer = book_with(json!({"action": action})).await;
        assert_eq!(answer["result"]["isError"], true);
        assert!(text(&answer).contains(told), "{answer}");
    }
}

// R-Q6
#[tokio::test]
async fn content_that_does_not_fit_reaches_no_tool() {
    let contents = [
        json!({"row": 7, "side": "Aisle", "admin": true}),
        json!({"row": 7, "side": "Left"}),
        json!({"row": 1000, "side": "Aisle"}),
        json!({"row": [7], "side": "Aisle"}),
        json!({"row": 7}),
        json!({}),
        json!(null),
        json!([]),
        json!("LH 1: 7 Aisle"),
    ];
    for content in contents {
        let answer = book_with(json!({"action": "accept", "content": content})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(!text(&answer).starts_with("LH 1"), "{answer}");
    }
    let answer = book_with(json!({"action": "yes", "content": {"row": 7, "side": "Aisle"}})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

// R-Q7
#[tokio::test]
async fn client_without_forms_fails_the_question_at_once() {
    let by_url = json!({"elicitation": {"url": {}}});
    for capabilities in [json!({}), by_url] {
        let mut client = LineClient::initialized(&server(), capabilities).await;
        client.send(&booking(1, "LH 1")).await;
        let answer = client.receive().await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(
            text(&answer).contains("this MCP client cannot ask its user"),
            "{answer}"
        );
    }
}

// R-Q7
#[tokio::test]
async fn newest_client_without_forms_is_told_which_it_needs() {
    let mut call = booking(1, "LH 1");
    call["params"]["_meta"] = stateless(&json!({}));
    let mut line = LineClient::connect(&server());
    line.send(&call).await;
    let answer = line.receive().await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    assert_eq!(
        answer["error"]["data"]["requiredCapabilities"],
        json!({"elicitation": {"form": {}}})
    );
}

fn newest(id: u64, arguments: &Value, more: &Value) -> Value {
    let mut params =
        json!({"name": "book", "arguments": arguments, "_meta": stateless(&elicitation())});
    params
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().cloned().unwrap_or_default());
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Returns the members of a repeated request.
fn repeated(asked: &Value, row: u64) -> Value {
    let answer = json!({"action": "accept", "content": {"row": row, "side": "Window"}});
    json!({"requestState": asked["result"]["requestState"], "inputResponses": {"ask": answer}})
}

// R-Q7
#[tokio::test]
async fn newest_revision_repeats_the_call_with_the_answer() {
    let flight = json!({"flight": "LH 1"});
    let mut line = LineClient::connect(&server());
    line.send(&newest(1, &flight, &json!({}))).await;
    let asked = line.receive().await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"]["ask"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Which seat on LH 1?");
    line.send(&newest(2, &flight, &repeated(&asked, 7))).await;
    assert_eq!(text(&line.receive().await), "LH 1: 7 Window");
    line.send(&newest(3, &flight, &repeated(&asked, 8))).await;
    assert_eq!(
        line.receive().await["error"]["code"],
        -32602,
        "a state is valid once"
    );

    let http = HttpClient::new(&serve(&server()).await);
    // The first call sets up the session, and later ones are begun before rmcp sees them.
    for row in 1..20 {
        let flight = json!({"flight": format!("LH {row}")});
        let asked = http.call_stateless(1, "book", &flight, json!({})).await;
        let answer = http
            .call_stateless(1, "book", &flight, repeated(&asked, row))
            .await;
        assert_eq!(text(&answer), format!("LH {row}: {row} Window"));
    }
}

/// Returns the notification about a repeated call of `book_reported`, and its answer. Both its
/// requests ask for what their metadata name.
async fn report_of_repeated(metadata: [Value; 2]) -> [Value; 2] {
    let mut line = LineClient::connect(&server());
    let call = |more: &Value, asked_for: &Value| {
        let mut call = newest(1, &json!({}), more);
        call["params"]["name"] = json!("book_reported");
        let meta = call["params"]["_meta"].as_object_mut().expect("metadata");
        meta.extend(asked_for.as_object().cloned().unwrap_or_default());
        call
    };
    let [first, repeat] = metadata;
    line.send(&call(&json!({}), &first)).await;
    let asked = line.receive().await;
    line.send(&call(&repeated(&asked, 7), &repeat)).await;
    [line.receive().await, line.receive().await]
}

// R-Q7
#[tokio::test]
async fn repeated_call_reports_its_progress() {
    let earlier = json!({"progressToken": "earlier"});
    for first in [json!({}), earlier] {
        let later = json!({"progressToken": "later"});
        let [told, answer] = report_of_repeated([first, later]).await;
        assert_eq!(told["params"]["progressToken"], "later", "{told}");
        assert_eq!(told["params"]["message"], "7 Window is free");
        assert_eq!(text(&answer), "booked");
    }
}

// R-Q9
#[tokio::test]
async fn repeated_call_writes_its_log() {
    let level = json!({"io.modelcontextprotocol/logLevel": "info"});
    let [told, answer] = report_of_repeated([level.clone(), level]).await;
    assert_eq!(told["params"]["data"], "one is taken", "{told}");
    assert_eq!(text(&answer), "booked");
}

/// Returns a text of a result.
type TextOf = fn(&Value) -> &Value;

/// The requests that read a prompt and a resource, and the texts of their results.
const READS: [(&str, &str, TextOf); 2] = [
    (
        "prompts/get",
        r#"{"name": "write", "arguments": {"about": "LH1"}}"#,
        |result| &result["messages"][0]["content"]["text"],
    ),
    ("resources/read", r#"{"uri": "seats://LH1"}"#, |result| {
        &result["contents"][0]["text"]
    }),
];

/// Returns a request of the newest revision.
fn reading(id: u64, method: &str, params: &str, more: &Value) -> Value {
    let mut params = serde_json::from_str::<Value>(params).expect("JSON");
    params["_meta"] = stateless(&elicitation());
    params
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().cloned().unwrap_or_default());
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// R-Q7
#[tokio::test]
async fn prompts_and_resources_ask_the_clients_user() {
    for (method, params, text) in READS {
        let params = serde_json::from_str::<Value>(params).expect("JSON");
        let mut client = LineClient::initialized(&server(), elicitation()).await;
        client
            .send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .await;
        let question = client.receive().await;
        assert_eq!(
            question["params"]["message"], "Which seat on LH1?",
            "{question}"
        );
        client.send(&accept(&question["id"], 7)).await;
        assert_eq!(text(&client.receive().await["result"]), "LH1: 7 Aisle");

        let mut client = LineClient::initialized(&server(), json!({})).await;
        let refused = client.request(json!(1), method, params).await;
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("this MCP client cannot ask its user"),
            "{refused}"
        );
    }
}

// R-Q7
#[tokio::test]
async fn newest_revision_repeats_prompts_and_resources() {
    for (method, params, text) in READS {
        let mut line = LineClient::connect(&server());
        line.send(&reading(1, method, params, &json!({}))).await;
        let asked = line.receive().await;
        assert_eq!(
            asked["result"]["inputRequests"]["ask"]["params"]["message"], "Which seat on LH1?",
            "{asked}"
        );
        let (answered, state) = (
            repeated(&asked, 7),
            json!({"requestState": asked["result"]["requestState"]}),
        );
        // The state belongs to this request only.
        for (other, others, _) in READS.iter().filter(|(other, ..)| *other != method) {
            line.send(&reading(2, other, others, &answered)).await;
            assert_eq!(line.receive().await["error"]["code"], -32602, "{other}");
        }
        line.send(&newest(3, &json!({"flight": "LH1"}), &answered))
            .await;
        assert_eq!(line.receive().await["error"]["code"], -32602);
        line.send(&reading(
            4,
            method,
            &params.replace("LH1", "LH2"),
            &answered,
        ))
        .await;
        assert_eq!(line.receive().await["error"]["code"], -32602);
        line.send(&reading(5, method, params, &state)).await;
        assert_eq!(line.receive().await["result"], asked["result"]);
        line.send(&reading(6, method, params, &answered)).await;
        assert_eq!(text(&line.receive().await["result"]), "LH1: 7 Window");
        line.send(&reading(7, method, params, &answered)).await;
        assert_eq!(
            line.receive().await["error"]["code"],
            -32602,
            "a state is valid once"
        );

        let mut without = reading(8, method, params, &json!({}));
        without["params"]["_meta"] = stateless(&json!({}));
        line.send(&without).await;
        assert_eq!(line.receive().await["error"]["code"], -32021);
    }
}

// T18
#[tokio::test]
async fn foreigners_answer_no_prompt_over_http() {
    let http = HttpClient::new(&serve(&by_user(server())).await)
        .with("mcp-protocol-version", "2026-07-28");
    let (method, params, text) = READS[0];
    let send = async |user: &str, more: &Value| {
        let client = http
            .with("x-user", user)
            .with("mcp-method", method)
            .with("mcp-name", "write");
        let answer = client.post(&reading(1, method, params, more)).await;
        EventReader::new(answer).next().await.expect("an answer")
    };
    let answered = repeated(&send("ada", &json!({})).await, 7);
    for _ in 0..100 {
        assert_eq!(send("eve", &answered).await["error"]["code"], -32602);
    }
    assert_eq!(
        text(&send("ada", &answered).await["result"]),
        "LH1: 7 Window"
    );
}

// R-Q7
#[tokio::test]
async fn call_that_is_repeated_without_an_answer_is_asked_again() {
    let flight = json!({"flight": "LH 1"});
    let mut line = LineClient::connect(&server());
    line.send(&newest(1, &flight, &json!({}))).await;
    let asked = line.receive().await;
    let state = &asked["result"]["requestState"];
    line.send(&newest(2, &flight, &json!({"requestState": state})))
        .await;
    assert_eq!(line.receive().await["result"], asked["result"]);
    let wrong = json!({"requestState": state, "inputResponses": {"ask": {"action": "yes"}}});
    line.send(&newest(3, &flight, &wrong)).await;
    assert_eq!(line.receive().await["error"]["code"], -32602);
    line.send(&newest(4, &flight, &repeated(&asked, 7))).await;
    assert_eq!(text(&line.receive().await), "LH 1: 7 Window");
}

// T18
#[tokio::test]
async fn no_other_request_answers_a_question() {
    let flight = json!({"flight": "LH 1"});
    let server = by_user(server());
    let http = HttpClient::new(&serve(&server).await);
    let (alice, mallory) = (http.with("x-user", "alice"), http.with("x-user", "mallory"));
    let other_process =
        HttpClient::new(&serve(&by_user(self::server())).await).with("x-user", "alice");
    let asked = alice.call_stateless(1, "book", &flight, json!({})).await;
    let state = asked["result"]["requestState"]
        .as_str()
        .expect("a state")
        .to_owned();
    let mut tried = 0;
    for client in [&mallory, &other_process] {
        let answer = client
            .call_stateless(1, "book", &flight, repeated(&asked, 255))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    for at in 0..state.len() {
        let mut mutant = state.clone().into_bytes();
        mutant[at] ^= 1;
        let mut forged = repeated(&asked, 255);
        forged["requestState"] = json!(String::from_utf8(mutant).expect("a text"));
        let answer = alice.call_stateless(1, "book", &flight, forged).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        tried += 1;
    }
    let answer = alice
        .call_stateless(1, "book", &json!({"flight": "LH 2"}), repeated(&asked, 255))
        .await;
    assert_eq!(
        answer["error"]["code"], -32602,
        "the user was asked about another call"
    );
    assert_eq!(tried, 36);
    let answer = alice
        .call_stateless(1, "book", &flight, repeated(&asked, 7))
        .await;
    assert_eq!(
        text(&answer),
        "LH 1: 7 Window",
        "the question is still open"
    );
}

// R-Q4
#[tokio::test]
async fn question_of_the_newest_revision_ends_with_its_time() {
    let flight = json!({"flight": "LH 1"});
    let policy = Server::policy().question_timeout(Duration::from_millis(1));
    let mut line = LineClient::connect(&server_with(policy));
    line.send(&newest(1, &flight, &json!({}))).await;
    let asked = line.receive().await;
    let state = &asked["result"]["requestState"];
    // Repeated without an answer, the question is asked again until its time is over.
    let mut id = 2;
    let over = loop {
        line.send(&newest(id, &flight, &json!({"requestState": state})))
            .await;
        let answer = line.receive().await;
        if answer.get("error").is_some() {
            break answer;
        }
        id += 1;
    };
    assert_eq!(over["error"]["code"], -32602, "{over}");
    line.send(&newest(id + 1, &flight, &repeated(&asked, 7)))
        .await;
    assert_eq!(line.receive().await["error"]["code"], -32602);
}

// R-Q7
#[tokio::test]
async fn nested_call_asks_the_clients_user() {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "book_nested"}});
    client.send(&call).await;
    let question = client.receive().await;
    client.send(&accept(&question["id"], 7)).await;
    assert_eq!(text(&client.receive().await), "LH 1: 7 Aisle");
}

// R-Q4
#[tokio::test]
async fn cancelled_call_withdraws_its_question() {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    client.send(&booking(1, "LH 1")).await;
    let question = client.receive().await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    let withdrawn = client.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
}

// R-Q4
#[tokio::test]
async fn late_answer_is_not_waited_for() {
    let policy = Server::policy().question_timeout(Duration::from_millis(1));
    let mut client = LineClient::initialized(&server_with(policy), elicitation()).await;
    client.send(&booking(1, "LH 1")).await;
    let mut received = Vec::new();
    while received.len() < 3 {
        received.push(client.receive().await);
    }
    let methods = received
        .iter()
        .map(|message| message["method"].as_str().unwrap_or("answer"))
        .collect::<Vec<_>>();
    assert!(
        methods.contains(&"elicitation/create") && methods.contains(&"notifications/cancelled"),
        "{methods:?}"
    );
    let answer = received
        .iter()
        .find(|message| message.get("result").is_some())
        .expect("an answer");
    assert!(text(answer).contains("did not answer within"), "{answer}");
}

// T18
#[tokio::test]
async fn answers_reach_the_question_of_their_connection_and_id() {
    let server = server();
    let mut clients = Vec::new();
    for client in 0..50 {
        let mut line = LineClient::initialized(&server, elicitation()).await;
        let mut questions = Vec::new();
        for call in 0..10 {
            // All clients use the same ids.
            line.send(&booking(call, &format!("{client}-{call}"))).await;
        }
        for _ in 0..10 {
            questions.push(line.receive().await);
        }
        clients.push((line, questions));
    }
    let foreign = clients
        .iter()
        .flat_map(|(_, questions)| questions.iter().map(|question| question["id"].clone()));
    let foreign = foreign.collect::<Vec<_>>();
    let mut right = 0;
    for (client, (line, questions)) in clients.iter_mut().enumerate() {
        // Ids of the other clients' questions, and of the calls.
        for id in foreign
            .iter()
            .filter(|id| !questions.iter().any(|own| own["id"] == **id))
            .step_by(7)
        {
            line.send(&accept(id, 255)).await;
        }
        for question in questions.iter().rev() {
            let flight = question["params"]["message"]
                .as_str()
                .expect("a text")
                .trim_start_matches("Which seat on ");
            let row = flight
                .trim_end_matches('?')
                .split_once('-')
                .expect("a flight")
                .1
                .parse()
                .expect("a number");
            line.send(&accept(&question["id"], row)).await;
        }
        for _ in 0..10 {
            let answer = line.receive().await;
            let call = answer["id"].as_u64().expect("an id");
            right += usize::from(text(&answer) == format!("{client}-{call}: {call} Aisle"));
        }
    }
    assert_eq!(right, 500);
}

// R-Q7
#[tokio::test]
async fn a_question_of_a_task_comes_on_the_stream_of_its_call() {
    let client = HttpClient::new(&serve(&server()).await)
        .initialize(&elicitation())
        .await
        .expect("a session");
    // The client has no stream of the session.
    let params = json!({"name": "book_apart", "arguments": {"flight": "LH 1"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut events = EventReader::new(client.post(&call).await);
    let question = events.next().await.expect("a question");
    assert_eq!(
        question["params"]["message"], "Which seat on LH 1?",
        "{question}"
    );
    client.post(&accept(&question["id"], 7)).await;
    let answer = events.next().await.expect("an answer");
    assert_eq!(text(&answer), "7 Aisle");
}

// R-Q7
#[tokio::test]
async fn a_client_is_asked_after_an_initialize_that_has_failed() {
    let server = server_with(Server::policy().max_sessions(1));
    let first = LineClient::initialized(&server, json!({})).await;
    let mut client = LineClient::connect(&server);
    let info = json!({"name": "test", "version": "1"});
    let begin = |revision: &str, capabilities: Value| json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
    let refused = client
        .request(json!(1), "initialize", begin("2025-03-26", json!({})))
        .await;
    assert!(refused["error"].is_object(), "{refused}");

    drop(first);
    until(async || {
        let answer = client
            .request(json!(2), "initialize", begin("2025-11-25", elicitation()))
            .await;
        answer.get("result").is_some()
    })
    .await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.send(&initialized).await;
    client.send(&booking(3, "LH 1")).await;
    let question = client.receive().await;
    assert_eq!(
        question["params"]["message"], "Which seat on LH 1?",
        "{question}"
    );
    client.send(&accept(&question["id"], 7)).await;
    assert_eq!(text(&client.receive().await), "LH 1: 7 Aisle");
}

// T18
#[tokio::test]
async fn foreigners_answer_no_question_over_http() {
    let url = serve(&by_user(server())).await;
    let alice = HttpClient::new(&url)
        .with("x-user", "alice")
        .initialize(&elicitation())
        .await
        .expect("a session");
    let mut events = EventReader::new(alice.post(&booking(1, "LH 1")).await);
    let question = events.next().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    let mallory = HttpClient::new(&url)
        .with("x-user", "mallory")
        .initialize(&elicitation())
        .await
        .expect("a session");
    for row in 0..100 {
        let stolen = alice.with("x-user", &format!("mallory {row}"));
        assert_eq!(
            stolen.post(&accept(&question["id"], row)).await.status(),
            StatusCode::NOT_FOUND
        );
        assert_eq!(
            mallory.post(&accept(&question["id"], row)).await.status(),
            StatusCode::ACCEPTED
        );
    }
    assert_eq!(
        alice.post(&accept(&question["id"], 200)).await.status(),
        StatusCode::ACCEPTED
    );
    let answer = events.next().await.expect("an answer");
    assert_eq!(text(&answer), "LH 1: 200 Aisle");
}

/// A client of rmcp whose user takes the seat on the aisle in row 3.
#[derive(Clone)]
struct Passenger;

impl ClientHandler for Passenger {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let form = Some(FormElicitationCapability::default());
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = form;
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = request
        else {
            return Err(ErrorData::invalid_params("expected a form", None));
        };
        assert!(
            message.starts_with("Which seat") && requested_schema.properties.contains_key("row")
        );
        Ok(ElicitResult::new(ElicitationAction::Accept)
            .with_content(json!({"row": 3, "side": "Aisle"})))
    }
}

// R-Q7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_of_an_rmcp_client_answers_over_http() {
    let url = serve(&server()).await;
    let peer = Passenger
        .serve(StreamableHttpClientTransport::from_uri(url))
        .await
        .expect("a server");
    for flight in ["LH 1", "LH 2"] {
        let arguments = json!({"flight": flight})
            .as_object()
            .cloned()
            .expect("an object");
        let answer = peer
            .call_tool(CallToolRequestParams::new("book").with_arguments(arguments))
            .await;
        let answer = answer.expect("an answer");
        let text = answer
            .content
            .first()
            .and_then(|block| block.as_text())
            .map(|text| text.text.clone());
        assert_eq!(text.as_deref(), Some(format!("{flight}: 3 Aisle").as_str()));
    }
    _ = peer.cancel().await;
}

// R-Q4
#[tokio::test(flavor = "multi_thread")]
async fn late_answer_over_http_is_withdrawn() {
    let policy = Server::policy().question_timeout(Duration::from_millis(5));
    let client = HttpClient::new(&serve(&server_with(policy)).await)
        .initialize(&elicitation())
        .await
        .expect("a session");
    let mut own = EventReader::new(client.request(Method::GET).send().await.expect("a stream"));
    let mut withdrawals = 0;
    for id in 1..=100 {
        let mut events = EventReader::new(client.post(&booking(id, "LH 1")).await);
        let question = events.next().await.expect("a message");
        // A call whose question has not left yet has nothing to withdraw.
        let Some(answer) = events.next().await else {
            continue;
        };
        assert!(text(&answer).contains("did not answer within"), "{answer}");
        // The call has ended, and with it the handler of the session may have.
        loop {
            let withdrawn = timeout(Duration::from_secs(20), own.next())
                .await
                .expect("in time")
                .expect("an event");
            assert_eq!(withdrawn["method"], "notifications/cancelled");
            // An earlier question may have been withdrawn before it was sent.
            if withdrawn["params"]["requestId"] == question["id"] {
                break;
            }
        }
        withdrawals += 1;
    }
    assert!(withdrawals > 0);
}
