//! Several workers over one database of PostgreSQL.

use crate::due::{draft, silent_at_the_end, states};
use crate::server;
use crate::support::Home;
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use std::collections::HashSet;
use std::time::Duration;
use tool_core::jiff::Timestamp;

/// A database that no other test uses.
struct OwnDatabase {
    server: String,
    name: String,
}

impl OwnDatabase {
    /// Creates a database on the server in `POSTGRES_URL`. Returns `None` if there is no server.
    async fn new() -> Option<Self> {
        let server = std::env::var("POSTGRES_URL").ok();
        let Some(server) = server.filter(|url| !url.is_empty()) else {
            tool_core::testing::skip("there is no POSTGRES_URL");
            return None;
        };
        let name = format!("worker_{}", Timestamp::now().as_nanosecond());
        let own = Self { server, name };
        own.by_hand(format!("CREATE DATABASE {}", own.name)).await;
        Some(own)
    }

    fn url(&self) -> String {
        let start = self.server.split('?').next().unwrap_or_default();
        let options = self.server.strip_prefix(start).unwrap_or_default();
        let database = start.rfind('/').filter(|at| !start[..*at].ends_with('/'));
        let host = database.map_or(start, |at| &start[..at]);
        format!("{host}/{}{options}", self.name)
    }

    async fn by_hand(&self, sql: String) {
        let mut connection = PgConnection::connect(&self.server).await.unwrap();
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
    }

    async fn remove(self) {
        self.by_hand(format!("DROP DATABASE {} WITH (FORCE)", self.name))
            .await;
    }
}

// A5
#[tokio::test(flavor = "multi_thread")]
async fn due_drafts_of_several_workers_are_sent_once() {
    let Some(database) = OwnDatabase::new().await else {
        return;
    };
    let (address, mailbox) = server::start_at(0).await.unwrap();
    let home = Home::with_mail_at(address.port()).in_postgres(&database.url());
    // They start at once, and one of them makes the agents.
    let mut workers = [home.serve(), home.serve(), home.serve()];
    for number in 0..12 {
        let to = format!("grace-{number}@example.org");
        let scheduled = workers[number % 3].call("schedule_draft", draft(&to));
        assert_eq!(scheduled["ok"], true, "{scheduled}");
    }
    while states(&home).iter().any(|state| state != "sent") {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    let arrived = mailbox.arrived();
    let to = arrived.iter().map(|message| message.to.clone());
    assert_eq!(
        (arrived.len(), to.collect::<HashSet<_>>().len()),
        (12, 12),
        "{arrived:?}"
    );
    for worker in workers {
        worker.end();
    }
    database.remove().await;
}

// R-C3
#[tokio::test(flavor = "multi_thread")]
async fn approval_of_one_worker_runs_in_another() {
    let Some(database) = OwnDatabase::new().await else {
        return;
    };
    let (address, mailbox) = server::start_at(0).await.unwrap();
    let home = Home::with_mail_at(address.port()).in_postgres(&database.url());
    let mut asking = home.serve();
    let letter = json!({"to": "grace@example.org", "subject": "Hello", "body": "It begins."});
    let asked = asking.ask(
        &json!({"agent": "alice", "session": "s-1", "name": "send_email", "arguments": letter}),
    );
    let token = asked["response"]["meta"]["confirmation"]["token"].clone();
    assert!(token.is_string(), "{asked}");
    asking.kill();

    let mut other = home.serve();
    let sent = other.ask(&json!({"agent": "alice", "session": "s-1", "approve": token}));
    assert_eq!(sent["response"]["ok"], true, "{sent}");
    let again = other.ask(&json!({"agent": "alice", "session": "s-1", "approve": token}));
    assert_eq!(again["response"]["ok"], false, "{again}");
    assert_eq!(mailbox.arrived().len(), 1);
    other.end();
    database.remove().await;
}

// A5
#[tokio::test(flavor = "multi_thread")]
async fn draft_of_a_killed_worker_is_unknown_to_a_living_one() {
    let Some(database) = OwnDatabase::new().await else {
        return;
    };
    let (port, ends) = silent_at_the_end();
    let mut home = Home::with_mail_at(port).in_postgres(&database.url());
    home.set("WORKER_LEASE_SECONDS", "3");
    let mut killed = home.serve();
    killed.call("schedule_draft", draft("grace@example.org"));
    let held = ends.recv().unwrap();
    let other = home.serve();
    killed.kill();
    assert_eq!(states(&home), ["sending"]);

    let told = other.says("may have been sent");
    assert!(told.contains("draft 1 of alice"), "{told}");
    assert_eq!(states(&home), ["unknown"]);
    drop(held);
    other.end();
    database.remove().await;
}

#[test]
fn workers_of_one_database_need_their_keys() {
    let mut home = Home::new().in_postgres("postgres://127.0.0.1:9/nobody");
    home.set("WORKER_SIGNING_KEY", "short");
    let refused = home.run(&["list"], "");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        told.contains("set WORKER_SIGNING_KEY to 64 hexadecimal digits"),
        "{told}"
    );
}
