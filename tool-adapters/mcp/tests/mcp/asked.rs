//! What an imported server asks of its client, in the middle of a call: the user, the model and the folders.

use super::http::serve;
use super::scripted::ScriptedServer;
use super::support::LineClient;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::split;
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinHandle;
use tool_adapters::mcp::{McpClient, SamplingBudget, Server};
use tool_core::call::{
    Answer, AskError, LogLevel, LogMessage, Question, Root, RootsRequest, SamplingAnswer,
    SamplingRequest,
};
use tool_core::tool::TextArguments;
use tool_core::trace::TokenUsage;
use tool_core::{
    Content, ErrorKind, Mode, RunContext, Runtime, Session, ToolCall, ToolContext, ToolError,
    ToolResponse, Toolset, tool,
};

/// The questions that a user was asked, and the answer that is given to each.
#[derive(Clone)]
struct User {
    asked: Arc<Mutex<Vec<Question>>>,
    answer: Answer<Value>,
}

impl User {
    fn new(answer: Answer<Value>) -> Self
    where
        Value: Clone,
    {
        Self {
            asked: Arc::default(),
            answer,
        }
    }

    fn asked(&self) -> Vec<Question> {
        self.asked.lock().expect("no panic").clone()
    }
}

async fn session(
    toolset: impl Toolset,
    configure: impl FnOnce(tool_core::session::RuntimeBuilder) -> tool_core::session::RuntimeBuilder,
) -> Session {
    let tools = ToolContext::builder()
        .with(toolset)
        .build()
        .expect("sound tools");
    let policy = Server::policy();
    let runtime = configure(Runtime::builder(tools).policy(policy))
        .build()
        .expect("a runtime");
    runtime.session("s-1", Mode::Text).await.expect("a session")
}

/// Opens a session whose questions `user` answers.
async fn session_of(toolset: impl Toolset, user: &User) -> Session {
    let user = user.clone();
    session(toolset, |runtime| {
        runtime.on_question(move |question: Question| {
            user.asked.lock().expect("no panic").push(question);
            let answer = user.answer.clone();
            async move { Ok(answer) }
        })
    })
    .await
}

fn call(session: &Session, id: &str, tool: &str) -> JoinHandle<ToolResponse> {
    let (session, call) = (session.clone(), ToolCall::new(id, tool, "{}"));
    tokio::spawn(async move { session.call(call).await })
}

fn form() -> Value {
    json!({"type": "object", "properties": {"branch": {"type": "string", "title": "Branch"}}, "required": ["branch"]})
}

fn question(text: &str) -> Value {
    json!({"message": text, "requestedSchema": form()})
}

/// Has a server ask in a call, and returns the client's answer.
async fn asked_in_a_call(
    configure: impl FnOnce(McpClient) -> McpClient,
    user: &User,
    method: &str,
    params: Value,
) -> Value {
    let (mut server, imported) = ScriptedServer::import(configure).await;
    let session = session_of(imported, user).await;
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    server.request(json!("q-1"), method, params).await;
    let answer = server.receive().await;
    assert_eq!(answer["id"], "q-1");
    server.finish(&begun, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
    answer
}

#[tokio::test]
async fn the_user_of_the_call_answers_the_server() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let answer = asked_in_a_call(
        McpClient::allow_elicitation,
        &user,
        "elicitation/create",
        question("Which\u{202e} one?"),
    )
    .await;
    assert_eq!(
        answer["result"],
        json!({"action": "accept", "content": {"branch": "main"}})
    );
    let asked = user.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].message, r"`acme` asks: Which\u{202e} one?");
    assert_eq!(
        (
            &*asked[0].call_id,
            &*asked[0].tool,
            asked[0].asked_by.as_deref()
        ),
        ("c-1", "work", Some("acme"))
    );
    assert_eq!(asked[0].schema, form());
    for (given, action) in [(Answer::Declined, "decline"), (Answer::Cancelled, "cancel")] {
        let answer = asked_in_a_call(
            McpClient::allow_elicitation,
            &User::new(given),
            "elicitation/create",
            question("?"),
        )
        .await;
        assert_eq!(answer["result"], json!({"action": action}));
    }
}

#[tokio::test]
async fn a_server_asks_nothing_by_default() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let sampling = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 9});
    for (method, params) in [
        ("elicitation/create", question("?")),
        ("sampling/createMessage", sampling),
        ("roots/list", json!({})),
    ] {
        let answer = asked_in_a_call(|client| client, &user, method, params).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    assert!(user.asked().is_empty());
    let (server, _imported) = ScriptedServer::import(|client| client).await;
    assert_eq!(server.begun["capabilities"], json!({}));
    let (server, _imported) = ScriptedServer::import(|client| {
        client
            .allow_elicitation()
            .allow_sampling(SamplingBudget::new(1, 1))
            .roots(["file:///a"])
    })
    .await;
    assert_eq!(
        server.begun["capabilities"],
        json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}})
    );
}

