//! Tasks that outlive their process: servers that share a store and a journal answer for each other's tasks.
//!
//! Environment variables make this binary the process that is killed or stopped.

use super::http::{HttpClient, by_user, serve};
use super::postgres_server::Schema;
use super::redis_server;
use super::support::{stateless, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::sleep;
use tool_adapters::mcp::{Server, TaskSupport};
use tool_adapters::stores::{FileJournal, PostgresStore, RedisStore, SqliteStore};
use tool_core::session::{
    Journal, JournalEntry, JournalError, JournalStart, RecoveredCall, RuntimeBuilder,
};
use tool_core::{RunContext, Runtime, ToolContext, ToolError, UserData, tool};

/// What the tools of a test share with it.
#[derive(Default)]
struct Bench {
    done: Notify,
    calls: AtomicUsize,
}

/// Work until the test says so.
#[tool(category = "action", timeout = "60s")]
async fn work(#[context] UserData(bench): UserData<Bench>, text: String) -> String {
    bench.calls.fetch_add(1, Ordering::SeqCst);
    bench.done.notified().await;
    text
}

/// Look something up, until the test says so.
#[tool(category = "retrieval", timeout = "60s")]
async fn look_up(#[context] UserData(bench): UserData<Bench>) -> &'static str {
    bench.done.notified().await;
    "found"
}

/// Pay, which takes a while.
#[tool(category = "action", timeout = "60s")]
async fn pay(milliseconds: u64) -> &'static str {
    sleep(Duration::from_millis(milliseconds)).await;
    "paid"
}

/// Report in the middle of the work.
#[tool(timeout = "60s")]
async fn report_later(ctx: &RunContext) {
    sleep(Duration::from_millis(1)).await;
    ctx.update("half way");
}

/// Ask in the middle of the work.
#[tool(timeout = "60s")]
async fn ask_later(ctx: &RunContext) -> Result<bool, ToolError> {
    sleep(Duration::from_millis(1)).await;
    ctx.ask::<bool>("Go on?").await?.required()
}

/// Erase, once the user agrees.
#[tool(category = "action", confirm)]
fn erase(#[context] UserData(bench): UserData<Bench>) -> usize {
    bench.calls.fetch_add(1, Ordering::SeqCst) + 1
}

/// Burn a disc, once the user agrees, until the test says so.
#[tool(category = "action", confirm, timeout = "60s")]
async fn burn(#[context] UserData(bench): UserData<Bench>) {
    bench.calls.fetch_add(1, Ordering::SeqCst);
    bench.done.notified().await;
}

/// Ask once more, after the user has agreed.
#[tool(category = "action", confirm, timeout = "60s")]
async fn ask_approved(ctx: &RunContext) -> Result<bool, ToolError> {
    ctx.ask::<bool>("Go on?").await?.required()
}

/// Answer at once.
#[tool]
fn count(#[context] UserData(bench): UserData<Bench>) -> usize {
    bench.calls.fetch_add(1, Ordering::SeqCst)
}

/// A store that replicas share.
enum Place {
    Sqlite(TempDir),
    Postgres(Schema),
    Redis {
        url: String,
        prefix: String,
    },
    /// A journal of one process, and sessions in its memory.
    File(TempDir),
}

/// The end of the address of a journal in a file.
const FILE: &str = "tasks.journal";

impl Place {
    fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("a folder"))
    }

    async fn postgres() -> Option<Self> {
        Schema::on_server().await.map(Self::Postgres)
    }

    fn redis() -> Option<Self> {
        let url = redis_server::url()?;
        let prefix = redis_server::prefix();
        Some(Self::Redis { url, prefix })
    }

    /// Returns the address of the store, for another process.
    fn address(&self) -> String {
        match self {
            Self::Sqlite(folder) => folder.path().join("store.db").display().to_string(),
            Self::Postgres(schema) => schema.url(),
            Self::Redis { url, prefix } => format!("{url}#{prefix}"),
            Self::File(folder) => folder.path().join(FILE).display().to_string(),
        }
    }

    /// Starts a server on the store. Its tools wait for `bench`.
    async fn replica(&self, bench: &Arc<Bench>) -> Replica {
        let server = server(&self.address(), bench, LEASE).await;
        Replica::serve(server).await
    }
}

