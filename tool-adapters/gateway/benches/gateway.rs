//! The cost of the gateway beside a direct connection, its correctness while servers are killed, and its memory.
//!
//! `cargo bench -p tool-adapters-gateway --bench gateway` prints a line for each figure, and fails if a bar is
//! missed. All figures of a comparison are of one run, in which direct calls and calls through the gateway take turns.

#![allow(clippy::cast_precision_loss, reason = "the figures are rounded")]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tool_adapters::mcp::{McpClient, Server};
use tool_core::{ErrorKind, RunContext, ToolContext, tool};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Repeat a number.
#[tool(category = "retrieval")]
fn echo(n: u64) -> u64 {
    n
}

/// Repeat a number after the time that a small request of a real service takes.
#[tool(category = "retrieval")]
async fn work(n: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(20)).await;
    n
}

/// The argument with which this program is a server.
const SERVE: &str = "--serve-tools";

/// The argument with which this program forwards requests over HTTP to a URL, and reads none of them.
const FORWARD: &str = "--forward-to";

/// The calls in flight for the figures of throughput.
const IN_FLIGHT: u64 = 64;

const LATENCY_BAR: Duration = Duration::from_micros(150);
const THROUGHPUT_BAR: f64 = 0.10;
const MEMORY_BAR: u64 = 64 << 10;
/// In percent of the calls while servers are killed.
const ANSWERED_BAR: u64 = 95;

fn main() -> ExitCode {
    let arguments = env::args().collect::<Vec<_>>();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let value = |name| {
        arguments
            .iter()
            .skip_while(|argument| *argument != name)
            .nth(1)
            .map(String::as_str)
    };
    let outcome = match (value(SERVE), value(FORWARD)) {
        (Some(transport), _) => runtime.block_on(serve(transport)).map(|()| true),
        (None, Some(url)) => runtime.block_on(forward(url.to_owned())).map(|()| true),
        (None, None) => runtime.block_on(measure(arguments.iter().map(String::as_str))),
    };
    runtime.shutdown_background();
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(transport: &str) -> Outcome<()> {
    let server = Server::from_tools(ToolContext::builder().with(echo).with(work).build()?)?;
    if transport == "http" {
        let bound = server.bind(([127, 0, 0, 1], 0).into()).await?;
        eprintln!("listening on {}", bound.url()?);
        bound.serve().await?;
    } else {
        if let Some(folder) = env::var_os("PIDS") {
            std::fs::write(Path::new(&folder).join(std::process::id().to_string()), "")?;
        }
        server.serve_stdio().await?;
    }
    Ok(())
}

/// Forwards requests. This is the least that a process between a client and a server costs with the libraries of the gateway.
async fn forward(url: String) -> Outcome<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let forwarded = move |request: axum::extract::Request| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            let (mut parts, body) = request.into_parts();
            parts.headers.remove(http::header::HOST);
            let request = client.request(parts.method, url).headers(parts.headers);
            let answer = request
                .body(reqwest::Body::wrap_stream(body.into_data_stream()))
                .send()
                .await;
            answer
                .map(http::Response::from)
                .map_err(|_| http::StatusCode::BAD_GATEWAY)
                .map(|answer| answer.map(axum::body::Body::new))
        }
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().fallback(forwarded)).await?;
    Ok(())
}

/// Runs the parts that are named, or all.
async fn measure<'a>(arguments: impl Iterator<Item = &'a str>) -> Outcome<bool> {
    let named = arguments
        .filter(|argument| ["stdio", "http", "chaos", "memory"].contains(argument))
        .collect::<Vec<_>>();
    let is_wanted = |part: &str| named.is_empty() || named.contains(&part);
    let mut report = Report { reached: true };
    for transport in ["stdio", "http"] {
        if is_wanted(transport) {
            Box::pin(compare(transport, &mut report)).await?;
        }
    }
    if is_wanted("chaos") {
        chaos(&mut report).await?;
    }
    if is_wanted("memory") {
        memory(&mut report).await?;
    }
    Ok(report.reached)
}

struct Report {
    reached: bool,
}

fn line(name: &str, value: impl Display) {
    println!("{name:<44} {value}");
}