#[tokio::test]
async fn hostile_questions_do_not_reach_the_user() {
    let user = User::new(Answer::Accepted(json!({})));
    let with = |schema: Value| json!({"message": "?", "requestedSchema": schema});
    let nested = json!({"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {"type": "string"}}}}});
    let many = (0..1_000)
        .map(|at| (format!("x{at}"), json!({"type": "string"})))
        .collect::<serde_json::Map<_, _>>();
    let mut hostile = vec![
        with(nested),
        with(json!({"type": "object", "properties": many})),
        with(json!({"type": "object", "properties": {"x": {"$ref": "#"}}})),
        with(json!({"type": "array"})),
        with(json!(7)),
        json!({"message": "?"}),
        json!({"requestedSchema": form()}),
        json!({"message": 7, "requestedSchema": form()}),
        json!({}),
        json!({"mode": "window", "message": "?", "requestedSchema": form()}),
        json!({"mode": 7, "message": "?", "requestedSchema": form()}),
    ];
    for url in [
        "javascript:alert(1)",
        "http://evil.example/",
        "https://bank.example@evil.example/",
        "x",
        "",
    ] {
        hostile.push(json!({"mode": "url", "message": "?", "url": url, "elicitationId": "1"}));
    }
    let allow = |client: McpClient| client.allow_elicitation().allow_url_elicitation();
    for params in hostile {
        let answer = asked_in_a_call(allow, &user, "elicitation/create", params.clone()).await;
        assert!(answer["error"]["code"].is_i64(), "{params}: {answer}");
        assert_eq!(user.asked(), [], "{params}");
    }
}

#[tokio::test]
async fn a_question_of_an_unknown_mode_is_refused_in_a_batch() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let (mut server, imported) = ScriptedServer::import(McpClient::allow_elicitation).await;
    let session = session_of(imported, &user).await;
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    let asked = [("window", "q-1"), ("form", "q-2")].map(|(mode, id)| {
        let params = json!({"mode": mode, "message": "?", "requestedSchema": form()});
        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params})
    });
    server.send(json!(asked)).await;
    let mut answers = [server.receive().await, server.receive().await];
    answers.sort_by_key(|answer| answer["id"].to_string());
    let refused = answers[0]["error"]["message"].as_str();
    assert!(
        refused.is_some_and(|text| text.contains("`form` or `url`")),
        "{answers:?}"
    );
    assert_eq!(
        (answers[1]["result"]["action"].as_str(), user.asked().len()),
        (Some("accept"), 1)
    );
    server.finish(&begun, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_page_is_shown_with_its_whole_address() {
    let user = User::new(Answer::Accepted(json!({"ignored": 1})));
    let params = json!({
        "mode": "url", "message": "Sign in", "url": "https://\u{430}cme.example/device?c=1", "elicitationId": "e-1"
    });
    let allow = |client: McpClient| client.allow_url_elicitation();
    let answer = asked_in_a_call(allow, &user, "elicitation/create", params.clone()).await;
    assert_eq!(answer["result"], json!({"action": "accept"}));
    assert_eq!(
        user.asked()[0].url.as_deref(),
        Some("https://xn--cme-5cd.example/device?c=1")
    );
    let answer = asked_in_a_call(
        McpClient::allow_elicitation,
        &user,
        "elicitation/create",
        params,
    )
    .await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("mode `url`")),
        "{answer}"
    );
}

/// Over HTTP, in the stream of the call.
#[tokio::test]
async fn a_question_of_an_unknown_mode_is_refused_over_http() {
    let answered = Arc::new((Mutex::new(Value::Null), Notify::new()));
    let own = Arc::clone(&answered);
    let app = axum::Router::new().fallback(move |body: String| {
        let message = serde_json::from_str::<Value>(&body).unwrap_or_default();
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let response = match message["method"].as_str() {
            Some("initialize") => {
                let info = json!({"name": "web", "version": "1"});
                axum::Json(answer(
                    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}),
                ))
                .into_response()
            }
            Some("tools/list") => {
                axum::Json(answer(json!({"tools": [{"name": "work", "inputSchema": {"type": "object"}}]})))
                    .into_response()
            }
            Some("tools/call") => {
                let params = json!({"mode": "window", "message": "?", "requestedSchema": form()});
                let asked = json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": params});
                let (done, own) = (answer(json!({"content": []})), Arc::clone(&own));
                let events = stream::iter([asked]).chain(stream::once(async move {
                    own.1.notified().await;
                    done
                }));
                let events = events.map(|event| Ok::<_, std::io::Error>(format!("data: {event}\n\n")));
                ([("content-type", "text/event-stream")], axum::body::Body::from_stream(events)).into_response()
            }
            Some(_) => StatusCode::ACCEPTED.into_response(),
            None if message["id"] == "q-1" => {
                *own.0.lock().expect("no panic") = message.clone();
                own.1.notify_one();
                StatusCode::ACCEPTED.into_response()
            }
            None => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        };
        std::future::ready(response)
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let imported = McpClient::url(url)
        .allow_elicitation()
        .connect()
        .await
        .expect("an import");
    let session = session_of(imported, &user).await;
    assert!(
        call(&session, "c-1", "work")
            .await
            .expect("no panic")
            .is_ok()
    );
    let answer = answered.0.lock().expect("no panic");
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("`form` or `url`")),
        "{answer}"
    );
    assert!(user.asked().is_empty());
}

fn page(at: usize) -> Value {
    json!({"mode": "url", "elicitationId": format!("e-{at}"), "message": "Sign in", "url": format!("https://acme.example/{at}")})
}

