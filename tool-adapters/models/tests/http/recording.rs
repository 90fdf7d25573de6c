//! Conversations that are recorded at a server, and replayed without one.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{EventRecorder, model, quick, session};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::ProvidedKey;
use tool_adapters::transport::http::{HttpModel, Recording, RecordingError};
use tool_core::session::{Model, Reply};

const KEY: &str = "sk-canary-0123456789";

/// The events of an answer that calls the tool.
fn calls() -> &'static str {
    concat!(
        r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}]},"finish_reason":null}]}"#,
        "\n\n",
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n"
    )
}

fn says(words: &str) -> Answer {
    Answer::events(&text(Provider::OpenAiChat, words))
}

/// A folder with the path of a recording in it.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("recordings/talk.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).expect("a recording")
    }

    fn open(&self) -> Recording {
        Recording::open(self.path()).expect("a recording")
    }
}

/// A model whose server is not there.
fn replayed(recording: &Recording) -> HttpModel {
    HttpModel::new(Provider::OpenAiChat, "the-model")
        .base_url("http://127.0.0.1:9")
        .retry(quick())
        .recording(recording)
}

async fn prompt(model: impl Model, words: &[&str]) -> Vec<Reply> {
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, model);
    let mut replies = Vec::new();
    for words in words {
        replies.push(agent.prompt(*words).await);
    }
    replies
}

/// Records a conversation with these answers.
async fn record(answers: Vec<Answer>, words: &[&str]) -> (Folder, Vec<Reply>) {
    let folder = Folder::new();
    let recording = Recording::record(folder.path());
    let server = Server::start(answers).await;
    let model = model(Provider::OpenAiChat, &server)
        .api_key(KEY)
        .recording(&recording);
    let replies = prompt(model, words).await;
    recording.finish().expect("written");
    (folder, replies)
}

fn error(reply: &Reply) -> String {
    reply.error.as_ref().expect("an error").message.clone()
}

fn problems(recording: &Recording) -> Vec<String> {
    match recording.finish() {
        Ok(()) => Vec::new(),
        Err(RecordingError::Differs { problems, .. }) => problems,
        Err(other) => panic!("{other}"),
    }
}

// M33
#[tokio::test]
async fn a_recorded_conversation_is_replayed_without_a_server() {
    let answers = vec![Answer::events(calls()).in_pieces_of(7), says("It is 3.")];
    let (folder, recorded) = record(answers, &["What is 1 + 2?"]).await;
    assert_eq!(recorded[0].text.as_deref(), Some("It is 3."));

    let recording = folder.open();
    let events = EventRecorder::default();
    let model = replayed(&recording).on_event(events.listener());
    let replies = prompt(model, &["What is 1 + 2?"]).await;
    assert_eq!(replies[0].text, recorded[0].text);
    assert_eq!(replies[0].responses[0].data_json(), Some("3"));
    assert_eq!(events.text(), "It is 3.");
    assert_eq!(problems(&recording), Vec::<String>::new());
}

// M32
#[tokio::test]
async fn a_recording_keeps_the_pieces_of_an_answer() {
    let (folder, _) = record(vec![says("Grüße").in_pieces_of(60)], &["Hi"]).await;
    let file = serde_json::from_str::<serde_json::Value>(&folder.text()).expect("JSON");
    assert_eq!(file["version"], 1);
    let exchange = &file["exchanges"][0];
    assert_eq!(exchange["request"]["path"], "/chat/completions");
    assert_eq!(exchange["request"]["body"]["model"], "the-model");
    assert_eq!(
        exchange["response"]["headers"]["content-type"],
        "text/event-stream"
    );
    assert_eq!(exchange["response"]["complete"], true);
    let chunks = exchange["response"]["chunks"].as_array().expect("chunks");
    assert!(chunks.len() > 1, "{chunks:?}");
}

