//! Confirmation of calls by the client's user.

use super::http::{HttpClient, by_user, serve};
use super::support::{LineClient, server, stateless, tools};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::mcp::Server;
use tool_core::session::MemoryStore;
use tool_core::{RunContext, Runtime, ToolContext, tool};

fn elicitation() -> Value {
    json!({"elicitation": {}})
}

async fn call_and_answer(client: &mut LineClient, answer: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "erase", "arguments": {"what": "disk"}}});
    client.send(&call).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let form = question["params"]["message"].as_str().expect("a text");
    let shown = "Allow this call of `erase`?\n\n- what: \"disk\"\n\nReasons to ask:\n\n\
                 - tool: it asks before each call\n\nArguments: sha256:";
    assert!(form.starts_with(shown), "{form}");
    client
        .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}))
        .await;
    client.receive().await
}

/// Wipe a disk, and report it.
#[tool(category = "action", confirm)]
fn wipe(ctx: &RunContext) -> &'static str {
    ctx.update("half way");
    "wiped"
}

fn reporting_server() -> Server {
    let tools = ToolContext::builder().with(wipe).build();
    Server::from_tools(tools.expect("sound tools")).expect("a server")
}

/// Receives an update and the answer.
async fn assert_reported(client: &mut LineClient) {
    let update = client.receive().await;
    assert_eq!(update["params"]["message"], "half way", "{update}");
    let answer = client.receive().await;
    assert_eq!(answer["result"]["content"][0]["text"], "wiped", "{answer}");
}