/// Calls a tool, and has the server answer that it needs the user on these pages before.
async fn call_needing(
    pages: &Value,
    user: &User,
    configure: impl FnOnce(McpClient) -> McpClient,
) -> (ScriptedServer, Session, JoinHandle<ToolResponse>, Value) {
    let (mut server, imported) = ScriptedServer::import(configure).await;
    let session = session_of(imported, user).await;
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    need(&mut server, &begun, pages).await;
    (server, session, calling, begun)
}

async fn need(server: &mut ScriptedServer, call: &Value, pages: &Value) {
    let error = json!({"code": -32042, "message": "canary", "data": {"elicitations": pages}});
    server
        .send(json!({"jsonrpc": "2.0", "id": call["id"], "error": error}))
        .await;
}

#[tokio::test]
async fn a_call_that_needs_pages_is_made_again_after_them() {
    let (user, pages) = (
        User::new(Answer::Accepted(json!({}))),
        json!([page(1), page(2)]),
    );
    let (mut server, _session, calling, first) =
        call_needing(&pages, &user, McpClient::allow_url_elicitation).await;
    let again = server.receive_method("tools/call").await;
    assert_eq!(
        (&again["params"]["name"], &again["params"]["arguments"]),
        (&json!("work"), &json!({}))
    );
    assert_ne!(again["id"], first["id"]);
    server.finish(&again, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
    let asked = user
        .asked()
        .into_iter()
        .map(|question| (question.message, question.url.unwrap_or_default()));
    let question = |at| {
        (
            "`acme` asks: Sign in".to_owned(),
            format!("https://acme.example/{at}"),
        )
    };
    assert_eq!(asked.collect::<Vec<_>>(), [question(1), question(2)]);
}

#[tokio::test]
async fn a_page_that_is_needed_twice_ends_the_call() {
    let (user, pages) = (User::new(Answer::Accepted(json!({}))), json!([page(1)]));
    let (mut server, _session, calling, _) =
        call_needing(&pages, &user, McpClient::allow_url_elicitation).await;
    let again = server.receive_method("tools/call").await;
    need(&mut server, &again, &pages).await;
    let response = calling.await.expect("no panic");
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("has not finished")),
        "{response:?}"
    );
    assert_eq!(user.asked().len(), 1);
}