/// The time after which a process that gives no sign of life counts as killed.
const LEASE: Duration = Duration::from_secs(10);
/// The same where a process is killed or stopped.
const SHORT_LEASE: Duration = Duration::from_millis(500);

/// Sets the store and the journal of a runtime.
async fn with_store(builder: RuntimeBuilder, address: &str, lease: Duration) -> RuntimeBuilder {
    if address.starts_with("postgres") {
        let store = PostgresStore::connect(address).await.expect("a store");
        let journal = store.journal().lease(lease);
        builder.store(store).journal(journal)
    } else if let Some((url, prefix)) = address.split_once('#') {
        let store = RedisStore::connect(url).await.expect("a store");
        let store = store.prefix(prefix);
        let journal = store.journal().lease(lease);
        builder.store(store).journal(journal)
    } else if address.ends_with(FILE) {
        let journal = FileJournal::open(address).expect("a journal");
        builder.journal(journal)
    } else {
        let store = SqliteStore::open(address).await.expect("a store");
        let journal = store.journal().lease(lease);
        builder.store(store).journal(journal)
    }
}

fn builder() -> RuntimeBuilder {
    let tools = ToolContext::builder()
        .with(work)
        .with(look_up)
        .with(pay)
        .with(report_later)
        .with(ask_later)
        .with(erase)
        .with(burn)
        .with(ask_approved)
        .with(count);
    Runtime::builder(tools.build().expect("sound tools"))
        .policy(Server::policy().store_deadline(Duration::from_secs(20)))
        .signing_key([7; 32])
}

fn server_of(builder: RuntimeBuilder, bench: &Arc<Bench>) -> Server {
    let runtime = builder.build().expect("a runtime");
    let bench = Arc::clone(bench);
    let server = Server::new(runtime).tasks(|tool| match tool.name() {
        "count" => TaskSupport::Forbidden,
        _ => TaskSupport::Optional,
    });
    by_user(server.session(move |builder, _| builder.user_data_shared(Arc::clone(&bench))))
}

async fn server(address: &str, bench: &Arc<Bench>, lease: Duration) -> Server {
    server_of(with_store(builder(), address, lease).await, bench)
}

/// A server, as its clients see it.
#[derive(Clone)]
struct Replica {
    server: Option<Server>,
    client: HttpClient,
}

impl Replica {
    async fn serve(server: Server) -> Self {
        let url = serve(&server).await;
        Self {
            server: Some(server),
            client: HttpClient::new(&url).with("x-user", "ada"),
        }
    }

    fn at(url: &str) -> Self {
        Self {
            server: None,
            client: HttpClient::new(url).with("x-user", "ada"),
        }
    }

    fn user(&self, name: &str) -> Self {
        let mut replica = self.clone();
        replica.client = replica.client.with("x-user", name);
        replica
    }

    /// Makes a request of revision 2026-07-28 with tasks, and returns the answer.
    async fn request(&self, method: &str, name: &str, params: Value) -> Value {
        let text = self.events(method, name, params).await;
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let data = events.rfind(|data| !data.is_empty());
        serde_json::from_str(data.unwrap_or(&text)).expect("JSON")
    }

    /// Makes a request, and returns the text of its answer, which may be events. A token for its
    /// progress may be among the parameters.
    async fn events(&self, method: &str, name: &str, mut params: Value) -> String {
        let extensions = json!({"io.modelcontextprotocol/tasks": {}});
        let mut meta = stateless(&json!({"elicitation": {}, "extensions": extensions}));
        if let Some(token) = params.get("progressToken") {
            meta["progressToken"] = token.clone();
        }
        params["_meta"] = meta;
        let client = self
            .client
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", method)
            .with("mcp-name", name);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        client.post(&message).await.text().await.expect("a text")
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", tool, params).await
    }

    /// Makes a call that becomes a task, and returns the task's id.
    async fn begin(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        let id = answer["result"]["taskId"].as_str();
        id.unwrap_or_else(|| panic!("a task: {answer}")).to_owned()
    }

    async fn of_task(&self, method: &str, id: &str, more: Value) -> Value {
        let mut params = more;
        params["taskId"] = id.into();
        self.request(method, id, params).await
    }

    async fn get(&self, id: &str) -> Value {
        self.of_task("tasks/get", id, json!({})).await
    }

