//! The chat service as it ends, and beside another process.
#![cfg(unix)]

#[path = "shared/cargo.rs"]
mod cargo;

use cargo::cargo;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Builds the program. It is run directly, as cargo would get the signal.
fn program() -> PathBuf {
    let build = [
        "build",
        "--quiet",
        "--all-features",
        "--example",
        "chat_service",
    ];
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let status = cargo().args(build).current_dir(root).status();
    assert!(status.unwrap().success());
    let test = std::env::current_exe().unwrap();
    test.ancestors()
        .nth(2)
        .unwrap()
        .join("examples/chat_service")
}

/// Starts the service with the model at an address. Returns the service's address.
fn start(model: SocketAddr) -> (Child, String) {
    start_program(Command::new(program()).env_remove("CHAT_DB"), model)
}

fn start_program(program: &mut Command, model: SocketAddr) -> (Child, String) {
    let mut service = program
        .arg("127.0.0.1:0")
        .env("OPENAI_API_KEY", "a key")
        .env("OPENAI_BASE_URL", format!("http://{model}/v1"))
        .env_remove("CHAT_MODEL")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(service.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let address = line.trim().trim_start_matches("http://").to_owned();
    (service, address)
}

/// An answer of OpenAI, whose text is [`SAID`].
const ANSWER: &str = include_str!("../../tests/streams/recorded/openai-responses--text.body");
const SAID: &str = "just in case";

/// Answers a request as the model, once its head has come.
fn answer_as_model(mut connection: &TcpStream) {
    let request = BufReader::new(connection).lines().map(Result::unwrap);
    assert!(request.take_while(|line| !line.is_empty()).count() > 0);
    let length = ANSWER.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(ANSWER.as_bytes()).unwrap();
}

/// Sends a request, and returns the connection, on which its answer comes.
fn send(address: &str, head: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    let user = "0123456789abcdef".repeat(2);
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: {address}\r\ncookie: chat_user={user}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Sends a request, and returns its answer.
fn ask(address: &str, head: &str, body: &str) -> String {
    let mut answer = String::new();
    send(address, head, body)
        .read_to_string(&mut answer)
        .unwrap();
    answer
}

#[test]
fn an_answer_that_has_begun_is_finished_at_sigterm() {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut service, address) = start(model.local_addr().unwrap());
    assert!(ask(&address, "GET /readyz", "").starts_with("HTTP/1.1 200"));

    // The answer has begun once its model is asked, and lasts until the model answers.
    let mut answer = send(&address, "POST /message", r#"{"text": "hello"}"#);
    let (asked, _) = model.accept().unwrap();
    let id = service.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.unwrap().success());
    while !ask(&address, "GET /readyz", "").starts_with("HTTP/1.1 503") {}

    let refused = ask(&address, "POST /message", r#"{"text": "hello"}"#);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(ask(&address, "GET /livez", "").starts_with("HTTP/1.1 200"));

    answer_as_model(&asked);
    let mut text = String::new();
    answer.read_to_string(&mut text).unwrap();
    assert!(text.contains(SAID), "{text}");
    assert!(text.contains(r#""finish":"complete""#), "{text}");
    assert!(service.wait().unwrap().success());
}

#[test]
fn a_request_that_never_ends_does_not_keep_the_process() {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut service, address) = start(model.local_addr().unwrap());
    assert!(ask(&address, "GET /readyz", "").starts_with("HTTP/1.1 200"));

    let mut half = TcpStream::connect(&address).unwrap();
    let head = format!("POST /message HTTP/1.1\r\nhost: {address}\r\ncontent-length: 100\r\n\r\n");
    half.write_all(head.as_bytes()).unwrap();
    // Its head is read once a later request is answered.
    assert!(ask(&address, "GET /livez", "").starts_with("HTTP/1.1 200"));
    let id = service.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.unwrap().success());

    let ended = std::thread::spawn(move || service.wait());
    let limit = Instant::now() + Duration::from_secs(30);
    while !ended.is_finished() && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(ended.is_finished(), "it waits for half a request");
    drop(half);
}

#[test]
fn a_conversation_of_another_process_is_opened_again() {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = model.local_addr().unwrap();
    serve_as_model(model);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.db");
    let start = || start_program(Command::new(program()).env("CHAT_DB", &file), address);
    let (mut one, first) = start();
    let (mut other, second) = start();

    let say = |service: &str| ask(service, "POST /message", r#"{"text": "hello"}"#);
    for service in [&first, &second] {
        let answered = say(service);
        assert!(answered.contains(SAID), "{answered}");
    }
    let late = say(&first);
    assert!(late.contains(r#""type":"CONFLICT""#), "{late}");
    let again = say(&first);
    assert!(again.contains(SAID), "{again}");

    for service in [&mut one, &mut other] {
        service.kill().unwrap();
        service.wait().unwrap();
    }
}

/// Answers all further requests as the model.
fn serve_as_model(model: TcpListener) {
    std::thread::spawn(move || {
        let mut connections = Vec::new();
        for connection in model.incoming() {
            let connection = connection.unwrap();
            answer_as_model(&connection);
            connections.push(connection);
        }
    });
}

/// Reads an answer to its end.
fn whole(mut answer: BufReader<TcpStream>) -> String {
    let mut text = String::new();
    answer.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_request_that_waits_finds_the_conversation_opened_again() {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = model.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.db");
    let start = || start_program(Command::new(program()).env("CHAT_DB", &file), address);
    let (mut one, first) = start();
    let (mut other, second) = start();

    let say = |service: &str| send(service, "POST /message", r#"{"text": "hello"}"#);
    let replying = say(&first);
    let (asked_first, _) = model.accept().unwrap();
    let waiting = say(&first);
    // Another process writes the conversation meanwhile.
    let between = say(&second);
    let (asked_second, _) = model.accept().unwrap();
    answer_as_model(&asked_second);
    let between = whole(between);
    assert!(between.contains(SAID), "{between}");

    serve_as_model(model);
    answer_as_model(&asked_first);
    let replied = whole(replying);
    assert!(replied.contains(r#""type":"CONFLICT""#), "{replied}");
    let waited = whole(waiting);
    assert!(waited.contains(SAID), "{waited}");
    assert!(!waited.contains("CONFLICT"), "{waited}");

    for service in [&mut one, &mut other] {
        service.kill().unwrap();
        service.wait().unwrap();
    }
}