#[tokio::test]
async fn a_task_that_needs_pages_is_run_again_after_them() {
    let user = User::new(Answer::Accepted(json!({})));
    let allow = |client: McpClient| client.allow_url_elicitation().run_as_tasks(["long"]);
    let (mut server, imported) = ScriptedServer::import(allow).await;
    let session = session_of(imported, &user).await;
    let calling = call(&session, "c-1", "long");
    let begun = server.receive_method("tools/call").await;
    server
        .answer(
            &begun,
            json!({"task": {"taskId": "t-1", "status": "failed"}}),
        )
        .await;
    let result = server.receive_method("tasks/result").await;
    need(&mut server, &result, &json!([page(1)])).await;
    let again = server.receive_method("tools/call").await;
    assert_eq!(again["params"]["task"], begun["params"]["task"]);
    need(&mut server, &again, &json!([page(1)])).await;
    let response = calling.await.expect("no panic");
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("has not finished")),
        "{response:?}"
    );
    assert_eq!(user.asked().len(), 1);
    let calling = call(&session, "c-2", "long");
    let begun = server.receive_method("tools/call").await;
    need(&mut server, &begun, &json!([page(2)])).await;
    let again = server.receive_method("tools/call").await;
    server
        .answer(
            &again,
            json!({"task": {"taskId": "t-2", "status": "completed"}}),
        )
        .await;
    let result = server.receive_method("tasks/result").await;
    server.finish(&result, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn prompts_and_resources_that_need_pages_wait_for_them() {
    let user = User::new(Answer::Accepted(json!({})));
    let lists = json!({
        "tools/list": {"tools": []}, "prompts/list": {"prompts": [{"name": "triage"}]},
        "resources/list": {"resources": [{"uri": "issue://7", "name": "seven"}]}
    });
    let (mut server, imported) =
        ScriptedServer::import_lists(lists, McpClient::allow_url_elicitation).await;
    let session = session_of(imported, &user).await;
    let serve = async {
        let message = json!({"role": "user", "content": {"type": "text", "text": "Look"}});
        let answers = [
            ("prompts/get", json!({"messages": [message]})),
            (
                "resources/read",
                json!({"contents": [{"uri": "issue://7", "text": "seven"}]}),
            ),
        ];
        for (method, result) in answers {
            let asked = server.receive_method(method).await;
            need(&mut server, &asked, &json!([page(1)])).await;
            let again = server.receive_method(method).await;
            server.answer(&again, result).await;
        }
    };
    let reads = async {
        assert_eq!(
            session
                .get_prompt("triage", TextArguments::new())
                .await
                .expect("messages")
                .len(),
            1
        );
        assert_eq!(
            session
                .read_resource("issue://7")
                .await
                .expect("contents")
                .len(),
            1
        );
    };
    tokio::join!(serve, reads);
    assert_eq!(user.asked().len(), 2);
}

#[tokio::test]
async fn a_call_is_not_made_again_without_its_pages() {
    type Configure = fn(McpClient) -> McpClient;
    let (yes, no) = (Answer::Accepted(json!({})), Answer::Declined);
    let evil = json!({"mode": "url", "message": "?", "url": "https://bank.example@evil.example/"});
    let (one, urls) = (
        json!([page(1)]),
        McpClient::allow_url_elicitation as Configure,
    );
    let cases: [(Configure, Answer<Value>, Value, &str, usize); 9] = [
        (
            |client| client,
            yes.clone(),
            one.clone(),
            "does not allow this server to ask",
            0,
        ),
        (
            McpClient::allow_elicitation,
            yes.clone(),
            one.clone(),
            "shows no questions of the mode `url`",
            0,
        ),
        (urls, no, one.clone(), "declined", 1),
        (urls, Answer::Cancelled, one, "closed the form", 1),
        (
            urls,
            yes.clone(),
            json!([page(1), evil]),
            "expected an `https` URL",
            1,
        ),
        (urls, yes.clone(), json!([]), "1 to 8 pages", 0),
        (
            urls,
            yes.clone(),
            json!((0..9).map(page).collect::<Vec<_>>()),
            "1 to 8 pages",
            0,
        ),
        (
            urls,
            yes.clone(),
            json!("https://acme.example/"),
            "1 to 8 pages",
            0,
        ),
        (
            |client| client.allow_url_elicitation().max_questions(1),
            yes,
            json!([page(1), page(2)]),
            "1 questions",
            1,
        ),
    ];
    for (configure, answer, pages, why, asked) in cases {
        let user = User::new(answer);
        let (mut server, session, calling, _) = call_needing(&pages, &user, configure).await;
        let response = calling.await.expect("no panic");
        assert!(
            response
                .error()
                .is_some_and(|error| error.message.contains(why)),
            "{why}: {response:?}"
        );
        assert_eq!(user.asked().len(), asked, "{why}");
        let other = call(&session, "c-2", "long");
        let next = server.receive_method("tools/call").await;
        assert_eq!(
            next["params"]["name"], "long",
            "{why}: the call was made again"
        );
        server.finish(&next, "done").await;
        assert!(other.await.expect("no panic").is_ok());
    }
}

#[tokio::test]
async fn answers_that_do_not_fit_reach_no_server() {
    for content in [
        json!({}),
        json!({"branch": 7.5, "admin": true}),
        json!({"branch": "x", "admin": true}),
        json!("x"),
    ] {
        let user = User::new(Answer::Accepted(content.clone()));
        let answer = asked_in_a_call(
            McpClient::allow_elicitation,
            &user,
            "elicitation/create",
            question("?"),
        )
        .await;
        assert!(answer.get("result").is_none(), "{content}: {answer}");
    }
}

#[tokio::test]
async fn a_request_of_no_known_call_is_refused() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let (mut server, imported) = ScriptedServer::import(McpClient::allow_elicitation).await;
    let session = session_of(imported, &user).await;
    server
        .request(json!(1), "elicitation/create", question("?"))
        .await;
    let answer = server.receive().await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("no call is in flight")),
        "{answer}"
    );
    let calls = [call(&session, "c-1", "work"), call(&session, "c-2", "work")];
    let begun = [
        server.receive_method("tools/call").await,
        server.receive_method("tools/call").await,
    ];
    // The progress token of a request is the server's own, so it tells of no call.
    let mut named = question("?");
    named["_meta"] = json!({"progressToken": begun[0]["params"]["_meta"]["progressToken"]});
    for params in [question("?"), named] {
        server.request(json!(2), "elicitation/create", params).await;
        let answer = server.receive().await;
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.starts_with("several calls")),
            "{answer}"
        );
    }
    assert!(user.asked().is_empty());
    for begun in &begun {
        server.finish(begun, "done").await;
    }
    for calling in calls {
        assert!(calling.await.expect("no panic").is_ok());
    }
}