    /// Waits until a task has a status, and returns the task.
    async fn wait_for(&self, id: &str, status: &str) -> Value {
        let mut task = Value::Null;
        until(async || {
            let answer = self.get(id).await;
            task = answer["result"].clone();
            let known = task["status"].as_str();
            let goes_on = matches!(known, Some("working" | "input_required"));
            assert!(goes_on || known == Some(status), "{answer}");
            known == Some(status)
        })
        .await;
        task
    }

    async fn cancel(&self, id: &str) {
        let answer = self.of_task("tasks/cancel", id, json!({})).await;
        assert_eq!(
            answer["result"],
            json!({"resultType": "complete"}),
            "{answer}"
        );
    }

    async fn knows_not(&self, id: &str) -> bool {
        self.get(id).await["error"]["code"] == -32602
    }
}

/// A task is told by a replica that does not run it, while it runs and after its end.
async fn another_replica_tells_the_result(place: &Place) {
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    let created = one.call("work", json!({"text": "done"})).await["result"].clone();
    let id = created["taskId"].as_str().expect("a task");

    let task = other.get(id).await["result"].clone();
    for member in [
        "status",
        "createdAt",
        "lastUpdatedAt",
        "ttlMs",
        "pollIntervalMs",
    ] {
        assert_eq!(task[member], created[member], "{task}");
    }
    bench.done.notify_one();
    let task = other.wait_for(id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "done", "{task}");
    assert_eq!(one.get(id).await["result"]["result"], task["result"]);
    assert_eq!(bench.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn another_replica_tells_the_result_in_sqlite() {
    another_replica_tells_the_result(&Place::sqlite()).await;
}

#[tokio::test]
async fn another_replica_tells_the_result_in_postgres() {
    if let Some(place) = Place::postgres().await {
        another_replica_tells_the_result(&place).await;
    }
}

#[tokio::test]
async fn another_replica_tells_the_result_in_redis() {
    if let Some(place) = Place::redis() {
        another_replica_tells_the_result(&place).await;
    }
}

/// The question of a task is seen and answered at another replica.
async fn another_replica_takes_the_answer(place: &Place) {
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    let id = one.begin("ask_later", json!({})).await;
    let task = other.wait_for(&id, "input_required").await;
    assert_eq!(task["inputRequests"]["ask"]["method"], "elicitation/create");

    let wrong = json!({"inputResponses": {"ask": 7}});
    let refused = other.of_task("tasks/update", &id, wrong).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let unknown = json!({"inputResponses": {"other": {"action": "cancel"}}});
    let ignored = other.of_task("tasks/update", &id, unknown).await;
    assert!(ignored.get("error").is_none(), "{ignored}");
    assert_eq!(other.get(&id).await["result"]["status"], "input_required");

    let yes = json!({"ask": {"action": "accept", "content": {"answer": true}}});
    let taken = json!({"inputResponses": yes});
    other.of_task("tasks/update", &id, taken).await;
    let status = other.get(&id).await["result"]["status"].clone();
    assert_ne!(
        status, "input_required",
        "the client sees that it has answered"
    );
    let task = other.wait_for(&id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "true", "{task}");
}

#[tokio::test]
async fn another_replica_takes_the_answer_in_sqlite() {
    another_replica_takes_the_answer(&Place::sqlite()).await;
}

#[tokio::test]
async fn another_replica_takes_the_answer_in_postgres() {
    if let Some(place) = Place::postgres().await {
        another_replica_takes_the_answer(&place).await;
    }
}

#[tokio::test]
async fn another_replica_takes_the_answer_in_redis() {
    if let Some(place) = Place::redis() {
        another_replica_takes_the_answer(&place).await;
    }
}

/// Begins the task of a call that needs an approval, and approves it.
async fn begin_approved(replica: &Replica, tool: &str) -> String {
    let id = replica.begin(tool, json!({})).await;
    let task = replica.wait_for(&id, "input_required").await;
    let mut requests = task["inputRequests"].as_object().expect("requests").keys();
    let name = requests.next().expect("a request");
    let agreed = json!({"inputResponses": {name: {"action": "accept", "content": {}}}});
    replica.of_task("tasks/update", &id, agreed).await;
    id
}

#[tokio::test]
async fn task_is_cancelled_after_its_approval() {
    let bench = Arc::new(Bench::default());
    let place = Place::sqlite();
    let replica = place.replica(&bench).await;
    let id = begin_approved(&replica, "burn").await;
    until(async || bench.calls.load(Ordering::SeqCst) == 1).await;
    replica.cancel(&id).await;
    replica.wait_for(&id, "cancelled").await;
}

#[tokio::test]
async fn approved_task_asks_its_user() {
    let place = Place::sqlite();
    let replica = place.replica(&Arc::default()).await;
    let id = begin_approved(&replica, "ask_approved").await;
    let task = replica.wait_for(&id, "input_required").await;
    let mut requests = task["inputRequests"].as_object().expect("requests").iter();
    let (name, asked) = requests.next().expect("a request");
    assert_eq!(asked["params"]["message"], "Go on?", "{task}");
    let yes = json!({name: {"action": "accept", "content": {"answer": true}}});
    let yes = json!({"inputResponses": yes});
    replica.of_task("tasks/update", &id, yes).await;
    let task = replica.wait_for(&id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "true", "{task}");
}

#[tokio::test]
async fn another_replica_takes_the_approval_of_a_task() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    for (action, runs) in [("decline", 0), ("accept", 1)] {
        let id = one.begin("erase", json!({})).await;
        let task = other.wait_for(&id, "input_required").await;
        let (name, asked) = task["inputRequests"]
            .as_object()
            .and_then(|requests| requests.iter().next())
            .expect("a request");
        assert_eq!(asked["method"], "elicitation/create", "{task}");
        let answer = json!({name: {"action": action, "content": {}}});
        let answers = json!({"inputResponses": answer});
        other.of_task("tasks/update", &id, answers.clone()).await;
        other.of_task("tasks/update", &id, answers).await;
        other.wait_for(&id, "completed").await;
        assert_eq!(bench.calls.load(Ordering::SeqCst), runs, "{action}");
    }
}

/// A task ends where it runs if it is cancelled at another replica.
async fn another_replica_cancels_a_task(place: &Place) {
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    for (tool, status) in [("look_up", "working"), ("ask_later", "input_required")] {
        let id = one.begin(tool, json!({})).await;
        other.wait_for(&id, status).await;
        other.cancel(&id).await;
        one.wait_for(&id, "cancelled").await;
        other.wait_for(&id, "cancelled").await;
    }
    let id = one.begin("look_up", json!({})).await;
    bench.done.notify_one();
    other.wait_for(&id, "completed").await;
    other.cancel(&id).await;
    other.wait_for(&id, "completed").await;
}

#[tokio::test]
async fn another_replica_cancels_a_task_in_sqlite() {
    another_replica_cancels_a_task(&Place::sqlite()).await;
}

#[tokio::test]
async fn another_replica_cancels_a_task_in_postgres() {
    if let Some(place) = Place::postgres().await {
        another_replica_cancels_a_task(&place).await;
    }
}

#[tokio::test]
async fn another_replica_cancels_a_task_in_redis() {
    if let Some(place) = Place::redis() {
        another_replica_cancels_a_task(&place).await;
    }
}

// T38
#[tokio::test]
async fn another_principal_finds_no_task_at_any_replica() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    let id = one.begin("work", json!({"text": "secret"})).await;
    let mut tried = 0;
    for replica in [&one, &other] {
        for eve in ["eve", "Ada", "mcp-task", "ada,"] {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let params = json!({"inputResponses": {}});
                let answer = replica.user(eve).of_task(method, &id, params).await;
                assert_eq!(answer["result"], Value::Null, "{eve:?} {answer}");
                tried += 1;
            }
        }
    }
    let random = id.split('-').next().expect("a part").to_owned();
    for guess in [
        random.clone(),
        format!("{random}-0-900000"),
        id.replace(&random, &"0".repeat(32)),
        format!("{id}0"),
        id.to_uppercase(),
        "-".repeat(4_000),
        String::new(),
    ] {
        assert!(other.knows_not(&guess).await, "{guess}");
        tried += 1;
    }
    assert_eq!(tried, 31);
    bench.done.notify_one();
    other.wait_for(&id, "completed").await;
}

