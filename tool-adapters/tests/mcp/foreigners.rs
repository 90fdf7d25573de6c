//! Requests for the session of another client.

use super::http::{EventReader, HttpClient, by_user, serve};
use super::support::{LineClient, server, stateless};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_adapters::mcp::Server;
use tool_core::session::MemoryStore;
use tool_core::{FunctionTool, Policy, RawTool, RunContext, Runtime, ToolContext, ToolError};

fn erase() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "erase", "arguments": {"what": "disk"}}})
}

/// Calls `erase` in a session, and returns the stream of the answer and the id of the question.
async fn asked(client: &HttpClient) -> (EventReader, String) {
    let mut events = EventReader::new(client.post(&erase()).await);
    let question = events.next().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    (events, question["id"].as_str().expect("a text").to_owned())
}

/// Returns answers under ids that a foreigner may guess, and under the real one.
fn answers(id: &str) -> Vec<Value> {
    let guesses = (-4_i64..240).flat_map(|id| [json!(id), json!(id.to_string())]);
    let mutants = (0..id.len()).map(|at| {
        let mut mutant = id.to_owned().into_bytes();
        mutant[at] ^= 1;
        json!(String::from_utf8_lossy(&mutant))
    });
    let ids = guesses.chain(mutants).chain([json!(id)]).collect::<Vec<_>>();
    let accept = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
    let fail = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}});
    ids.iter().map(accept).chain(ids.iter().map(fail)).collect()
}

#[tokio::test]
async fn foreigners_cannot_answer_read_or_end_a_session() {
    let url = serve(&by_user(server())).await;
    let alice = HttpClient::new(&url).with("x-user", "alice").initialize(&json!({"elicitation": {}})).await;
    let alice = alice.expect("a session");
    let (mut events, id) = asked(&alice).await;
    let (mut refused, mut tried) = (0, 0);
    for user in ["mallory", "Alice", "alice ' OR 1=1", "alice2"] {
        let mallory = alice.with("x-user", user);
        for answer in answers(&id) {
            tried += 1;
            refused += usize::from(mallory.post(&answer).await.status() == StatusCode::NOT_FOUND);
        }
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        for message in [cancel, list, erase()] {
            tried += 1;
            refused += usize::from(mallory.post(&message).await.status() == StatusCode::NOT_FOUND);
        }
        for event in ["", "0", "0/0", "1/0", "0/1", "1/1"] {
            tried += 1;
            let read = mallory.request(Method::GET).header("last-event-id", event).send().await.expect("an answer");
            refused += usize::from(read.status() == StatusCode::NOT_FOUND);
        }
        for method in [Method::GET, Method::DELETE] {
            tried += 1;
            let answer = mallory.request(method).send().await.expect("an answer");
            refused += usize::from(answer.status() == StatusCode::NOT_FOUND);
        }
    }
    // The opener's own requests with a second session id are refused too, as the two parties may read different ones.
    let twice = alice.request(Method::GET).header("mcp-session-id", "other").send().await.expect("an answer");
    assert_eq!(twice.status(), StatusCode::NOT_FOUND);
    assert!(tried > 1_000, "{tried}");
    assert_eq!(refused, tried);
    let accept = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
    assert_eq!(alice.post(&accept).await.status(), StatusCode::ACCEPTED);
    let answer = events.next().await.expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk", "the session and the question are still open");
}

#[tokio::test]
async fn guessed_ids_answer_no_question() {
    let url = serve(&server()).await;
    let client = HttpClient::new(&url).initialize(&json!({"elicitation": {}})).await.expect("a session");
    let (mut events, id) = asked(&client).await;
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    let guesses = answers(&id).into_iter().filter(|answer| answer["id"] != *id).collect::<Vec<_>>();
    assert!(guesses.len() > 1_000, "{}", guesses.len());
    for guess in guesses {
        assert_eq!(client.post(&guess).await.status(), StatusCode::ACCEPTED);
    }
    let decline = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}});
    client.post(&decline).await;
    let answer = events.next().await.expect("an answer");
    assert_eq!(answer["result"]["isError"], true, "no guess was taken for the user's answer: {answer}");
}

#[tokio::test]
async fn ids_of_questions_never_repeat() {
    let mut client = LineClient::initialized(&server(), json!({"elicitation": {}})).await;
    let mut ids = HashSet::new();
    for _ in 0..1_000 {
        client.send(&erase()).await;
        let question = client.receive().await;
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})).await;
        assert_eq!(client.receive().await["result"]["isError"], true);
        ids.insert(question["id"].as_str().expect("a text").to_owned());
    }
    assert_eq!(ids.len(), 1_000);
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question() {
    let mut client = LineClient::initialized(&server(), json!({"elicitation": {}})).await;
    client.send(&erase()).await;
    let question = client.receive().await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    let withdrawn = client.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
}

#[tokio::test]
async fn a_request_without_a_principal_is_refused() {
    let url = serve(&by_user(server())).await;
    let nameless = HttpClient::new(&url);
    let alice = nameless.with("x-user", "alice").initialize(&json!({})).await.expect("a session");
    let mut session = nameless.clone();
    if let Some(id) = alice.request(Method::GET).build().expect("a request").headers().get("mcp-session-id") {
        session = session.with("mcp-session-id", id.to_str().expect("a text"));
    }
    for client in [&nameless, &session, &nameless.with("authorization", "Bearer x")] {
        for method in [Method::GET, Method::DELETE, Method::POST, Method::PUT, Method::HEAD, Method::OPTIONS] {
            let answer = client.request(method.clone()).body("{").send().await.expect("an answer");
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method}");
            assert_eq!(answer.headers()["www-authenticate"], "Bearer");
        }
    }
    let open = serve(&by_user(server()).allow_anonymous(true)).await;
    HttpClient::new(&open).initialize(&json!({})).await.expect("an anonymous session");
}