/// Opens a session whose user never answers. Returns it with what is notified when a question is asked, and withdrawn.
async fn waiting_session(toolset: impl Toolset) -> (Session, Arc<Notify>, Arc<Notify>) {
    struct Withdrawn(Arc<Notify>);
    impl Drop for Withdrawn {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (asked, withdrawn) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (on_asked, on_withdrawn) = (Arc::clone(&asked), Arc::clone(&withdrawn));
    let session = session(toolset, |runtime| {
        runtime.on_question(move |_: Question| {
            let (asked, withdrawn) = (Arc::clone(&on_asked), Withdrawn(Arc::clone(&on_withdrawn)));
            async move {
                asked.notify_one();
                let _withdrawn = withdrawn;
                std::future::pending::<Result<Answer<Value>, AskError>>().await
            }
        })
    });
    (session.await, asked, withdrawn)
}

#[tokio::test]
async fn a_server_withdraws_its_question() {
    let (mut server, imported) = ScriptedServer::import(McpClient::allow_elicitation).await;
    let (session, asked, withdrawn) = waiting_session(imported).await;
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    server
        .request(json!("q-1"), "elicitation/create", question("?"))
        .await;
    asked.notified().await;
    server
        .notify("notifications/cancelled", json!({"requestId": "q-1"}))
        .await;
    withdrawn.notified().await;
    server.finish(&begun, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_question_ends_with_its_call() {
    let (mut server, imported) = ScriptedServer::import(McpClient::allow_elicitation).await;
    let (session, asked, withdrawn) = waiting_session(imported).await;
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    server
        .request(json!("q-1"), "elicitation/create", question("?"))
        .await;
    asked.notified().await;
    server.finish(&begun, "done").await;
    withdrawn.notified().await;
    assert!(calling.await.expect("no panic").is_ok());
    let answer = server.receive().await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("has ended")),
        "{answer}"
    );
}

// R-Q12
#[tokio::test]
async fn a_question_after_a_given_up_call_reaches_no_other_user() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let (mut server, imported) = ScriptedServer::import(McpClient::allow_elicitation).await;
    let session = session_of(imported, &user).await;
    let given_up = call(&session, "c-1", "work");
    let first = server.receive_method("tools/call").await;
    given_up.abort();
    server.receive_method("notifications/cancelled").await;

    let calling = call(&session, "c-2", "work");
    let second = server.receive_method("tools/call").await;
    server
        .request(json!(1), "elicitation/create", question("?"))
        .await;
    let refused = server.receive().await;
    assert!(refused.get("error").is_some(), "{refused}");
    assert!(user.asked().is_empty());

    server.finish(&first, "late").await;
    server
        .request(json!(2), "elicitation/create", question("?"))
        .await;
    let answered = server.receive().await;
    assert_eq!(answered["result"]["action"], "accept", "{answered}");
    server.finish(&second, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn questions_of_a_session_are_counted() {
    let user = User::new(Answer::Declined);
    let (mut server, imported) =
        ScriptedServer::import(|client| client.allow_elicitation().max_questions(3)).await;
    let session = session_of(imported, &user).await;
    let mut refused = 0;
    for at in 0..3 {
        let calling = call(&session, &format!("c-{at}"), "work");
        let begun = server.receive_method("tools/call").await;
        for id in 0..2 {
            server
                .request(json!(id), "elicitation/create", question("?"))
                .await;
            let answer = server.receive().await;
            refused += usize::from(
                answer["error"]["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("3 questions")),
            );
        }
        server.finish(&begun, "done").await;
        assert!(calling.await.expect("no panic").is_ok());
    }
    assert_eq!((user.asked().len(), refused), (3, 3));
}

fn sampling(max_tokens: u64) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": "Summarise"}});
    json!({"messages": [message], "maxTokens": max_tokens, "systemPrompt": "Be short", "includeContext": "allServers"})
}

/// A model that counts its requests and reports its usage.
async fn session_with_model(
    toolset: impl Toolset,
    usage: Option<u64>,
) -> (Session, Arc<Mutex<Vec<SamplingRequest>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&requests);
    let session = session(toolset, |runtime| {
        runtime.on_sampling(move |request: SamplingRequest| {
            noted.lock().expect("no panic").push(request);
            let mut answer =
                SamplingAnswer::new("small-1", [Content::text("It "), Content::text("rained.")]);
            answer.usage = usage.map(|output| TokenUsage {
                output,
                ..TokenUsage::default()
            });
            async move { Ok(answer) }
        })
    });
    (session.await, requests)
}

#[tokio::test]
async fn the_model_of_the_session_answers_within_the_budget() {
    let budget = SamplingBudget::new(10, 1_000).per_call(3, 600);
    let (mut server, imported) =
        ScriptedServer::import(|client| client.allow_sampling(budget)).await;
    let (session, requests) = session_with_model(imported, None).await;
    let mut answers = Vec::new();
    for at in 0..2 {
        let calling = call(&session, &format!("c-{at}"), "work");
        let begun = server.receive_method("tools/call").await;
        for id in 0..4 {
            server
                .request(json!(id), "sampling/createMessage", sampling(400))
                .await;
            answers.push(server.receive().await);
        }
        server.finish(&begun, "done").await;
        assert!(calling.await.expect("no panic").is_ok());
    }
    let answer = json!({
        "role": "assistant", "content": {"type": "text", "text": "It rained."}, "model": "small-1"
    });
    assert_eq!(answers[0]["result"], answer);
    let requests = requests.lock().expect("no panic");
    let allowed = requests
        .iter()
        .map(|request| request.max_tokens)
        .collect::<Vec<_>>();
    // 17 bytes of text are charged as 5 tokens each. The first call had 600, and the session has 400 left.
    assert_eq!(allowed, [400, 190, 395]);
    assert_eq!(
        (
            requests[0].asked_by.as_deref(),
            requests[0].system_prompt.as_deref()
        ),
        (Some("acme"), Some("Be short"))
    );
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer.get("error").is_some())
            .count(),
        5,
        "{answers:?}"
    );
}

#[tokio::test]
async fn the_usage_of_a_model_is_what_counts() {
    let (mut server, imported) =
        ScriptedServer::import(|client| client.allow_sampling(SamplingBudget::new(1_000, 1_000)))
            .await;
    let (session, requests) = session_with_model(imported, Some(100)).await;
    for at in 0..20 {
        let calling = call(&session, &format!("c-{at}"), "work");
        let begun = server.receive_method("tools/call").await;
        server
            .request(json!(at), "sampling/createMessage", sampling(900))
            .await;
        server.receive().await;
        server.finish(&begun, "done").await;
        assert!(calling.await.expect("no panic").is_ok());
    }
    assert_eq!(requests.lock().expect("no panic").len(), 10);
}