// T38
#[tokio::test]
async fn tasks_of_a_client_are_bounded_over_replicas() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let ttl = Duration::from_secs(2);
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let server = server(&place.address(), &bench, LEASE).await;
        replicas.push(Replica::serve(server.max_tasks(3).task_ttl(ttl)).await);
    }
    let mut begun = 0;
    for at in 0..12 {
        let answer = replicas[at % 2].call("look_up", json!({})).await;
        begun += usize::from(answer["result"]["taskId"].is_string());
        let is_refused = answer["error"]["code"] == -32600;
        assert_eq!(is_refused, at >= 3, "{answer}");
    }
    assert_eq!(begun, 3);
    let of_another = replicas[1].user("bob").call("look_up", json!({})).await;
    assert!(of_another["result"]["taskId"].is_string(), "{of_another}");
    until(async || {
        sleep(Duration::from_millis(100)).await;
        replicas[1].call("look_up", json!({})).await["result"]["taskId"].is_string()
    })
    .await;
}

#[tokio::test]
async fn task_is_over_at_all_replicas_after_its_time() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let server = server(&place.address(), &bench, LEASE).await;
    let one = Replica::serve(server.task_ttl(Duration::from_secs(2))).await;
    let other = place.replica(&bench).await;
    let done = one.begin("pay", json!({"milliseconds": 1})).await;
    let running = one.begin("look_up", json!({})).await;
    other.wait_for(&done, "completed").await;
    for id in [&done, &running] {
        // Asked at a pace: each request takes a connection of the machine.
        until(async || {
            sleep(Duration::from_millis(20)).await;
            one.knows_not(id).await && other.knows_not(id).await
        })
        .await;
    }
}