impl Report {
    fn bar(&mut self, name: &str, value: impl Display, reached: bool) {
        self.reached &= reached;
        println!(
            "{name:<44} {value}{}",
            if reached { "" } else { "   MISSED" }
        );
    }
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Starts a process that prints `listening on URL`.
fn listening(command: &mut Command) -> Outcome<(Process, String)> {
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = child.stderr.take().ok_or("no pipe")?;
    let process = Process(child);
    let mut lines = BufReader::new(errors).lines();
    loop {
        let line = lines.next().ok_or("the process ended")??;
        if let Some(url) = line.strip_prefix("listening on ") {
            let url = url.to_owned();
            std::thread::spawn(move || for _ in lines {});
            return Ok((process, url));
        }
    }
}

fn own_program() -> Outcome<PathBuf> {
    Ok(env::current_exe()?)
}

fn gateway_command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command
        .arg("--config")
        .arg(folder.join("mcp.json"))
        .arg("--policy")
        .arg(folder.join("policy.toml"));
    command.arg("--log").arg("error");
    command
}

/// The policies of the figures: each call is counted against budgets, loops are detected, and each call leaves a record.
const POLICY: &str = "
    [limits]
    max_calls = 1000000000
    retrieval = 1000000000
    repeated_calls = 1000000000
    [audit]
    file = 'audit.jsonl'
    # All clients have one address, and each has several connections. One too many is refused before its request is read.
    [http]
    allow_anonymous = true
    max_connections_per_address = 10000
";

fn write_files(folder: &Path, servers: &BTreeMap<String, Value>, policy: &str) -> Outcome<()> {
    std::fs::write(
        folder.join("mcp.json"),
        json!({"mcpServers": servers}).to_string(),
    )?;
    std::fs::write(folder.join("policy.toml"), policy)?;
    Ok(())
}

fn stdio_entry(pids: Option<&Path>) -> Outcome<Value> {
    let env = pids.map_or_else(|| json!({}), |folder| json!({"PIDS": folder}));
    Ok(json!({"command": own_program()?, "args": [SERVE, "stdio"], "env": env}))
}

async fn tools_of(client: McpClient) -> Outcome<ToolContext> {
    Ok(ToolContext::builder()
        .with(client.timeout(Duration::from_secs(60)).connect().await?)
        .build()?)
}

/// Compares direct calls with calls through the gateway, and over HTTP with calls through a process that only forwards them.
async fn compare(transport: &str, report: &mut Report) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let (mut processes, mut forwarded) = (Vec::new(), None);
    let (direct, entry) = if transport == "http" {
        let (server, url) = listening(Command::new(own_program()?).args([SERVE, "http"]))?;
        let (process, at) = listening(Command::new(own_program()?).args([FORWARD, &url]))?;
        processes.extend([server, process]);
        forwarded = Some(McpClient::url(at));
        (McpClient::url(&url), json!({"url": url}))
    } else {
        let mut command = Command::new(own_program()?);
        command.args([SERVE, "stdio"]);
        (McpClient::command(command), stdio_entry(None)?)
    };
    write_files(
        folder.path(),
        &BTreeMap::from([("s".to_owned(), entry)]),
        POLICY,
    )?;
    let through = if transport == "http" {
        let (gateway, url) =
            listening(gateway_command(folder.path()).args(["--http", "127.0.0.1:0"]))?;
        processes.push(gateway);
        McpClient::url(url)
    } else {
        McpClient::command(gateway_command(folder.path()))
    };
    let mut ways = vec![
        ("direct", tools_of(direct.prefix("s")).await?),
        ("through", tools_of(through).await?),
    ];
    if let Some(forwarded) = forwarded {
        ways.push(("forwarded", tools_of(forwarded.prefix("s")).await?));
    }

    let mut times = ways.iter().map(|_| Vec::new()).collect::<Vec<_>>();
    for round in 0..40 {
        for ((_, tools), times) in ways.iter().zip(&mut times) {
            for n in 0..100 {
                let start = Instant::now();
                call(tools, "s_echo", n).await?;
                if round > 0 {
                    times.push(start.elapsed());
                }
            }
        }
    }
    let times = times.into_iter().map(median).collect::<Vec<_>>();
    for ((way, _), time) in ways.iter().zip(&times) {
        line(
            &format!("{transport}: a call {way}, median"),
            format_args!("{} us", time.as_micros()),
        );
    }
    for ((way, _), time) in ways.iter().zip(&times).skip(1) {
        let (name, added) = (
            format!("{transport}: added by a call {way}"),
            time.saturating_sub(times[0]),
        );
        let figure = format_args!("{} us", added.as_micros());
        if *way == "through" {
            report.bar(&name, figure, added <= LATENCY_BAR);
        } else {
            line(&name, figure);
        }
    }

    for (tool, calls, rounds) in [("s_work", 4_000, 5), ("s_echo", 5_000, 6)] {
        let mut rates = ways.iter().map(|_| Vec::new()).collect::<Vec<_>>();
        for _ in 0..rounds {
            for ((_, tools), rates) in ways.iter().zip(&mut rates) {
                rates.push(rate(tools, tool, calls).await?);
            }
        }
        let rates = rates.into_iter().map(median_rate).collect::<Vec<_>>();
        let work = if tool == "s_work" {
            "20 ms a call"
        } else {
            "no work"
        };
        for ((way, _), rate) in ways.iter().zip(&rates).skip(1) {
            let (name, lost) = (
                format!("{transport}: 64 in flight, {work}, {way}"),
                1.0 - rate / rates[0],
            );
            let figures = format!(
                "{:.0} to {rate:.0} calls/s ({:+.1} %)",
                rates[0],
                -100.0 * lost
            );
            if (tool, *way) == ("s_work", "through") {
                report.bar(&name, figures, lost <= THROUGHPUT_BAR);
            } else {
                line(&name, figures);
            }
        }
    }
    for (_, tools) in ways {
        tools.close().await;
    }
    drop(processes);
    Ok(())
}

