//! Calls `create_event` of an MCP server over HTTP, over connections that stay open, and checks every answer.
//! Usage: `http-load PORT session|stateless CONNECTIONS SECONDS PID`; prints one line of JSON.
//!
//! `session` speaks revision 2025-11-25 (initialize, session id, initialized), `stateless` speaks 2026-07-28. PID is the
//! server's process: its CPU time a call does not depend on this client, which shares the machine with it.
use serde::Deserialize;
use std::{
    cell::Cell,
    fs,
    rc::Rc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime,
    task::LocalSet,
};

const ARGUMENTS: &str = r#"{"title":"Team Meeting","start_time":"2026-01-06T17:00:00Z","duration_minutes":30,"attendees":["a@example.com","b@example.com"],"description":null}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A connection that stays open, with the headers of its session.
struct Connection {
    stream: TcpStream,
    headers: String,
    stateless: bool,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// A response: its head in lower case, and its body without chunks.
struct Response {
    head: String,
    body: String,
}

impl Connection {
    async fn open(port: u16, stateless: bool) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("a server");
        stream.set_nodelay(true).expect("a socket");
        let mut headers = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        );
        if stateless {
            headers += "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: create_event\r\n";
        }
        let mut this = Self {
            stream,
            headers,
            stateless,
            input: Vec::new(),
            output: Vec::new(),
        };
        if !stateless {
            let opened = this.post(INITIALIZE).await;
            let id = header(&opened.head, "mcp-session-id")
                .unwrap_or_else(|| panic!("no session: {}", opened.body));
            this.headers +=
                &format!("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {id}\r\n");
            let accepted = this.post(INITIALIZED).await;
            assert!(
                accepted.head.starts_with("http/1.1 202"),
                "{}",
                accepted.head
            );
        }
        this
    }

    /// Makes one call, and checks its answer.
    async fn call(&mut self, id: u64) {
        let meta = if self.stateless { META } else { "" };
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{meta}"name":"create_event","arguments":{ARGUMENTS}}}}}"#
        );
        let response = self.post(&message).await;
        assert!(
            response.head.starts_with("http/1.1 200"),
            "{}{}",
            response.head,
            response.body
        );
        // One message as JSON, or events, of which the last one with data is the answer.
        let is_stream = header(&response.head, "content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        let data = response
            .body
            .lines()
            .rev()
            .filter_map(|line| line.strip_prefix("data:"));
        let text = if is_stream {
            data.map(str::trim).find(|data| !data.is_empty())
        } else {
            Some(&*response.body)
        };
        let answer: Answer = text
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_else(|| panic!("{}", response.body));
        assert_eq!(answer.id, id);
        assert!(!answer.result.is_error, "{}", response.body);
        let text = &answer.result.content[0].text;
        assert!(
            text.contains("Team Meeting") && text.contains("2026-01-06T17:30:00Z"),
            "{text}"
        );
    }

    async fn post(&mut self, message: &str) -> Response {
        self.output.clear();
        let request = format!(
            "{}content-length: {}\r\n\r\n{message}",
            self.headers,
            message.len()
        );
        self.output.extend_from_slice(request.as_bytes());
        self.stream
            .write_all(&self.output)
            .await
            .expect("an open connection");
        self.input.clear();
        loop {
            if let Some(response) = parse(&self.input) {
                return response;
            }
            let read = self
                .stream
                .read_buf(&mut self.input)
                .await
                .expect("an open connection");
            assert!(
                read > 0,
                "the server closed the connection: {}",
                String::from_utf8_lossy(&self.input)
            );
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

/// Returns the response if all of it is there.
fn parse(input: &[u8]) -> Option<Response> {
    let end = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&input[..end]).to_ascii_lowercase();
    let mut rest = &input[end..];
    let mut body = Vec::new();
    if header(&head, "transfer-encoding") == Some("chunked") {
        loop {
            let line = rest.windows(2).position(|two| two == b"\r\n")?;
            let size = usize::from_str_radix(str::from_utf8(&rest[..line]).ok()?, 16)
                .expect("the size of a chunk");
            let chunk = rest.get(line + 2..line + 4 + size)?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
            rest = &rest[line + 4 + size..];
        }
    } else {
        let length =
            header(&head, "content-length").map_or(0, |length| length.parse().expect("a length"));
        body.extend_from_slice(rest.get(..length)?);
    }
    Some(Response {
        head,
        body: String::from_utf8(body).expect("text"),
    })
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    result: CallResult,
}
#[derive(Deserialize)]
struct CallResult {
    #[serde(default, rename = "isError")]
    is_error: bool,
    content: Vec<Text>,
}
#[derive(Deserialize)]
struct Text {
    text: String,
}

/// Returns the CPU time that a process has used, in seconds.
fn cpu(pid: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .expect("a name")
        .1
        .split_whitespace()
        .collect();
    // User and system time in ticks, of which Linux has 100 a second.
    (fields[11].parse::<f64>().expect("ticks") + fields[12].parse::<f64>().expect("ticks")) / 100.0
}

/// Returns the resident memory of a process, in kilobytes.
fn resident(pid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("its memory");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number")
}

async fn run(port: u16, stateless: bool, count: usize, seconds: f64, pid: &str) {
    let mut connections = Vec::new();
    for _ in 0..count {
        let mut connection = Connection::open(port, stateless).await;
        for id in 1..=3 {
            connection.call(id).await;
        }
        connections.push(connection);
    }
    let calls = Rc::new(Cell::new(0_u64));
    let (before, start) = (cpu(pid), Instant::now());
    let end = start + Duration::from_secs_f64(seconds);
    let tasks: Vec<_> = connections
        .into_iter()
        .map(|mut connection| {
            let calls = Rc::clone(&calls);
            tokio::task::spawn_local(async move {
                let mut id = 100;
                while Instant::now() < end {
                    id += 1;
                    connection.call(id).await;
                    calls.set(calls.get() + 1);
                }
                // The connection stays open, so that the server's memory is that under load.
                connection
            })
        })
        .collect();
    let mut open = Vec::new();
    for task in tasks {
        open.push(task.await.expect("answers"));
    }
    let (seconds, server) = (start.elapsed().as_secs_f64(), cpu(pid) - before);
    let calls = calls.get() as f64;
    println!(
        r#"{{"connections":{count},"calls":{calls},"calls_a_second":{:.0},"server_us_a_call":{:.1},"resident_kb":{}}}"#,
        calls / seconds,
        server * 1e6 / calls,
        resident(pid)
    );
}

fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let [port, mode, connections, seconds, pid] = &*a else {
        panic!("usage: http-load PORT session|stateless CONNECTIONS SECONDS PID")
    };
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (port, count) = (
        port.parse().expect("a port"),
        connections.parse().expect("a count"),
    );
    let work = run(
        port,
        mode == "stateless",
        count,
        seconds.parse().expect("seconds"),
        pid,
    );
    LocalSet::new().block_on(&runtime, work);
}