#[tokio::test]
async fn drained_replica_leaves_the_results_of_its_tasks() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    let finishes = one.begin("pay", json!({"milliseconds": 300})).await;
    let waits = one.begin("look_up", json!({})).await;
    let server = one.server.clone().expect("a server");
    server.drain(Duration::from_secs(1)).await;
    server.stop();

    let task = other.get(&finishes).await["result"].clone();
    assert_eq!(task["result"]["content"][0]["text"], "paid", "{task}");
    let task = other.get(&waits).await["result"].clone();
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["result"]["isError"], true, "{task}");
}

#[tokio::test]
async fn equal_calls_at_two_replicas_both_run() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let one = place.replica(&bench).await;
    let other = place.replica(&bench).await;
    for (number, replica) in [&one, &other, &one, &other].into_iter().enumerate() {
        let answer = replica.call("count", json!({})).await;
        let text = &answer["result"]["content"][0]["text"];
        assert_eq!(text, &number.to_string(), "{answer}");
    }
}

/// A journal whose records are changed on their way, or that is down for tasks.
struct FaultyJournal<J> {
    journal: J,
    fault: Fault,
    has_failed: AtomicBool,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// The end of another process's record is another one.
    ChangedEnd,
    /// The record of another process is of another tool.
    ChangedTool,
    /// No task can be recorded.
    NoRuns,
    /// The first end of a task cannot be recorded.
    FirstEnd,
    /// The first answer that is taken over fails, after it has been recorded.
    FirstAnswer,
}

impl<J: Journal> FaultyJournal<J> {
    fn change(&self, call: &mut RecoveredCall) {
        if call.entry.call_id != "run" {
            return;
        }
        if self.fault == Fault::ChangedTool {
            "another".clone_into(&mut call.entry.tool);
        }
        if self.fault == Fault::ChangedEnd {
            let end = call.response.as_deref();
            call.response = end.map(|end| end.replace("honest", "forged"));
        }
    }
}

impl<J: Journal> Journal for FaultyJournal<J> {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        if self.fault == Fault::NoRuns && call.call_id == "run" {
            return Err(JournalError::new("the disk is full"));
        }
        let started = self.journal.started(call).await;
        let fails = self.fault == Fault::FirstAnswer && call.call_id.starts_with("answer/");
        if fails && !self.has_failed.swap(true, Ordering::SeqCst) {
            return Err(JournalError::new("the connection is lost"));
        }
        started
    }

    async fn find(
        &self,
        session: &str,
        call_id: &str,
    ) -> Result<Option<JournalStart>, JournalError> {
        let mut found = self.journal.find(session, call_id).await?;
        if let Some(JournalStart::Known(call)) = &mut found {
            self.change(call);
        }
        Ok(found)
    }

    async fn finished(&self, session: &str, id: &str, end: &str) -> Result<(), JournalError> {
        let fails = self.fault == Fault::FirstEnd && id == "run";
        if fails && !self.has_failed.swap(true, Ordering::SeqCst) {
            return Err(JournalError::new("the disk is full"));
        }
        self.journal.finished(session, id, end).await
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        let mut calls = self.journal.recover(session).await?;
        for call in &mut calls {
            self.change(call);
        }
        Ok(calls)
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.journal.forget(session).await
    }
}