async fn call(tools: &ToolContext, tool: &str, n: u64) -> Outcome<()> {
    let response = tools
        .call(tool, &format!(r#"{{"n":{n}}}"#), &RunContext::detached())
        .await;
    match response.data_json() {
        Some(data) if data == format!(r#"{{"result":{n}}}"#) => Ok(()),
        _ => Err(format!("{tool}({n}): {response:?}").into()),
    }
}

/// Returns the calls a second with 64 in flight.
async fn rate(tools: &ToolContext, tool: &'static str, calls: u64) -> Outcome<f64> {
    let next = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (tools, next) = (tools.clone(), Arc::clone(&next));
        workers.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= calls {
                    return Ok::<_, Box<dyn std::error::Error + Send + Sync>>(());
                }
                call(&tools, tool, n).await?;
            }
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    Ok(calls as f64 / start.elapsed().as_secs_f64())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn median_rate(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// The clients, the calls of each, and the servers of the run in which servers are killed.
const CLIENTS: u64 = 1_000;
const CALLS: u64 = 100;
const SERVERS: u64 = 4;

/// Lets clients call while servers are killed at random, and counts the answers.
async fn chaos(report: &mut Report) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let pids = folder.path().join("pids");
    std::fs::create_dir(&pids)?;
    let servers = (0..SERVERS).map(|n| Ok((format!("s{n}"), stdio_entry(Some(&pids))?)));
    write_files(
        folder.path(),
        &servers.collect::<Outcome<BTreeMap<_, _>>>()?,
        POLICY,
    )?;
    let (gateway, url) = listening(gateway_command(folder.path()).args(["--http", "127.0.0.1:0"]))?;
    let clients = connect_all(&url, CLIENTS).await?;

    let done = Arc::new(AtomicBool::new(false));
    let killing = tokio::spawn(kill_at_random(pids, Arc::clone(&done)));
    let counts = Arc::new(Counts::default());
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (client, tools) in (0..).zip(clients) {
        let counts = Arc::clone(&counts);
        running.spawn(async move {
            for n in 0..CALLS {
                counts.call(&tools, client, n).await;
            }
        });
    }
    while running.join_next().await.is_some() {}
    let time = start.elapsed();
    done.store(true, Ordering::Relaxed);
    let killed = killing.await??;
    let [right, failed, misrouted, lost] = [
        &counts.right,
        &counts.failed,
        &counts.misrouted,
        &counts.lost,
    ]
    .map(|count| count.load(Ordering::Relaxed));
    line(
        "chaos: clients, calls, killed servers",
        format_args!("{CLIENTS}, {}, {killed}", CLIENTS * CALLS),
    );
    line(
        "chaos: calls a second",
        format_args!("{:.0}", (CLIENTS * CALLS) as f64 / time.as_secs_f64()),
    );
    let share = |count: u64| {
        format!(
            "{count} ({:.1} %)",
            100.0 * count as f64 / (CLIENTS * CALLS) as f64
        )
    };
    report.bar(
        "chaos: answered by the tool",
        share(right),
        right * 100 >= ANSWERED_BAR * CLIENTS * CALLS,
    );
    // Records are written together, up to 50 ms after their calls.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let outcomes = recorded_outcomes(folder.path())?;
    for (outcome, count) in outcomes.iter().filter(|(outcome, _)| *outcome != "OK") {
        line(&format!("chaos: answered {outcome}"), share(*count));
    }
    for (error, count) in &*counts.errors.lock().unwrap() {
        line("chaos: told to clients", format_args!("{count}: {error}"));
    }
    report.bar("chaos: answers of another call", misrouted, misrouted == 0);
    report.bar(
        "chaos: calls without an answer",
        lost,
        lost == 0 && right + failed + misrouted == CLIENTS * CALLS,
    );
    let records = outcomes.values().sum::<u64>();
    report.bar(
        "chaos: records of the audit log",
        records,
        records == CLIENTS * CALLS,
    );
    line(
        "chaos: memory of the gateway",
        format_args!("{} MiB", resident(&gateway.0)? >> 10),
    );
    Ok(())
}

/// Counts the records of the audit log by their outcome.
fn recorded_outcomes(folder: &Path) -> Outcome<BTreeMap<String, u64>> {
    let log = std::fs::read_to_string(folder.join("audit.jsonl"))?;
    let mut outcomes = BTreeMap::<String, u64>::new();
    for record in log.lines() {
        let record = serde_json::from_str::<Value>(record)?;
        let outcome = record["outcome"].as_str().unwrap_or_default().to_owned();
        *outcomes.entry(outcome).or_default() += 1;
    }
    Ok(outcomes)
}

#[derive(Default)]
struct Counts {
    right: AtomicU64,
    failed: AtomicU64,
    misrouted: AtomicU64,
    lost: AtomicU64,
    /// What clients were told.
    errors: Mutex<BTreeMap<String, u64>>,
}

impl Counts {
    async fn call(&self, tools: &ToolContext, client: u64, n: u64) {
        let sent = client * CALLS + n;
        let (tool, arguments) = (
            format!("s{}_echo", (client + n) % SERVERS),
            format!(r#"{{"n":{sent}}}"#),
        );
        let ctx = RunContext::detached();
        let answer =
            tokio::time::timeout(Duration::from_secs(90), tools.call(&tool, &arguments, &ctx))
                .await;
        let count = match &answer {
            Err(_) => &self.lost,
            Ok(response) => match (response.data_json(), response.error()) {
                (Some(data), _) if data == format!(r#"{{"result":{sent}}}"#) => &self.right,
                (Some(_), _) => &self.misrouted,
                // The audit log has the kind that the gateway gave it.
                (None, Some(error)) if error.kind != ErrorKind::Timeout => {
                    let told = error.message.clone();
                    *self.errors.lock().unwrap().entry(told).or_default() += 1;
                    &self.failed
                }
                _ => &self.lost,
            },
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

async fn connect_all(url: &str, clients: u64) -> Outcome<Vec<ToolContext>> {
    let mut connected = Vec::new();
    while (connected.len() as u64) < clients {
        let some = (0..50).map(|_| tools_of(McpClient::url(url)));
        connected.extend(futures_util::future::try_join_all(some).await?);
    }
    Ok(connected)
}

/// Kills one of the servers every 300 ms or so. Returns the number that it killed.
async fn kill_at_random(pids: PathBuf, done: Arc<AtomicBool>) -> Outcome<u64> {
    let (mut killed, mut seed) = (0, 0x9e37_79b9_7f4a_7c15_u64);
    while !done.load(Ordering::Relaxed) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        tokio::time::sleep(Duration::from_millis(100 + (seed >> 33) % 400)).await;
        let running = std::fs::read_dir(&pids)?.collect::<Result<Vec<_>, _>>()?;
        if running.is_empty() {
            continue;
        }
        let chosen = &running[usize::try_from(seed >> 40)? % running.len()];
        std::fs::remove_file(chosen.path())?;
        let process = chosen.file_name();
        killed += u64::from(
            Command::new("kill")
                .arg("-9")
                .arg(&process)
                .status()?
                .success(),
        );
    }
    Ok(killed)
}

/// Measures the memory of a gateway with 20 servers and 1,000 sessions.
async fn memory(report: &mut Report) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let servers = (0..20).map(|n| Ok((format!("s{n}"), stdio_entry(None)?)));
    write_files(
        folder.path(),
        &servers.collect::<Outcome<BTreeMap<_, _>>>()?,
        POLICY,
    )?;
    let (gateway, url) = listening(gateway_command(folder.path()).args(["--http", "127.0.0.1:0"]))?;
    let before = resident(&gateway.0)?;
    let clients = connect_all(&url, 1_000).await?;
    for (n, tools) in (0..).zip(&clients) {
        call(tools, &format!("s{}_echo", n % 20), n).await?;
    }
    let after = resident(&gateway.0)?;
    line(
        "memory: 20 servers",
        format_args!("{:.1} MiB", before as f64 / 1024.0),
    );
    let name = "memory: 20 servers and 1,000 sessions";
    report.bar(
        name,
        format_args!("{:.1} MiB", after as f64 / 1024.0),
        after <= MEMORY_BAR,
    );
    Ok(())
}

/// Returns the resident memory of a process in KiB.
fn resident(process: &Child) -> Outcome<u64> {
    let output = Command::new("ps")
        .args(["-o", "rss=", "-p", &process.id().to_string()])
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