#[tokio::test]
async fn approved_call_reports_progress() {
    let mut client = LineClient::initialized(&reporting_server(), elicitation()).await;
    let params = json!({"name": "wipe", "arguments": {}, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    client.send(&call).await;
    let question = client.receive().await;
    let accepted = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    client.send(&accepted).await;
    assert_reported(&mut client).await;
}

#[tokio::test]
async fn repeated_call_reports_progress() {
    let mut client = LineClient::connect(&reporting_server());
    let mut meta = stateless(&elicitation());
    meta["progressToken"] = json!(1);
    let mut params = json!({"name": "wipe", "arguments": {}, "_meta": meta});
    let asked = client.request(json!(1), "tools/call", params.clone()).await;
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({"confirm": {"action": "accept"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    client.send(&call).await;
    assert_reported(&mut client).await;
}

#[tokio::test]
async fn runs_the_call_when_the_user_accepts() {
    let mut client = LineClient::initialized(&server(), elicitation()).await;
    let answer = call_and_answer(&mut client, json!({"action": "accept", "content": {}})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
}

#[tokio::test]
async fn denies_the_call_unless_the_user_accepts() {
    for result in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "yes"}),
        json!({}),
    ] {
        let mut client = LineClient::initialized(&server(), elicitation()).await;
        let answer = call_and_answer(&mut client, result).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(!answer.to_string().contains("erased"));
    }
}

#[tokio::test]
async fn denies_the_call_if_the_client_lacks_elicitation() {
    let params = json!({"name": "erase", "arguments": {"what": "disk"}});
    let mut newest = params.clone();
    newest["_meta"] = stateless(&json!({}));
    let by_url = json!({"elicitation": {"url": {}}});
    let clients = [
        (
            LineClient::initialized(&server(), json!({})).await,
            params.clone(),
        ),
        (LineClient::initialized(&server(), by_url).await, params),
        (LineClient::connect(&server()), newest),
    ];
    for (mut client, params) in clients {
        let answer = client.request(json!(1), "tools/call", params).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(
            text.contains("this client cannot ask") && text.contains("was not run"),
            "{text}"
        );
        assert!(
            !text.contains("being asked") && !text.contains("will follow"),
            "{text}"
        );
        let received = client.received.join("");
        assert!(
            !received.contains("token") && !received.contains("erased"),
            "{received}"
        );
    }
}

async fn call_pending(client: &mut LineClient) -> String {
    let params =
        json!({"name": "erase", "arguments": {"what": "disk"}, "_meta": stateless(&elicitation())});
    let answer = client.request(json!(1), "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert_eq!(
        answer["result"]["inputRequests"]["confirm"]["method"],
        "elicitation/create"
    );
    answer["result"]["requestState"]
        .as_str()
        .expect("a state")
        .to_owned()
}

async fn repeat_call(
    client: &mut LineClient,
    state: &str,
    arguments: Value,
    result: Value,
) -> Value {
    let params = json!({
        "name": "erase", "arguments": arguments, "_meta": stateless(&elicitation()),
        "requestState": state, "inputResponses": {"confirm": result}
    });
    client.request(json!(2), "tools/call", params).await
}

#[tokio::test]
async fn runs_the_repeated_call_with_the_answer_once() {
    let mut client = LineClient::connect(&server());
    let state = call_pending(&mut client).await;
    let answer = repeat_call(
        &mut client,
        &state,
        json!({"what": "disk"}),
        json!({"action": "accept"}),
    )
    .await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
    let again = repeat_call(
        &mut client,
        &state,
        json!({"what": "disk"}),
        json!({"action": "accept"}),
    )
    .await;
    assert_eq!(again["error"]["code"], -32602, "a state is valid once");
}

#[tokio::test]
async fn time_limits_of_a_server_can_be_endless() {
    let max = Duration::MAX;
    let mut client = LineClient::connect(
        &server()
            .confirm_timeout(max)
            .idle_timeout(max)
            .turn_after(max),
    );
    let state = call_pending(&mut client).await;
    let answer = repeat_call(
        &mut client,
        &state,
        json!({"what": "disk"}),
        json!({"action": "accept"}),
    )
    .await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
    let mut client = LineClient::initialized(&server().confirm_timeout(max), elicitation()).await;
    let answer = call_and_answer(&mut client, json!({"action": "accept"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk");
}

#[tokio::test]
async fn refuses_a_forged_state_and_changed_arguments() {
    for at in 0..32 {
        let mut client = LineClient::connect(&server());
        let state = call_pending(&mut client).await;
        let mut forged = state.clone().into_bytes();
        forged[at] ^= 1;
        let forged = String::from_utf8(forged).expect("a text");
        let answer = repeat_call(
            &mut client,
            &forged,
            json!({"what": "disk"}),
            json!({"action": "accept"}),
        )
        .await;
        assert_eq!(answer["error"]["code"], -32602);
    }
    let mut client = LineClient::connect(&server());
    let state = call_pending(&mut client).await;
    let other = repeat_call(
        &mut client,
        &state,
        json!({"what": "backup"}),
        json!({"action": "accept"}),
    )
    .await;
    assert_eq!(
        other["error"]["code"], -32602,
        "the user was asked about another call"
    );
    let late = repeat_call(
        &mut client,
        &state,
        json!({"what": "disk"}),
        json!({"action": "accept"}),
    )
    .await;
    assert_eq!(
        late["error"]["code"], -32602,
        "the first call is denied too"
    );
    assert!(!client.received.join("").contains("erased"));
}

#[tokio::test]
async fn asks_again_if_the_answer_is_missing() {
    let mut client = LineClient::connect(&server());
    let state = call_pending(&mut client).await;
    let params = json!({
        "name": "erase", "arguments": {"what": "disk"}, "_meta": stateless(&elicitation()),
        "requestState": state, "inputResponses": {"other": {"action": "accept"}}
    });
    let answer = client.request(json!(2), "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    let state = answer["result"]["requestState"]
        .as_str()
        .expect("a state")
        .to_owned();
    let denied = repeat_call(
        &mut client,
        &state,
        json!({"what": "disk"}),
        json!({"action": "decline"}),
    )
    .await;
    assert_eq!(denied["result"]["isError"], true);
}

/// Serves the tools in a process that shares the store and the key with others, and returns a client of `alice`.
async fn process(store: &Arc<MemoryStore>, key: u8) -> HttpClient {
    let runtime = Runtime::builder(tools())
        .store(Arc::clone(store))
        .signing_key([key; 32])
        .build()
        .expect("a runtime");
    HttpClient::new(&serve(&by_user(Server::new(runtime))).await).with("x-user", "alice")
}

#[tokio::test]
async fn any_process_takes_the_repeated_call() {
    let store = Arc::default();
    let (one, other, foreign) = (
        process(&store, 1).await,
        process(&store, 1).await,
        process(&store, 2).await,
    );
    for id in 0..20 {
        // Equal calls would be a loop.
        let what = json!({"what": format!("disk {id}")});
        let asked = one.call_stateless(id, "erase", &what, json!({})).await;
        let state = asked["result"]["requestState"]
            .as_str()
            .unwrap_or_else(|| panic!("a state: {asked}"))
            .to_owned();
        let accept =
            json!({"requestState": state, "inputResponses": {"confirm": {"action": "accept"}}});
        let refused = foreign
            .call_stateless(id, "erase", &what, accept.clone())
            .await;
        assert_eq!(refused["error"]["code"], -32602, "another key: {refused}");
        let done = other
            .call_stateless(id, "erase", &what, accept.clone())
            .await;
        assert_eq!(
            done["result"]["content"][0]["text"],
            format!("erased disk {id}"),
            "{done}"
        );
        for client in [&one, &other] {
            let again = client
                .call_stateless(id, "erase", &what, accept.clone())
                .await;
            assert_eq!(again["error"]["code"], -32602, "{again}");
        }
    }
}

#[tokio::test]
async fn state_of_a_call_is_not_its_token() {
    let client = process(&Arc::default(), 1).await;
    let asked = client
        .call_stateless(1, "erase", &json!({"what": "disk"}), json!({}))
        .await;
    let state = asked["result"]["requestState"].as_str().expect("a state");
    let alias = state.split('-').next().expect("an alias");
    let message = asked["result"]["inputRequests"]["confirm"]["params"]["message"]
        .as_str()
        .expect("a question");
    assert!(
        message.contains("- what: \"disk\"\n") && message.contains("sha256:"),
        "{message}"
    );
    let runtime = Runtime::builder(tools())
        .signing_key([1; 32])
        .build()
        .expect("a runtime");
    let session = runtime
        .session("s", tool_core::Mode::Text)
        .await
        .expect("a session");
    assert!(!session.approve(alias).await.is_ok());
    assert!(
        session
            .token_alias(alias)
            .is_some_and(|other| other != alias)
    );
}