async fn faulty_replica(place: &Place, bench: &Arc<Bench>, fault: Fault) -> Replica {
    let store = SqliteStore::open(place.address()).await.expect("a store");
    let journal = store.journal();
    let journal = FaultyJournal {
        journal,
        fault,
        has_failed: AtomicBool::new(false),
    };
    let builder = builder().store(store).journal(journal);
    Replica::serve(server_of(builder, bench)).await
}

// T38
#[tokio::test]
async fn changed_record_of_a_task_is_not_told() {
    for fault in [Fault::ChangedEnd, Fault::ChangedTool] {
        let place = Place::sqlite();
        let bench = Arc::new(Bench::default());
        let one = place.replica(&bench).await;
        let deceived = faulty_replica(&place, &bench, fault).await;
        let id = one.begin("work", json!({"text": "honest"})).await;
        bench.done.notify_one();
        one.wait_for(&id, "completed").await;

        let task = deceived.wait_for(&id, "failed").await;
        let message = task["error"]["message"].as_str().expect("a message");
        assert!(message.contains("cannot be trusted"), "{message}");
        assert!(!task.to_string().contains("forged"), "{task}");
        assert_eq!(task["error"]["data"]["type"], "UNKNOWN");
    }
}

#[tokio::test]
async fn call_without_a_record_is_answered_when_it_is_done() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let replica = faulty_replica(&place, &bench, Fault::NoRuns).await;
    let answer = replica.call("pay", json!({"milliseconds": 100})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "paid", "{answer}");
}

#[tokio::test]
async fn call_without_a_record_reports_its_progress() {
    let place = Place::sqlite();
    let replica = faulty_replica(&place, &Arc::default(), Fault::NoRuns).await;
    let params = json!({"name": "report_later", "arguments": {}, "progressToken": "p"});
    let text = replica.events("tools/call", "report_later", params).await;
    assert!(text.contains("half way"), "{text}");
}

#[tokio::test]
async fn end_that_could_not_be_recorded_is_recorded_again() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let one = faulty_replica(&place, &bench, Fault::FirstEnd).await;
    let other = place.replica(&bench).await;
    let id = one.begin("pay", json!({"milliseconds": 1})).await;
    for replica in [&other, &one] {
        let task = replica.wait_for(&id, "completed").await;
        assert_eq!(task["result"]["content"][0]["text"], "paid", "{task}");
    }
}

#[tokio::test]
async fn answer_is_not_lost_when_it_cannot_be_taken_over() {
    let place = Place::sqlite();
    let bench = Arc::new(Bench::default());
    let one = faulty_replica(&place, &bench, Fault::FirstAnswer).await;
    let other = place.replica(&bench).await;
    let id = one.begin("ask_later", json!({})).await;
    other.wait_for(&id, "input_required").await;
    let yes = json!({"ask": {"action": "accept", "content": {"answer": true}}});
    let answers = json!({"inputResponses": yes});
    other.of_task("tasks/update", &id, answers).await;
    let task = other.wait_for(&id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "true", "{task}");
}

const PLACE: &str = "SHARED_TASKS_TEST_PLACE";
/// The prefix of the other process's lines. The test harness writes to the same stream.
const SAYS: &str = "@ ";

/// The other process, where it is one.
#[tokio::test]
#[ignore = "the other tests run it in its own process"]
async fn serves_until_it_is_killed() {
    let address = std::env::var(PLACE).expect("the place");
    let server = server(&address, &Arc::default(), SHORT_LEASE).await;
    let bound = server.bind(([127, 0, 0, 1], 0).into()).await;
    let bound = bound.expect("an address");
    println!("\n{SAYS}{}", bound.url().expect("a URL"));
    bound.serve().await.expect("it serves");
}

