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
    let ids = guesses
        .chain(mutants)
        .chain([json!(id)])
        .collect::<Vec<_>>();
    let accept = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
    let fail =
        |id: &Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}});
    ids.iter().map(accept).chain(ids.iter().map(fail)).collect()
}

#[tokio::test]
async fn foreigners_cannot_answer_read_or_end_a_session() {
    let url = serve(&by_user(server())).await;
    let alice = HttpClient::new(&url)
        .with("x-user", "alice")
        .initialize(&json!({"elicitation": {}}))
        .await;
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
            let read = mallory
                .request(Method::GET)
                .header("last-event-id", event)
                .send()
                .await
                .expect("an answer");
            refused += usize::from(read.status() == StatusCode::NOT_FOUND);
        }
        for method in [Method::GET, Method::DELETE] {
            tried += 1;
            let answer = mallory.request(method).send().await.expect("an answer");
            refused += usize::from(answer.status() == StatusCode::NOT_FOUND);
        }
    }
    // The opener's own requests with a second session id are refused too, as the two parties may read different ones.
    let twice = alice
        .request(Method::GET)
        .header("mcp-session-id", "other")
        .send()
        .await
        .expect("an answer");
    assert_eq!(twice.status(), StatusCode::NOT_FOUND);
    assert!(tried > 1_000, "{tried}");
    assert_eq!(refused, tried);
    let accept = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
    assert_eq!(alice.post(&accept).await.status(), StatusCode::ACCEPTED);
    let answer = events.next().await.expect("an answer");
    assert_eq!(
        answer["result"]["content"][0]["text"], "erased disk",
        "the session and the question are still open"
    );
}

