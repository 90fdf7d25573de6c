//! Requests of tools to the client beside questions to its user: to its model, for its roots, and to its log.

use super::support::{LineClient, stateless};
use serde_json::{Value, json};
use tool_adapters::mcp::Server;
use tool_core::call::{LogLevel, RawQuestion, SamplingRequest};
use tool_core::{Content, RunContext, ToolContext, ToolError, tool};

/// Ask the model.
#[tool]
async fn think(ctx: &RunContext) -> Result<String, ToolError> {
    let request = SamplingRequest::new("2 + 2?")
        .system_prompt("Be short.")
        .max_tokens(10)
        .model_hint("small");
    let answer = ctx.sample(request).await?;
    Ok(format!("{} by {}", answer.text(), answer.model))
}

/// List the folders.
#[tool]
async fn folders(ctx: &RunContext) -> Result<Vec<String>, ToolError> {
    Ok(ctx
        .roots()
        .await?
        .into_iter()
        .map(|root| root.uri)
        .collect())
}

/// Ask for everything at once.
#[tool]
async fn ask_all(ctx: &RunContext) -> Result<Content, ToolError> {
    let sample = ctx.sample(SamplingRequest::new("?"));
    let (name, thought, roots) =
        tokio::join!(ctx.ask::<bool>("Well?").named("well"), sample, ctx.roots());
    Ok(Content::text(format!(
        "{:?} {} {}",
        name?,
        thought?.text(),
        roots?.len()
    )))
}

/// Send the user to a page.
#[tool]
async fn visit(ctx: &RunContext) -> Result<&'static str, ToolError> {
    ctx.ask_raw(RawQuestion::url("Sign in", "https://example.com/login"))
        .await?
        .required()?;
    Ok("visited")
}

/// Write to the log.
#[tool]
async fn write_log(ctx: &RunContext) -> &'static str {
    ctx.log(
        LogLevel::Info,
        "mail",
        json!({"at": 1, "password": "canary"}),
    );
    ctx.log(LogLevel::Error, "mail", "broken");
    tokio::task::yield_now().await;
    "done"
}

fn server() -> Server {
    let tools = ToolContext::builder()
        .with(think)
        .with(folders)
        .with(ask_all)
        .with(write_log)
        .with(visit);
    Server::from_tools(tools.build().expect("sound tools")).expect("a server")
}

fn thought(text: &str) -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "small-1", "stopReason": "endTurn"})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("a text: {answer}"))
}

/// Calls a tool of a client with these capabilities, and answers its request. Returns the request and the answer to the call.
async fn asked(capabilities: Value, tool: &str, answer: Value) -> (Value, Value) {
    let mut client = LineClient::initialized(&server(), capabilities).await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}))
        .await;
    let request = client.receive().await;
    let mut answer = answer;
    answer["jsonrpc"] = json!("2.0");
    answer["id"] = request["id"].clone();
    client.send(&answer).await;
    (request, client.receive().await)
}

// R-Q8
#[tokio::test]
async fn the_clients_model_answers_a_tool() {
    let (request, answer) = asked(
        json!({"sampling": {}}),
        "think",
        json!({"result": thought("4")}),
    )
    .await;
    assert_eq!(request["method"], "sampling/createMessage");
    let params = &request["params"];
    assert_eq!(
        params["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "2 + 2?"}}])
    );
    assert_eq!(
        params["modelPreferences"],
        json!({"hints": [{"name": "small"}]})
    );
    assert_eq!(
        (&params["systemPrompt"], &params["maxTokens"]),
        (&json!("Be short."), &json!(10))
    );
    assert_eq!(text(&answer), "4 by small-1");
}

// R-Q13
#[tokio::test]
async fn the_clients_user_is_sent_to_a_page() {
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}});
    let (request, answer) = asked(
        capabilities,
        "visit",
        json!({"result": {"action": "accept"}}),
    )
    .await;
    assert_eq!(request["method"], "elicitation/create");
    let params = &request["params"];
    assert_eq!(
        (&params["mode"], &params["url"]),
        (&json!("url"), &json!("https://example.com/login"))
    );
    assert!(
        params["elicitationId"]
            .as_str()
            .is_some_and(|id| id.len() == 32),
        "{params}"
    );
    assert_eq!(text(&answer), "visited");
}

// R-Q13
#[tokio::test]
async fn a_client_of_forms_is_sent_to_no_page() {
    let mut client = LineClient::initialized(&server(), json!({"elicitation": {"form": {}}})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "visit"}})).await;
    let answer = client.receive().await;
    assert!(
        text(&answer).contains("does not support elicitation by URL"),
        "{answer}"
    );
}