// M32
#[tokio::test]
async fn no_key_is_in_a_recording_whatever_happens() {
    let masked =
        format!(r#"{{"error":{{"message":"bad key {KEY}, or sk-other-0123456789abcdef"}}}}"#);
    let cookie = [
        ("set-cookie", "session=canary-cookie"),
        ("openai-organization", "org-canary"),
    ];
    let refused = Answer::new(401, &cookie, &masked);
    let echoed = says(&format!("your key is {KEY} of org-canary")).in_pieces_of(11);
    let cut = says(&format!("again {KEY}")).in_pieces_of(9).breaks();
    for answers in [vec![refused], vec![echoed], vec![cut.clone(), cut]] {
        let folder = Folder::new();
        let recording = Recording::record(folder.path());
        let server = Server::start(answers).await;
        let url = format!("{}/v1?key=canary-in-query&api-version=7", server.url);
        let model = model(Provider::OpenAiChat, &server)
            .base_url(url)
            .api_key(KEY)
            .header("X-Api-Key", "canary-in-header")
            .retry(RetryPolicy::never())
            .recording(&recording);
        let words = format!("My key is {KEY}, canary-in-query and canary-in-header.");
        let _ = prompt(model, &[&words]).await;
        recording.finish().expect("written");
        let text = folder.text();
        assert!(
            !text.contains("canary") && !text.contains("sk-other"),
            "{text}"
        );
        assert!(text.contains("?key=[hidden]&api-version=7"), "{text}");
        assert!(
            text.contains("My key is [hidden], [hidden] and [hidden]."),
            "{text}"
        );
    }
}

// M32
#[tokio::test]
async fn a_key_that_was_replaced_is_hidden_in_all_exchanges() {
    let folder = Folder::new();
    let recording = Recording::record(folder.path());
    let server = Server::start(vec![
        says("not key-canary-2, but key-canary-1"),
        says("Bye"),
    ])
    .await;
    let asked = AtomicUsize::new(0);
    let model = model(Provider::OpenAiChat, &server).api_key_with(move || {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(ProvidedKey::new(format!("key-canary-{number}"))) }
    });
    let replies = prompt(model.recording(&recording), &["Hi", "Bye"]).await;
    assert_eq!(replies[1].text.as_deref(), Some("Bye"));
    recording.finish().expect("written");
    let text = folder.text();
    assert!(!text.contains("canary"), "{text}");
    assert_eq!(
        text.matches("not [hidden], but [hidden]").count(),
        2,
        "{text}"
    );
}

// M32
#[tokio::test]
async fn a_connection_that_fails_is_not_recorded() {
    let folder = Folder::new();
    let recording = Recording::record(folder.path());
    let model = HttpModel::new(Provider::OpenAiChat, "the-model")
        .base_url("http://127.0.0.1:9")
        .api_key(KEY)
        .retry(RetryPolicy::never())
        .recording(&recording);
    let replies = prompt(model, &["Hi"]).await;
    assert!(!error(&replies[0]).contains(KEY));
    assert_eq!(
        problems(&recording),
        ["no request was answered, so there is nothing to record"]
    );
    assert!(!folder.path().exists());
}

// M33
#[tokio::test]
async fn a_changed_request_is_an_error_with_its_place() {
    let (folder, _) = record(vec![says("Hello"), says("Bye")], &["Hi", "See you"]).await;
    let recording = folder.open();
    let replies = prompt(replayed(&recording), &["Hi", "Bye now"]).await;
    assert_eq!(replies[0].text.as_deref(), Some("Hello"));
    let message = error(&replies[1]);
    let path = folder.path();
    let expected = format!(
        "request 2 is not exchange 2 of `{}`: it differs at `/messages/2/content` (recorded \"See you\", sent \"Bye now\"); if your program is right, record again",
        path.display()
    );
    assert!(message.starts_with(&expected), "{message}");
    assert!(message.contains("RECORD_MODELS=1"), "{message}");
    let problems = problems(&recording);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(
        problems[1],
        "exchange 2 was not used: POST /chat/completions"
    );
}

// M33
#[tokio::test]
async fn a_request_beyond_the_recording_is_an_error() {
    let (folder, _) = record(vec![says("Hello")], &["Hi"]).await;
    let recording = folder.open();
    let replies = prompt(replayed(&recording), &["Hi", "More"]).await;
    let message = error(&replies[1]);
    assert!(
        message.contains("has 1 exchange, and request 2 is one more: POST /chat/"),
        "{message}"
    );
    assert_eq!(problems(&recording).len(), 1);
}