#[tokio::test]
async fn guessed_ids_answer_no_question() {
    let url = serve(&server()).await;
    let client = HttpClient::new(&url)
        .initialize(&json!({"elicitation": {}}))
        .await
        .expect("a session");
    let (mut events, id) = asked(&client).await;
    assert!(
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{id}"
    );
    let guesses = answers(&id)
        .into_iter()
        .filter(|answer| answer["id"] != *id)
        .collect::<Vec<_>>();
    let errors = guesses
        .iter()
        .filter(|guess| guess.get("error").is_some())
        .count();
    assert!(
        errors > 500 && guesses.len() == 2 * errors,
        "{errors} of {}",
        guesses.len()
    );
    for guess in &guesses {
        assert_eq!(client.post(guess).await.status(), StatusCode::ACCEPTED);
    }
    // The question is still open, so no guess was taken for the user's answer.
    let accept = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
    assert_eq!(client.post(&accept).await.status(), StatusCode::ACCEPTED);
    let answer = events.next().await.expect("an answer");
    assert_eq!(
        answer["result"]["content"][0]["text"], "erased disk",
        "{answer}"
    );
    let refusals = [
        json!({"result": {"action": "decline"}}),
        json!({"error": {"code": -1, "message": "no"}}),
    ];
    for mut refusal in refusals {
        let (mut events, id) = asked(&client).await;
        for guess in guesses.iter().filter(|guess| guess.get("result").is_some()) {
            assert_eq!(client.post(guess).await.status(), StatusCode::ACCEPTED);
        }
        (refusal["jsonrpc"], refusal["id"]) = (json!("2.0"), json!(id));
        assert_eq!(client.post(&refusal).await.status(), StatusCode::ACCEPTED);
        let answer = events.next().await.expect("an answer");
        assert_eq!(
            answer["result"]["isError"], true,
            "no guess approved the call: {answer}"
        );
        assert!(
            answer["result"]["content"][0]["text"]
                .as_str()
                .is_some_and(|text| text.contains("refused")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn ids_of_questions_never_repeat() {
    let mut client = LineClient::initialized(&server(), json!({"elicitation": {}})).await;
    let mut ids = HashSet::new();
    for _ in 0..1_000 {
        client.send(&erase()).await;
        let question = client.receive().await;
        client
            .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}))
            .await;
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
    let alice = nameless
        .with("x-user", "alice")
        .initialize(&json!({}))
        .await
        .expect("a session");
    let session = nameless.with("mcp-session-id", &session_id(&alice));
    let empty = nameless.with("x-user", "");
    for client in [
        &nameless,
        &session,
        &nameless.with("authorization", "Bearer x"),
        &empty,
    ] {
        for method in [
            Method::GET,
            Method::DELETE,
            Method::POST,
            Method::PUT,
            Method::HEAD,
            Method::OPTIONS,
        ] {
            let answer = client
                .request(method.clone())
                .body("{")
                .send()
                .await
                .expect("an answer");
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method}");
            assert_eq!(answer.headers()["www-authenticate"], "Bearer");
        }
    }
    let open = HttpClient::new(&serve(&by_user(server()).allow_anonymous(true)).await);
    let anonymous = open
        .initialize(&json!({}))
        .await
        .expect("an anonymous session");
    assert_eq!(anonymous.post(&list()).await.status(), StatusCode::OK);
    for at in 0..1_000 {
        let blank = open
            .with("x-user", &" ".repeat(at % 7))
            .with("authorization", &format!("Bearer {at}"));
        let answer = blank.post(&list()).await;
        assert_eq!(
            answer.status(),
            StatusCode::UNAUTHORIZED,
            "an empty principal is not an anonymous client"
        );
        assert!(answer.text().await.expect("a text").contains("sign in"));
    }
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

fn session_id(client: &HttpClient) -> String {
    let request = client.request(Method::GET).build().expect("a request");
    request.headers()["mcp-session-id"]
        .to_str()
        .expect("a text")
        .to_owned()
}

/// Returns the status, the type and the text of an answer.
async fn told(answer: reqwest::Response) -> (StatusCode, Option<String>, String) {
    let kind = answer
        .headers()
        .get("content-type")
        .map(|kind| kind.to_str().expect("a text").to_owned());
    (answer.status(), kind, answer.text().await.expect("a text"))
}

#[tokio::test]
async fn absent_foreign_and_ended_sessions_look_alike() {
    let url = serve(&by_user(server())).await;
    let client = HttpClient::new(&url);
    let alice = client
        .with("x-user", "alice")
        .initialize(&json!({}))
        .await
        .expect("a session");
    let ended = client
        .with("x-user", "mallory")
        .initialize(&json!({}))
        .await
        .expect("a session");
    assert_eq!(
        ended
            .request(Method::DELETE)
            .send()
            .await
            .expect("an answer")
            .status(),
        StatusCode::NO_CONTENT
    );
    let absent = [
        "",
        "0",
        "x",
        "../mcp",
        "00000000-0000-4000-8000-000000000000",
    ]
    .map(str::to_owned);
    let ids = [session_id(&alice), session_id(&ended)]
        .into_iter()
        .chain(absent)
        .collect::<Vec<_>>();
    let bodies = [
        erase(),
        list(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!([]),
        json!({"id": 1}),
    ];
    let (mut answers, mut tried) = (HashSet::new(), 0);
    for (at, id) in ids.iter().cycle().take(210).enumerate() {
        let mallory = client
            .with("x-user", &format!("mallory {at}"))
            .with("mcp-session-id", id);
        let versions = [
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "1",
            "2025-11-26",
        ];
        let mallory = mallory.with(
            "mcp-protocol-version",
            versions[at / ids.len() % versions.len()],
        );
        for body in &bodies {
            tried += 1;
            answers.insert(told(mallory.post(body).await).await);
        }
        for method in [Method::GET, Method::DELETE, Method::PUT, Method::PATCH] {
            tried += 1;
            answers.insert(told(mallory.request(method).send().await.expect("an answer")).await);
        }
    }
    assert_eq!((answers.len(), tried), (1, 1_890), "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|(status, ..)| *status == StatusCode::NOT_FOUND),
        "{answers:?}"
    );
    assert_eq!(alice.post(&list()).await.status(), StatusCode::OK);
    // In a revision without sessions, no id of a session has a meaning.
    for id in &ids {
        let mallory = client.with("x-user", "mallory").with("mcp-session-id", id);
        let answer = mallory
            .call_stateless(1, "add", &json!({"a": 1, "b": 2}), json!({}))
            .await;
        assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
    }
}

#[tokio::test]
async fn no_token_takes_the_session_of_a_principal() {
    let url = serve(
        &by_user(server())
            .allow_anonymous(true)
            .max_unchecked_sessions(1_000),
    )
    .await;
    let (client, sum) = (HttpClient::new(&url), json!({"a": 1, "b": 2}));
    for at in 0..1_000 {
        let user = format!("user {at}");
        let token = client.with(
            "authorization",
            &format!("{} {user}", ["principal", "Bearer", "token"][at % 3]),
        );
        for client in [token, client.with("x-user", &user)] {
            let answer = client.call_stateless(1, "add", &sum, json!({})).await;
            assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
        }
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_token_that_opened_it() {
    let url = serve(&server()).await;
    let client = HttpClient::new(&url);
    let owner = client
        .with("authorization", "Bearer one")
        .initialize(&json!({}))
        .await
        .expect("a session");
    let list = list();
    for at in 0..1_000 {
        let foreigner = owner.with("authorization", &format!("Bearer one{at}"));
        assert_eq!(foreigner.post(&list).await.status(), StatusCode::NOT_FOUND);
    }
    let without = client
        .with("mcp-protocol-version", "2025-11-25")
        .with("mcp-session-id", &session_id(&owner));
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
    let tool = FunctionTool::raw_with(raw, Arc::clone(runs), count)
        .category(tool_core::Category::Retrieval);
    let tools = ToolContext::builder().with(tool).build().expect("tools");
    let runtime = Runtime::builder(tools)
        .policy(Policy::text())
        .store(Arc::clone(store));
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
        client
            .call_stateless(at, "look", &json!({"text": at.to_string()}), json!({}))
            .await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5, "the budget of a turn");
}

#[tokio::test]
async fn a_process_that_ends_begins_no_turn() {
    let (store, runs) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
    let bound = by_user(limited_process(&store, &runs))
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let first = HttpClient::new(&bound.url().expect("an address"));
    let serving = tokio::spawn(bound.serve());
    let second = HttpClient::new(&serve(&by_user(limited_process(&store, &runs))).await);
    let users = (0..200).map(|at| format!("user {at}")).collect::<Vec<_>>();
    let spend = async |client: &HttpClient, tag: &str| {
        for (user, at) in users
            .iter()
            .flat_map(|user| (0..5).map(move |at| (user, at)))
        {
            client
                .with("x-user", user)
                .call_stateless(
                    at,
                    "look",
                    &json!({"text": format!("{tag} {at}")}),
                    json!({}),
                )
                .await;
        }
        runs.swap(0, Ordering::Relaxed)
    };
    assert_eq!(
        spend(&first, "first").await,
        1_000,
        "the budget of each user's turn"
    );
    serving.abort();
    assert!(serving.await.is_err_and(|error| error.is_cancelled()));
    assert_eq!(
        spend(&second, "second").await,
        0,
        "each user is in the same turn"
    );
}

#[tokio::test]
async fn changed_tokens_open_no_further_sessions() {
    let (server, runs) = limited();
    let client = HttpClient::new(&serve(&server).await);
    let mut refused = 0;
    for at in 0..1_000 {
        let client = client.with("authorization", &format!("Bearer {at}"));
        let answer = client
            .call_stateless(at, "look", &json!({"text": at.to_string()}), json!({}))
            .await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        refused += usize::from(message.contains("tokens are not checked, have 16 sessions open"));
    }
    assert_eq!((refused, runs.load(Ordering::Relaxed)), (984, 16));
    let answer = client
        .with("authorization", "Bearer x")
        .initialize(&json!({}))
        .await
        .err()
        .expect("a refusal");
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    for at in 0..1_000 {
        // Those of another spelling, and those that have a session, belong to the sixteen.
        let client = client.with("authorization", &format!("bearer  {}", at % 16));
        client
            .call_stateless(
                at,
                "look",
                &json!({"text": (at + 1_000).to_string()}),
                json!({}),
            )
            .await;
    }
    assert_eq!(
        runs.load(Ordering::Relaxed),
        80,
        "the budgets of sixteen turns"
    );
}

#[tokio::test]
async fn loops_are_counted_over_requests_without_a_session() {
    let (server, runs) = limited();
    let url = serve(&by_user(server).allow_anonymous(true)).await;
    let client = HttpClient::new(&url);
    let clients = [
        client.with("x-user", "alice"),
        client.with("authorization", "Bearer one"),
        client,
    ];
    for client in clients {
        runs.store(0, Ordering::Relaxed);
        for at in 0..340 {
            // What a client may vary does not make it another client.
            let client = client
                .with("mcp-session-id", &format!("{at}"))
                .with("user-agent", &format!("agent/{at}"));
            let mut meta = stateless(&json!({"elicitation": {}}));
            meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(format!("client {at}"));
            let answer = client
                .call_stateless(at, "look", &json!({"text": "same"}), json!({"_meta": meta}))
                .await;
            assert_eq!(answer["id"], at);
            assert_eq!(
                answer["result"]["isError"] == true,
                at >= 2,
                "{at}: {answer}"
            );
        }
        assert_eq!(
            runs.load(Ordering::Relaxed),
            2,
            "the third equal call is a loop"
        );
    }
}

#[tokio::test]
async fn budgets_hold_over_requests_without_a_session() {
    let (server, runs) = limited();
    let url = serve(&server).await;
    let client = HttpClient::new(&url).with("authorization", "Bearer one");
    for at in 0..40 {
        client
            .call_stateless(at, "look", &json!({"text": at.to_string()}), json!({}))
            .await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5, "the budget of a turn");
    let other = client.with("authorization", "Bearer two");
    let answer = other
        .call_stateless(1, "look", &json!({"text": "x"}), json!({}))
        .await;
    assert_ne!(
        answer["result"]["isError"], true,
        "another client has a budget of its own"
    );
}

#[tokio::test]
async fn foreigners_cannot_use_a_request_state() {
    let url = serve(&by_user(server())).await;
    let alice = HttpClient::new(&url).with("x-user", "alice");
    let what = json!({"what": "disk"});
    let asked = alice.call_stateless(1, "erase", &what, json!({})).await;
    let state = asked["result"]["requestState"]
        .as_str()
        .expect("a state")
        .to_owned();
    let accept =
        json!({"requestState": state, "inputResponses": {"confirm": {"action": "accept"}}});
    for at in 0..1_000 {
        let mallory = alice.with("x-user", &format!("mallory {at}"));
        let answer = mallory
            .call_stateless(at, "erase", &what, accept.clone())
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = alice.call_stateless(2, "erase", &what, accept).await;
    assert_eq!(
        answer["result"]["content"][0]["text"], "erased disk",
        "{answer}"
    );
}

#[tokio::test]
async fn anonymous_clients_redeem_no_state_of_each_other() {
    let client = HttpClient::new(&serve(&server()).await);
    let (what, accept) = (
        json!({"what": "disk"}),
        json!({"confirm": {"action": "accept"}}),
    );
    let ask = async || {
        let asked = client.call_stateless(1, "erase", &what, json!({})).await;
        asked["result"]["requestState"]
            .as_str()
            .expect("a state")
            .to_owned()
    };
    // The clients share a session. Each has a call that waits.
    let (mallory, alice) = (ask().await, ask().await);
    let alias = ..=alice.rfind('-').expect("a digest");
    let mutants = alice[alias].char_indices().flat_map(|(at, right)| {
        let others = "0123456789abcdef-."
            .chars()
            .filter(move |other| *other != right)
            .take(12);
        others.map(move |other| (at, other))
    });
    let mutants = mutants.map(|(at, other)| format!("{}{other}{}", &alice[..at], &alice[at + 1..]));
    let cuts = (0..alice[alias].len()).map(|at| alice[..at].to_owned());
    let spliced =
        (8..alice[alias].len() - 8).map(|at| format!("{}{}", &mallory[..at], &alice[at..]));
    let guesses = mutants.chain(cuts).chain(spliced).collect::<Vec<_>>();
    assert!(guesses.len() > 1_000, "{}", guesses.len());
    for (at, guess) in (0..).zip(&guesses) {
        let more = json!({"requestState": guess, "inputResponses": accept});
        let answer = client.call_stateless(at, "erase", &what, more).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let more = json!({"requestState": alice, "inputResponses": accept});
    let answer = client.call_stateless(1, "erase", &what, more.clone()).await;
    assert_eq!(
        answer["result"]["content"][0]["text"], "erased disk",
        "{answer}"
    );
    let again = client.call_stateless(1, "erase", &what, more).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_with_equal_ids_get_their_own() {
    let url = serve(&server().max_unchecked_sessions(1_000)).await;
    let client = HttpClient::new(&url);
    let mut clients = tokio::task::JoinSet::new();
    for at in 0..1_000_i64 {
        let client = client.with("authorization", &format!("Bearer {at}"));
        clients.spawn(async move {
            let answer = client
                .call_stateless(7, "add", &json!({"a": at, "b": 1_000_000}), json!({}))
                .await;
            let wanted = json!((at + 1_000_000).to_string());
            usize::from(answer["id"] == 7 && answer["result"]["content"][0]["text"] == wanted)
        });
    }
    assert_eq!(clients.join_all().await.into_iter().sum::<usize>(), 1_000);
}