/// A server in another process, which ends with this value.
struct Process {
    child: Child,
    replica: Replica,
    /// Open, so that the process can go on writing.
    _output: BufReader<ChildStdout>,
}

impl Process {
    fn start(place: &Place) -> Self {
        let this = std::env::current_exe().expect("this binary");
        let mut child = Command::new(this)
            .args(["--exact", "shared_tasks::serves_until_it_is_killed"])
            .args(["--ignored", "--nocapture"])
            .env(PLACE, place.address())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        while !line.starts_with(SAYS) {
            line.clear();
            let read = output.read_line(&mut line).expect("its output");
            assert_ne!(read, 0, "it says its address");
        }
        let replica = Replica::at(line.trim_start_matches(SAYS).trim());
        Self {
            child,
            replica,
            _output: output,
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("a signal").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it has ended");
    }
}

/// The tasks of a process that is killed (SIGKILL) are told as failed.
async fn task_of_a_killed_process_is_told_as_lost(place: &Place) {
    let process = Process::start(place);
    let killed = process.replica.clone();
    let other = place.replica(&Arc::default()).await;
    let third = place.replica(&Arc::default()).await;
    let action = killed.begin("pay", json!({"milliseconds": 60_000})).await;
    let retrieval = killed.begin("look_up", json!({})).await;
    let ended = killed.begin("pay", json!({"milliseconds": 1})).await;
    other.wait_for(&ended, "completed").await;
    assert_eq!(other.get(&action).await["result"]["status"], "working");
    drop(process);

    let task = other.wait_for(&action, "failed").await;
    let message = task["error"]["message"].as_str().expect("a message");
    assert!(message.starts_with("`pay` was started at "), "{message}");
    assert!(
        message.contains("it is unknown whether it took effect"),
        "{message}"
    );
    let data = json!({"type": "UNKNOWN", "retryable": false});
    assert_eq!(task["error"]["data"], data);
    let same = third.wait_for(&action, "failed").await;
    assert_eq!(same["error"], task["error"], "all replicas tell one end");
    assert_eq!(other.get(&action).await["result"]["error"], task["error"]);

    let task = third.wait_for(&retrieval, "failed").await;
    let message = task["error"]["message"].as_str().expect("a message");
    assert!(message.contains("Call it again"), "{message}");
    let data = json!({"type": "TRANSIENT", "retryable": true});
    assert_eq!(task["error"]["data"], data);

    let task = third.get(&ended).await["result"].clone();
    assert_eq!(task["result"]["content"][0]["text"], "paid", "{task}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_of_a_killed_process_is_told_as_lost_in_sqlite() {
    task_of_a_killed_process_is_told_as_lost(&Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_of_a_killed_process_is_told_as_lost_in_postgres() {
    if let Some(place) = Place::postgres().await {
        task_of_a_killed_process_is_told_as_lost(&place).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_of_a_killed_process_is_told_as_lost_in_redis() {
    if let Some(place) = Place::redis() {
        task_of_a_killed_process_is_told_as_lost(&place).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_process_tells_the_tasks_of_the_one_before() {
    let place = Place::File(tempfile::tempdir().expect("a folder"));
    let process = Process::start(&place);
    let pay = json!({"milliseconds": 60_000});
    let id = process.replica.begin("pay", pay).await;
    drop(process);
    let next = place.replica(&Arc::default()).await;
    let task = next.wait_for(&id, "failed").await;
    let message = task["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("it is unknown whether it took effect"),
        "{message}"
    );
    assert!(next.user("eve").knows_not(&id).await);
}

/// A process that only seemed to be killed tells the end that others have told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_end_of_a_stopped_process_does_not_count() {
    // A script of Redis leaves no lock behind in a process that is stopped.
    let Some(place) = Place::redis() else {
        return;
    };
    let process = Process::start(&place);
    let other = place.replica(&Arc::default()).await;
    let id = process
        .replica
        .begin("pay", json!({"milliseconds": 2_000}))
        .await;
    process.signal("-STOP");
    let told = other.wait_for(&id, "failed").await;
    process.signal("-CONT");

    let late = process.replica.wait_for(&id, "failed").await;
    assert_eq!(late["error"], told["error"]);
    assert_eq!(other.get(&id).await["result"]["error"], told["error"]);
}