#[tokio::test]
async fn a_session_belongs_to_the_token_that_opened_it() {
    let url = serve(&server()).await;
    let client = HttpClient::new(&url);
    let owner = client.with("authorization", "Bearer one").initialize(&json!({})).await.expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for at in 0..1_000 {
        let foreigner = owner.with("authorization", &format!("Bearer one{at}"));
        assert_eq!(foreigner.post(&list).await.status(), StatusCode::NOT_FOUND);
    }
    let mut without = client.with("mcp-protocol-version", "2025-11-25");
    let id = owner.request(Method::GET).build().expect("a request").headers()["mcp-session-id"].clone();
    without = without.with("mcp-session-id", id.to_str().expect("a text"));
    assert_eq!(without.post(&list).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(owner.post(&list).await.status(), StatusCode::OK);
}

/// Returns a server under the limits of [`Policy::text`], and the number of runs of its tool `look`.
fn limited() -> (Server, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    (limited_process(&Arc::default(), &runs), runs)
}

/// Returns the same server in another process, which shares the store.
fn limited_process(store: &Arc<MemoryStore>, runs: &Arc<AtomicUsize>) -> Server {
    let raw = RawTool {
        name: "look".to_owned(),
        description: "Look something up.".to_owned(),
        parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
    };
    let count = async |runs: &Arc<AtomicUsize>, _: Value, _: &RunContext| {
        runs.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ToolError>(json!("found"))
    };
    let tool = FunctionTool::raw_with(raw, Arc::clone(runs), count).category(tool_core::Category::Retrieval);
    let tools = ToolContext::builder().with(tool).build().expect("tools");
    let runtime = Runtime::builder(tools).policy(Policy::text()).store(Arc::clone(store));
    Server::new(runtime.build().expect("a runtime"))
}

#[tokio::test]
async fn budgets_of_a_client_hold_over_processes() {
    let (store, runs) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
    let mut clients = Vec::new();
    for _ in 0..2 {
        let url = serve(&by_user(limited_process(&store, &runs))).await;
        clients.push(HttpClient::new(&url).with("x-user", "alice"));
    }
    for (at, client) in (0..1_000).zip(clients.iter().cycle()) {
        client.call_stateless(at, "look", &json!({"text": at.to_string()}), json!({})).await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5, "the budget of a turn");
}

#[tokio::test]
async fn loops_are_counted_over_requests_without_a_session() {
    let (server, runs) = limited();
    let url = serve(&by_user(server).allow_anonymous(true)).await;
    let client = HttpClient::new(&url);
    let clients = [client.with("x-user", "alice"), client.with("authorization", "Bearer one"), client];
    for client in clients {
        runs.store(0, Ordering::Relaxed);
        for at in 0..340 {
            // What a client may vary does not make it another client.
            let client = client.with("mcp-session-id", &format!("{at}")).with("user-agent", &format!("agent/{at}"));
            let mut meta = stateless(&json!({"elicitation": {}}));
            meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(format!("client {at}"));
            let answer = client.call_stateless(at, "look", &json!({"text": "same"}), json!({"_meta": meta})).await;
            assert_eq!(answer["id"], at);
            assert_eq!(answer["result"]["isError"] == true, at >= 2, "{at}: {answer}");
        }
        assert_eq!(runs.load(Ordering::Relaxed), 2, "the third equal call is a loop");
    }
}

#[tokio::test]
async fn budgets_hold_over_requests_without_a_session() {
    let (server, runs) = limited();
    let url = serve(&server).await;
    let client = HttpClient::new(&url).with("authorization", "Bearer one");
    for at in 0..40 {
        client.call_stateless(at, "look", &json!({"text": at.to_string()}), json!({})).await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5, "the budget of a turn");
    let other = client.with("authorization", "Bearer two");
    let answer = other.call_stateless(1, "look", &json!({"text": "x"}), json!({})).await;
    assert_ne!(answer["result"]["isError"], true, "another client has a budget of its own");
}

#[tokio::test]
async fn foreigners_cannot_use_a_request_state() {
    let url = serve(&by_user(server())).await;
    let alice = HttpClient::new(&url).with("x-user", "alice");
    let what = json!({"what": "disk"});
    let asked = alice.call_stateless(1, "erase", &what, json!({})).await;
    let state = asked["result"]["requestState"].as_str().expect("a state").to_owned();
    let accept = json!({"requestState": state, "inputResponses": {"confirm": {"action": "accept"}}});
    for at in 0..1_000 {
        let mallory = alice.with("x-user", &format!("mallory {at}"));
        let answer = mallory.call_stateless(at, "erase", &what, accept.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = alice.call_stateless(2, "erase", &what, accept).await;
    assert_eq!(answer["result"]["content"][0]["text"], "erased disk", "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_with_equal_ids_get_their_own() {
    let url = serve(&server()).await;
    let client = HttpClient::new(&url);
    let mut clients = tokio::task::JoinSet::new();
    for at in 0..1_000_i64 {
        let client = client.with("authorization", &format!("Bearer {at}"));
        clients.spawn(async move {
            let answer = client.call_stateless(7, "add", &json!({"a": at, "b": 1_000_000}), json!({})).await;
            let wanted = json!((at + 1_000_000).to_string());
            usize::from(answer["id"] == 7 && answer["result"]["content"][0]["text"] == wanted)
        });
    }
    assert_eq!(clients.join_all().await.into_iter().sum::<usize>(), 1_000);
}