// M33
#[tokio::test]
async fn a_matching_replay_takes_any_order_and_each_once() {
    let folder = Folder::new();
    let recording = Recording::record(folder.path());
    let server = Server::start(vec![says("one"), says("two"), says("three")]).await;
    for words in ["A", "B", "A"] {
        let model = model(Provider::OpenAiChat, &server).recording(&recording);
        let _ = prompt(model, &[words]).await;
    }
    recording.finish().expect("written");

    let recording = folder.open().matching();
    let mut answers = Vec::new();
    for words in ["B", "A", "A"] {
        let reply = prompt(replayed(&recording), &[words]).await.remove(0);
        answers.push(reply.text.unwrap_or_default());
    }
    assert_eq!(answers, ["two", "one", "three"]);
    assert_eq!(problems(&recording), Vec::<String>::new());

    let strict = folder.open();
    let reply = prompt(replayed(&strict), &["B"]).await.remove(0);
    assert!(error(&reply).contains("`/messages/0/content`"), "{reply:?}");
}

// M33
#[tokio::test]
async fn a_matching_replay_shows_the_most_similar_exchange() {
    let (folder, _) = record(vec![says("Hello"), says("Bye")], &["Hi", "See you"]).await;
    let recording = folder.open().matching();
    let reply = prompt(replayed(&recording), &["Hi!"]).await.remove(0);
    let message = error(&reply);
    assert!(
        message.contains("has request 1, POST /chat/completions; exchange 1 is the most similar"),
        "{message}"
    );
}

// M33
#[tokio::test]
async fn ignored_members_and_hidden_texts_may_change() {
    let folder = Folder::new();
    let recording = Recording::record(folder.path()).hide("Ada Lovelace");
    let server = Server::start(vec![says("Hello Ada Lovelace")]).await;
    let named = model(Provider::OpenAiChat, &server).setting("user", "u-1");
    let _ = prompt(named.recording(&recording), &["I am Ada Lovelace"]).await;
    recording.finish().expect("written");
    assert!(!folder.text().contains("Ada"), "{}", folder.text());

    let recording = folder.open().hide("Grace Hopper").ignore("/user");
    let model = replayed(&recording).setting("user", "u-2");
    let reply = prompt(model, &["I am Grace Hopper"]).await.remove(0);
    assert_eq!(reply.text.as_deref(), Some("Hello [hidden]"));
}

// M33
#[tokio::test]
async fn attempts_that_failed_are_replayed() {
    let busy = Answer::new(429, &[("retry-after-ms", "1")], "{}");
    let whole = text(Provider::OpenAiChat, "never seen");
    let broken = Answer::events(&whole[..whole.len() / 2])
        .in_pieces_of(20)
        .breaks();
    let (folder, recorded) = record(vec![busy, broken, says("Hello")], &["Hi"]).await;
    assert_eq!(recorded[0].text.as_deref(), Some("Hello"));

    let recording = folder.open();
    let reply = prompt(replayed(&recording), &["Hi"]).await.remove(0);
    assert_eq!(reply.text.as_deref(), Some("Hello"));
    assert_eq!(problems(&recording), Vec::<String>::new());

    // Without another attempt the lost answer is the error that it was.
    let recording = folder.open();
    let once = RetryPolicy {
        attempts: 2,
        ..quick()
    };
    let reply = prompt(replayed(&recording).retry(once), &["Hi"])
        .await
        .remove(0);
    assert!(
        error(&reply).contains("the recorded answer ends here"),
        "{reply:?}"
    );
}

// M33
#[tokio::test]
async fn a_replay_asks_for_no_key_and_no_region() {
    let (folder, _) = record(vec![says("Hello")], &["Hi"]).await;
    let recording = folder.open();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let model = replayed(&recording).api_key_with(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(ProvidedKey::new("sk-1")) }
    });
    let reply = prompt(model, &["Hi"]).await.remove(0);
    assert_eq!(reply.text.as_deref(), Some("Hello"));
    assert_eq!(asked.load(Ordering::SeqCst), 0);

    // Neither of these has a key or a region here; the recording is the only thing that refuses.
    for provider in [Provider::Cohere, Provider::Bedrock] {
        let model = HttpModel::new(provider, "m").recording(&folder.open());
        let reply = prompt(model, &["Hi"]).await.remove(0);
        assert!(error(&reply).contains("is not exchange 1"), "{reply:?}");
    }
}