#[tokio::test]
async fn a_server_learns_the_folders_that_the_host_names() {
    let (mut server, _imported) =
        ScriptedServer::import(|client| client.roots(["file:///home/ada/project"])).await;
    server.request(json!(1), "roots/list", json!({})).await;
    assert_eq!(
        server.receive().await["result"],
        json!({"roots": [{"uri": "file:///home/ada/project"}]})
    );

    let (mut server, imported) = ScriptedServer::import(McpClient::session_roots).await;
    let session = session(imported, |runtime| {
        runtime
            .on_roots(async |_: RootsRequest| Ok(vec![Root::new("file:///home/bob").name("Bob")]))
    });
    let session = session.await;
    server.request(json!(1), "roots/list", json!({})).await;
    assert!(
        server.receive().await.get("error").is_some(),
        "no call is in flight"
    );
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    server.request(json!(2), "roots/list", json!({})).await;
    assert_eq!(
        server.receive().await["result"],
        json!({"roots": [{"uri": "file:///home/bob", "name": "Bob"}]})
    );
    server.finish(&begun, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn the_log_of_a_server_reaches_the_call_bounded() {
    let (mut server, imported) =
        ScriptedServer::import(|client| client.log_level(LogLevel::Info)).await;
    let logged = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&logged);
    let session = session(imported, |runtime| {
        runtime.on_log(move |message: &LogMessage| {
            notes.lock().expect("no panic").push(message.clone());
        })
    });
    let session = session.await;
    let calling = call(&session, "c-1", "work");
    let begun = server.receive_method("tools/call").await;
    for at in 0..1_000 {
        let data = json!({"at": at, "text": "x".repeat(2_000)});
        server
            .notify(
                "notifications/message",
                json!({"level": "warning", "logger": "disk\n", "data": data}),
            )
            .await;
    }
    server.finish(&begun, "done").await;
    assert!(calling.await.expect("no panic").is_ok());
    let logged = logged.lock().expect("no panic");
    assert!((1..=100).contains(&logged.len()), "{}", logged.len());
    assert_eq!(
        (logged[0].level, &*logged[0].logger, &*logged[0].call_id),
        (LogLevel::Warning, r"acme/disk\n", "c-1")
    );
    assert!(
        logged
            .iter()
            .all(|message| message.data.to_string().len() < 2_000)
    );
}

/// Book a seat.
#[tool(timeout = "60s")]
async fn book(ctx: &RunContext) -> Result<String, ToolError> {
    let row = ctx.ask::<u8>("Which row?").await?.required()?;
    Ok(format!("row {row}"))
}

/// Erase everything.
#[tool(category = "action", destructive, confirm)]
fn erase() -> String {
    "erased".to_owned()
}

fn server() -> Server {
    Server::from_tools(
        ToolContext::builder()
            .with(book)
            .with(erase)
            .build()
            .expect("sound tools"),
    )
    .expect("a server")
}

/// Imports our own server over streams, in a revision that asks by requests, and in one that asks by answers.
async fn own_server(probe: bool) -> tool_adapters::mcp::ImportedToolset {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (from, to) = split(theirs);
    tokio::spawn(async move { server().serve_streams(from, to).await });
    let (input, output) = split(ours);
    let client = McpClient::streams("own", input, output).allow_elicitation();
    let client = if probe { client.probe() } else { client };
    client.connect().await.expect("an import")
}

#[tokio::test]
async fn our_own_server_asks_through_the_client() {
    for probe in [false, true] {
        let user = User::new(Answer::Accepted(json!({"answer": 7})));
        let session = session_of(own_server(probe).await, &user).await;
        let response = call(&session, "c-1", "book").await.expect("no panic");
        assert_eq!(
            response.data_json(),
            Some(r#"{"result":"row 7"}"#),
            "probe: {probe}: {:?}",
            response.error()
        );
        assert_eq!(user.asked()[0].message, "`own` asks: Which row?");
        assert_eq!(user.asked().len(), 1);
    }
}

#[tokio::test]
async fn approvals_of_our_own_server_are_questions() {
    for probe in [false, true] {
        for (answer, erased) in [
            (Answer::Accepted(json!({})), true),
            (Answer::Declined, false),
        ] {
            let user = User::new(answer);
            let session = session_of(own_server(probe).await, &user).await;
            let response = call(&session, "c-1", "erase").await.expect("no panic");
            assert_eq!(
                response.is_ok(),
                erased,
                "probe: {probe}: {:?}",
                response.error()
            );
            assert!(
                user.asked()[0]
                    .message
                    .starts_with("`own` asks: Allow this call of `erase`?"),
                "{}",
                user.asked()[0].message
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_needs_input_fails_without_leave() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (from, to) = split(theirs);
    tokio::spawn(async move { server().serve_streams(from, to).await });
    let (input, output) = split(ours);
    let imported = McpClient::streams("own", input, output)
        .probe()
        .connect()
        .await
        .expect("an import");
    let user = User::new(Answer::Accepted(json!({"answer": 7})));
    let session = session_of(imported, &user).await;
    let response = call(&session, "c-1", "book").await.expect("no panic");
    assert!(response.error().is_some(), "{response:?}");
    assert!(user.asked().is_empty());
}

/// Over HTTP, the stream in which a question comes tells the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_over_http_reach_the_users_of_their_calls() {
    let url = serve(&server()).await;
    let imported = McpClient::url(url)
        .name("web")
        .allow_elicitation()
        .connect()
        .await
        .expect("an import");
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("sound tools");
    let everyone = Arc::new(Barrier::new(8));
    let runtime = Runtime::builder(tools)
        .policy(Server::policy())
        .build()
        .expect("a runtime");
    let mut calling = Vec::new();
    for at in 0..8_u8 {
        let everyone = Arc::clone(&everyone);
        let session = runtime.session(format!("s-{at}"), Mode::Text).on_question(
            move |question: Question| {
                let everyone = Arc::clone(&everyone);
                async move {
                    // All questions are open at once.
                    everyone.wait().await;
                    assert_eq!(question.session, format!("s-{at}"));
                    Ok(Answer::Accepted(json!({"answer": at})))
                }
            },
        );
        let session = session.await.expect("a session");
        calling.push((at, call(&session, "c-1", "book"), session));
    }
    for (at, calling, _session) in calling {
        let response = calling.await.expect("no panic");
        assert_eq!(
            response.data_json(),
            Some(&*format!(r#"{{"result":"row {at}"}}"#)),
            "{:?}",
            response.error()
        );
    }
}

#[tokio::test]
async fn a_task_asks_by_its_name_and_reports_its_status() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let (mut server, imported) =
        ScriptedServer::import(|client| client.allow_elicitation().run_as_tasks(["long"])).await;
    let session = session_of(imported, &user).await;
    let calls = [call(&session, "c-1", "long"), call(&session, "c-2", "work")];
    let mut begun = [
        server.receive_method("tools/call").await,
        server.receive_method("tools/call").await,
    ];
    begun.sort_by_key(|call| call["params"]["name"].to_string());
    let [long, work] = begun;
    assert!(long["params"]["task"]["ttl"].is_u64() && work["params"].get("task").is_none());
    server
        .answer(
            &long,
            json!({"task": {"taskId": "t-1", "status": "input_required", "pollInterval": 20}}),
        )
        .await;
    let result = server.receive_method("tasks/result").await;
    assert_eq!(result["params"]["taskId"], "t-1");
    server
        .notify(
            "notifications/tasks/status",
            json!({"taskId": "t-1", "status": "working", "statusMessage": "half"}),
        )
        .await;
    let mut params = question("?");
    params["_meta"] = json!({"io.modelcontextprotocol/related-task": {"taskId": "t-1"}});
    server
        .request(json!("q-1"), "elicitation/create", params)
        .await;
    assert_eq!(
        server.receive().await["result"]["content"],
        json!({"branch": "main"})
    );
    assert_eq!(user.asked()[0].call_id, "c-1");
    server.finish(&result, "built").await;
    server.finish(&work, "done").await;
    for calling in calls {
        assert!(calling.await.expect("no panic").is_ok());
    }
}

#[tokio::test]
async fn a_dropped_call_cancels_its_task() {
    let (mut server, imported) =
        ScriptedServer::import(|client| client.run_as_tasks(["long"])).await;
    let tools = Arc::new(
        ToolContext::builder()
            .with(imported)
            .build()
            .expect("sound tools"),
    );
    let own = Arc::clone(&tools);
    let calling = tokio::spawn(async move {
        own.call("long", "{}", &RunContext::detached())
            .await
            .is_ok()
    });
    let long = server.receive_method("tools/call").await;
    server
        .answer(
            &long,
            json!({"task": {"taskId": "t-1", "status": "working", "pollInterval": 20}}),
        )
        .await;
    server.receive_method("tasks/get").await;
    calling.abort();
    assert_eq!(
        server.receive_method("tasks/cancel").await["params"]["taskId"],
        "t-1"
    );
}

#[tokio::test]
async fn the_beginning_of_a_task_is_cancelled_with_its_call() {
    let (mut server, imported) =
        ScriptedServer::import(|client| client.run_as_tasks(["long"])).await;
    let session = session(imported, |runtime| runtime).await;
    let calling = call(&session, "c-1", "long");
    let begun = server.receive_method("tools/call").await;
    calling.abort();
    let cancelled = server.receive_method("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], begun["id"]);
}

#[tokio::test]
async fn progress_of_a_task_becomes_updates_of_its_call() {
    let (mut server, imported) =
        ScriptedServer::import(|client| client.run_as_tasks(["long"])).await;
    let updates = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&updates);
    let session = session(imported, |runtime| runtime).await;
    let call = ToolCall::new("c-1", "long", "{}")
        .on_update(move |update| seen.lock().expect("no panic").push(update.message.clone()));
    let calling = tokio::spawn(async move { session.call(call).await });
    let begun = server.receive_method("tools/call").await;
    let token = begun["params"]["_meta"]["progressToken"].clone();
    assert!(!token.is_null(), "{begun}");
    let task = json!({"taskId": "t-1", "status": "working", "pollInterval": 20});
    server.answer(&begun, json!({"task": task})).await;

    let state = server.receive_method("tasks/get").await;
    let progress = json!({"progressToken": token, "progress": 1, "message": "half"});
    server.notify("notifications/progress", progress).await;
    let done = json!({"taskId": "t-1", "status": "completed"});
    server.answer(&state, done).await;
    let result = server.receive_method("tasks/result").await;
    server.finish(&result, "built").await;
    assert!(calling.await.expect("no panic").is_ok());
    assert_eq!(*updates.lock().expect("no panic"), ["half"]);
}

/// Passes the progress of a server on by a server of its tools. Returns what a client of that gets.
async fn progress_passed_on(updates: &[Value]) -> Vec<Value> {
    let (mut upstream, imported) = ScriptedServer::import(|client| client).await;
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("sound tools");
    let server = Server::from_tools(tools).expect("a server");
    let mut client = LineClient::initialized(&server, json!({})).await;
    let meta = json!({"progressToken": "p"});
    let params = json!({"name": "work", "arguments": {}, "_meta": meta});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    let call = upstream.receive_method("tools/call").await;
    for update in updates {
        let mut params = update.clone();
        params["progressToken"] = call["params"]["_meta"]["progressToken"].clone();
        upstream.notify("notifications/progress", params).await;
    }
    upstream.finish(&call, "done").await;

    let mut passed_on = Vec::new();
    loop {
        let mut message = client.receive().await;
        if message["method"] != "notifications/progress" {
            return passed_on;
        }
        let mut params = message["params"].take();
        let members = params.as_object_mut().expect("an object");
        members.remove("progressToken");
        members.remove("_meta");
        passed_on.push(params);
    }
}

// T36
#[tokio::test]
async fn progress_is_passed_on_as_the_server_counts_it() {
    let updates = [
        json!({"progress": 12.0, "message": "twelve rows"}),
        json!({"progress": 20.0, "total": 40.0, "message": "half"}),
    ];
    assert_eq!(progress_passed_on(&updates).await, updates);
}

// T36
#[tokio::test]
async fn progress_without_a_text_is_passed_on() {
    let updates = [json!({"progress": 1.0}), json!({"progress": 2.0})];
    assert_eq!(progress_passed_on(&updates).await, updates);
}

#[tokio::test]
async fn a_call_without_a_session_has_no_user() {
    let (mut server, imported) = ScriptedServer::import(McpClient::allow_elicitation).await;
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("sound tools");
    let calling =
        tokio::spawn(async move { tools.call("work", "{}", &RunContext::detached()).await });
    let begun = server.receive_method("tools/call").await;
    server
        .request(json!(1), "elicitation/create", question("?"))
        .await;
    let answer = server.receive().await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("cannot be asked")),
        "{answer}"
    );
    server
        .answer(
            &begun,
            json!({"isError": true, "content": [{"type": "text", "text": "no branch"}]}),
        )
        .await;
    let response = calling.await.expect("no panic");
    assert_eq!(
        response.error().map(|error| error.kind),
        Some(ErrorKind::Permanent)
    );
}

/// Connects to a server of the revision without sessions.
async fn stateless_server(user: &User) -> (ScriptedServer, Session) {
    let discover = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
        "cacheScope": "private"
    });
    let tools = json!({"tools": [{"name": "work", "inputSchema": {"type": "object"}}]});
    let lists = json!({"server/discover": discover, "tools/list": tools});
    let (server, imported) = ScriptedServer::import_lists(lists, |client| {
        client.probe().allow_elicitation().session_roots()
    })
    .await;
    (server, session_of(imported, user).await)
}

#[tokio::test]
async fn required_input_of_an_unknown_mode_is_refused() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let (mut server, session) = stateless_server(&user).await;
    let calling = call(&session, "c-1", "work");
    let begun = loop {
        let message = server.receive().await;
        if message["method"] == "tools/call" {
            break message;
        }
    };
    let params = json!({"mode": "window", "message": "?", "requestedSchema": form()});
    let asked = json!({"q": {"method": "elicitation/create", "params": params}});
    server
        .answer(
            &begun,
            json!({"resultType": "input_required", "inputRequests": asked}),
        )
        .await;
    let response = calling.await.expect("no panic");
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("`form` or `url`")),
        "{response:?}"
    );
    assert!(user.asked().is_empty());
}

#[tokio::test]
async fn rounds_of_input_are_bounded() {
    let user = User::new(Answer::Accepted(json!({"branch": "main"})));
    let (mut server, session) = stateless_server(&user).await;
    let mut calling = call(&session, "c-1", "work");
    let mut requests = Vec::new();
    let response = loop {
        tokio::select! {
            response = &mut calling => break response.expect("no panic"),
            message = server.receive() => {
                if message["method"] != "tools/call" {
                    continue;
                }
                let asked = json!({"q": {"method": "elicitation/create", "params": question("?")}});
                let state = format!("state {}", requests.len());
                server.answer(&message, json!({"resultType": "input_required", "requestState": state, "inputRequests": asked})).await;
                requests.push(message);
            }
        }
    };
    assert_eq!(requests.len(), 9);
    assert_eq!(requests[1]["params"]["requestState"], "state 0");
    assert_eq!(
        requests[1]["params"]["inputResponses"]["q"],
        json!({"action": "accept", "content": {"branch": "main"}})
    );
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("more than 8 times")),
        "{:?}",
        response.error()
    );
}
