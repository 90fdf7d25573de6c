//! A server whose answers are texts that a test has written, over standard streams and over HTTP.

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::{Arc, Mutex};

const FILE: &str = "TOOL_GATEWAY_RAW";

/// The results by the method and what it names, such as `tools/call look`.
pub(crate) type Answers = BTreeMap<String, String>;

/// Returns the answer to a message. A result without a text for it is the error of an unknown resource.
fn answer(answers: &Answers, message: &Value) -> Option<String> {
    let id = message.get("id")?;
    let method = message["method"].as_str()?;
    let named = ["name", "uri"]
        .iter()
        .find_map(|member| message["params"][*member].as_str());
    let has_sessions = !answers.contains_key(DISCOVER);
    let result = match (method, answers.get(&format!("{method} {}", named.unwrap_or_default()))) {
        ("initialize", _) if !has_sessions => {
            let error = json!({"code": -32601, "message": "unknown method"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
        ("initialize", _) => answers.get("initialize").cloned().unwrap_or_else(|| {
            let capabilities = json!({"tools": {}, "prompts": {}, "resources": {"subscribe": true}});
            let info = json!({"name": "raw", "version": "1"});
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}).to_string()
        }),
        (_, Some(result)) if result == REFUSAL => {
            let error = json!({"code": -32603, "message": "not now"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
        (_, Some(result)) => result.clone(),
        ("resources/subscribe" | "resources/unsubscribe", None) => "{}".to_owned(),
        _ => {
            let error = json!({"code": -32002, "message": "there is no such resource", "data": {"uri": named}});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    };
    let result = match result.trim_start().strip_prefix('{') {
        Some(members) if !has_sessions && members != "}" => {
            format!(r#"{{"resultType":"complete",{members}"#)
        }
        _ => result,
    };
    Some(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
    ))
}

/// The request whose answer makes a server one of a revision without sessions.
pub(crate) const DISCOVER: &str = "server/discover ";

/// The text in the place of a result that refuses a request.
pub(crate) const REFUSAL: &str = "refused";

/// The text in the place of a result that ends the process of a server.
pub(crate) const EXIT: &str = "exit";

/// The text in the place of a result that never comes.
pub(crate) const HANG: &str = "hang";

/// Replaces the answers of a server over standard streams.
pub(crate) fn set_answers(file: &Path, answers: &Answers) {
    let new = file.with_extension("new");
    std::fs::write(&new, json!(answers).to_string()).expect("written");
    std::fs::rename(new, file).expect("replaced");
}

/// Returns the requests with a method, and what they name, that a server over standard streams has
/// got.
pub(crate) fn got(file: &Path, method: &str) -> Vec<String> {
    let lines = std::fs::read_to_string(file.with_extension("got")).unwrap_or_default();
    let messages = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_method = messages.filter(|message| message["method"] == method);
    let named = of_method.map(|message| message["params"]["uri"].clone());
    named
        .map(|uri| uri.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Returns the entry of a server over standard streams, whose answers are written to a file.
pub(crate) fn entry(file: &Path, answers: &Answers) -> Value {
    set_answers(file, answers);
    let program = std::env::current_exe().expect("this program");
    json!({
        "command": "sh",
        "args": [
            "-c", r#"exec "$0" "$@" 3>&1 >&2"#, program, "--ignored", "--exact", "raw_server::serves", "--nocapture",
            "--test-threads=1"
        ],
        "env": {FILE: file}
    })
}

#[test]
#[ignore = "it is the process of a server"]
fn serves() {
    use std::io::Write;
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let file = std::path::PathBuf::from(file);
    let mut got = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file.with_extension("got"))
        .expect("a file");
    // Standard output has the lines of the test.
    let mut output = std::fs::File::options()
        .write(true)
        .open("/dev/fd/3")
        .expect("a stream");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        writeln!(got, "{line}").expect("written");
        let message = serde_json::from_str(&line).expect("JSON");
        let answers = std::fs::read_to_string(&file).expect("a file");
        let answers = serde_json::from_str(&answers).expect("answers");
        if let Some(answer) = answer(&answers, &message) {
            if answer.ends_with(&format!("{EXIT}}}")) {
                std::process::exit(3);
            }
            // A line has one message.
            writeln!(output, "{}", answer.replace('\n', " ")).expect("the gateway reads");
        }
    }
    std::process::exit(0);
}

/// A server over HTTP.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) answers: Arc<Mutex<Answers>>,
    /// The messages that it has got.
    pub(crate) got: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct Served {
    answers: Arc<Mutex<Answers>>,
    with_events: bool,
    got: Arc<Mutex<Vec<Value>>>,
}

impl HttpServer {
    /// Starts a server that answers with JSON, or with events.
    pub(crate) async fn start(answers: &Answers, with_events: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let got = Arc::<Mutex<Vec<Value>>>::default();
        let answers = Arc::new(Mutex::new(answers.clone()));
        let served = Served {
            answers: Arc::clone(&answers),
            with_events,
            got: Arc::clone(&got),
        };
        let router = Router::new().route("/mcp", post(serve)).with_state(served);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, answers, got }
    }

    pub(crate) fn got(&self, method: &str) -> Vec<Value> {
        let got = self.got.lock().expect("no panic");
        got.iter()
            .filter(|message| message["method"] == method)
            .cloned()
            .collect()
    }
}

async fn serve(State(served): State<Served>, body: String) -> Response {
    let message = serde_json::from_str::<Value>(&body).expect("JSON");
    let answer = answer(&served.answers.lock().expect("no panic"), &message);
    served.got.lock().expect("no panic").push(message);
    match answer {
        None => StatusCode::ACCEPTED.into_response(),
        Some(answer) if answer.ends_with(&format!("{HANG}}}")) => std::future::pending().await,
        Some(answer) if served.with_events => {
            let data = answer
                .lines()
                .map(|line| format!("data: {line}"))
                .collect::<Vec<_>>()
                .join("\n");
            (
                [(header::CONTENT_TYPE, "text/event-stream")],
                format!("event: message\n{data}\n\n"),
            )
                .into_response()
        }
        Some(answer) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
    }
}