// R-Q8
#[tokio::test]
async fn the_clients_roots_reach_a_tool() {
    let roots = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b\u{202e}"}]});
    let (request, answer) = asked(json!({"roots": {}}), "folders", json!({"result": roots})).await;
    assert_eq!(request["method"], "roots/list");
    assert_eq!(text(&answer), r#"["file:///a"]"#);
}

// R-Q8
#[tokio::test]
async fn refusal_of_a_client_is_an_error_of_the_tool() {
    let refused = json!({"error": {"code": -1, "message": format!("no\n{}", "x".repeat(10_000))}});
    let (_, answer) = asked(json!({"sampling": {}}), "think", refused).await;
    assert_eq!(answer["result"]["isError"], true);
    let text = text(&answer);
    assert!(
        text.contains(r"refused the request: no\nxxx") && text.len() < 1_000,
        "{text}"
    );
    for wrong in [
        json!({"roots": []}),
        json!({}),
        json!({"role": "assistant", "content": 7, "model": "x"}),
    ] {
        let (_, answer) = asked(json!({"sampling": {}}), "think", json!({"result": wrong})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
}

// R-Q8
#[tokio::test]
async fn client_without_the_capability_is_not_asked() {
    for (tool, reason) in [
        ("think", "does not support sampling"),
        ("folders", "does not support roots"),
    ] {
        let mut client = LineClient::initialized(&server(), json!({"elicitation": {}})).await;
        let answer = client.call(tool, json!({})).await;
        assert!(text(&answer).contains(reason), "{answer}");
    }
}

/// Returns a stateless call of a client with all capabilities.
fn newest(tool: &str, more: &Value) -> Value {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let mut params = json!({"name": tool, "arguments": {}, "_meta": stateless(&capabilities)});
    params
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().cloned().unwrap_or_default());
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

// R-Q8
#[tokio::test]
async fn requests_at_once_are_asked_at_once() {
    let mut line = LineClient::connect(&server());
    line.send(&newest("ask_all", &json!({}))).await;
    let asked = line.receive().await;
    let requests = &asked["result"]["inputRequests"];
    let methods = ["well", "ask", "ask-2"].map(|name| {
        requests[name]["method"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    });
    assert_eq!(
        methods,
        ["elicitation/create", "sampling/createMessage", "roots/list"],
        "{asked}"
    );

    // Answers come in any parts, and a state is valid once.
    let state = &asked["result"]["requestState"];
    let well = json!({"action": "accept", "content": {"answer": true}});
    line.send(&newest(
        "ask_all",
        &json!({"requestState": state, "inputResponses": {"well": well}}),
    ))
    .await;
    let rest = line.receive().await;
    let left = rest["result"]["inputRequests"]
        .as_object()
        .expect("requests")
        .keys()
        .cloned()
        .collect::<Vec<_>>();
    assert_eq!(left, ["ask", "ask-2"]);
    assert_ne!(&rest["result"]["requestState"], state);
    line.send(&newest(
        "ask_all",
        &json!({"requestState": state, "inputResponses": {"ask": thought("4")}}),
    ))
    .await;
    assert_eq!(
        line.receive().await["error"]["code"],
        -32602,
        "a state is valid once"
    );
    let answers = json!({"ask": thought("4"), "ask-2": {"roots": []}, "other": 7});
    let state = &rest["result"]["requestState"];
    line.send(&newest(
        "ask_all",
        &json!({"requestState": state, "inputResponses": answers}),
    ))
    .await;
    assert_eq!(text(&line.receive().await), "Accepted(true) 4 0");
}

// R-Q8
#[tokio::test]
async fn answer_to_a_named_request_may_come_with_the_call() {
    let well = json!({"action": "accept", "content": {"answer": true}});
    let early = json!({"inputResponses": {"well": well, "ask": thought("4"), "other": 7}});
    let mut line = LineClient::connect(&server());
    line.send(&newest("ask_all", &early)).await;
    let asked = line.receive().await;
    let left = asked["result"]["inputRequests"]
        .as_object()
        .expect("requests")
        .keys()
        .cloned()
        .collect::<Vec<_>>();
    assert_eq!(
        left,
        ["ask", "ask-2"],
        "the name of the second is the server's"
    );
    line.send(&newest("ask_all", &json!({"inputResponses": {"well": 7}})))
        .await;
    assert_eq!(
        line.receive().await["result"]["inputRequests"]
            .as_object()
            .map(serde_json::Map::len),
        Some(3)
    );
}

/// Returns the notifications and the answer of a call.
async fn call_and_listen(client: &mut LineClient, call: &Value) -> Vec<Value> {
    client.send(call).await;
    let mut received = Vec::new();
    loop {
        let message = client.receive().await;
        if message.get("id").is_some() {
            return received;
        }
        received.push(message);
    }
}

// R-Q9
#[tokio::test]
async fn client_gets_the_log_from_the_level_that_it_asks_for() {
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "write_log"}});
    let mut client = LineClient::initialized(&server(), json!({})).await;
    assert_eq!(call_and_listen(&mut client, &call).await, [] as [Value; 0]);
    for (level, count) in [("info", 2), ("error", 1), ("alert", 0)] {
        assert_eq!(
            client
                .request(json!(2), "logging/setLevel", json!({"level": level}))
                .await["result"],
            json!({})
        );
        assert_eq!(
            call_and_listen(&mut client, &call).await.len(),
            count,
            "{level}"
        );
    }
    client
        .request(json!(3), "logging/setLevel", json!({"level": "debug"}))
        .await;
    let heard = call_and_listen(&mut client, &call).await;
    let first =
        json!({"level": "info", "logger": "mail", "data": {"at": 1, "password": "[redacted]"}});
    assert_eq!(
        (&heard[0]["method"], &heard[0]["params"]),
        (&json!("notifications/message"), &first)
    );
    assert_eq!(
        client
            .request(json!(4), "logging/setLevel", json!({"level": "loud"}))
            .await["error"]["code"],
        -32602
    );
}

// R-Q9
#[tokio::test]
async fn newest_client_gets_the_log_of_calls_that_ask_for_it() {
    let mut call = newest("write_log", &json!({}));
    let mut line = LineClient::connect(&server());
    assert_eq!(call_and_listen(&mut line, &call).await, [] as [Value; 0]);
    call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("error");
    let heard = call_and_listen(&mut line, &call).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["params"]["data"], "broken");
}
