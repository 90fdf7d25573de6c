//! The audit log in a table of PostgreSQL.

use crate::support::{Client, Folder};
use serde_json::json;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tokio::task::JoinSet;
use tool_adapters::gateway::Gateway;

/// A schema of a test, which the test drops at its end.
struct AuditSchema {
    server: String,
    name: String,
}

impl AuditSchema {
    /// Creates a schema, if there is a server.
    async fn on_server() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let Ok(server) = std::env::var("POSTGRES_URL") else {
            tool_core::testing::skip("there is no POSTGRES_URL");
            return None;
        };
        let since = UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_nanos();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("audit_{}_{since}_{number}", std::process::id());
        let schema = Self { server, name };
        schema.run(&format!("CREATE SCHEMA {}", schema.name)).await;
        Some(schema)
    }

    /// Returns an address at which the schema is the first one.
    fn url(&self) -> String {
        let divider = if self.server.contains('?') { '&' } else { '?' };
        format!(
            "{}{divider}options=-csearch_path%3D{}",
            self.server, self.name
        )
    }

    async fn run(&self, sql: &str) -> Vec<PgRow> {
        let connection = PgConnection::connect(&self.url()).await;
        let mut connection = connection.expect("the server answers");
        let rows = connection.fetch_all(AssertSqlSafe(sql.to_owned())).await;
        rows.expect("the statement runs")
    }

    /// Returns a folder with a policy that writes to the table.
    fn folder(&self, rules: &str) -> Folder {
        Folder::new(&format!(
            "[audit]\npostgres = '{}'\nrequired = true\n{rules}",
            self.url()
        ))
    }

    async fn drop(self) {
        self.run(&format!("DROP SCHEMA {} CASCADE", self.name))
            .await;
    }
}

/// Calls a tool through a gateway, and closes the gateway.
async fn call_once(folder: &Folder) {
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client.call("one_echo", json!({"text": "new"})).await;
    gateway.close().await;
}

const WRITES_ARE_CONFIRMED: &str =
    "[[tools]]\nmatch = '*_write'\nconfirm = true\nconfirm_reason = 'it writes'";

#[tokio::test]
async fn records_are_rows_of_a_table() {
    let Some(schema) = AuditSchema::on_server().await else {
        return;
    };
    let folder = schema.folder(WRITES_ARE_CONFIRMED);
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    for text in ["a", "b\0c"] {
        let arguments = json!({"text": text, "api_key": "hunter2-hunter2"});
        client.call("one_echo", arguments).await;
    }
    client
        .request("resources/read", json!({"uri": "notes://all"}))
        .await;
    client.call("one_write", json!({"text": "c"})).await;
    gateway.close().await;

    let rows = schema
        .run("SELECT method, name, arguments, reasons::text FROM tool_gateway_audit ORDER BY id")
        .await;
    assert_eq!(rows.len(), 5);
    for row in &rows[3..] {
        assert_eq!(row.get::<String, _>("reasons"), r#"["policy: it writes"]"#);
    }
    let text = |row: &PgRow, column: &str| row.get::<String, _>(column);
    let shows_key = rows
        .iter()
        .any(|row| text(row, "arguments").contains("hunter2"));
    assert!(!shows_key, "{:?}", text(&rows[0], "arguments"));
    assert!(text(&rows[0], "arguments").contains(r#""text":"a""#));
    assert_eq!(text(&rows[2], "method"), "resources/read");
    assert_eq!(text(&rows[2], "name"), "notes://all");
    schema.drop().await;
}

#[tokio::test]
async fn gateways_that_start_at_once_share_a_new_table() {
    let Some(schema) = AuditSchema::on_server().await else {
        return;
    };
    let mut gateways = JoinSet::new();
    for _ in 0..6 {
        let folder = schema.folder("");
        gateways.spawn(async move { call_once(&folder).await });
    }
    gateways.join_all().await;

    let rows = schema
        .run("SELECT name FROM tool_gateway_audit WHERE outcome = 'OK'")
        .await;
    assert_eq!(rows.len(), 6);
    let noted = schema
        .run("SELECT version FROM _tool_gateway_audit_migrations")
        .await;
    assert_eq!(noted.len(), 1);
    schema.drop().await;
}

/// The table as the first gateways made it, without a note of it.
const FIRST_TABLE: &str = "CREATE TABLE tool_gateway_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time timestamptz NOT NULL, session text NOT NULL,
    principal text NOT NULL, turn bigint NOT NULL, call text NOT NULL, server text NOT NULL, method text NOT NULL,
    name text NOT NULL, arguments text NOT NULL, outcome text NOT NULL, error text, duration_ms bigint NOT NULL,
    characters bigint NOT NULL
);
INSERT INTO tool_gateway_audit (time, session, principal, turn, call, server, method, name, arguments, outcome,
    duration_ms, characters)
VALUES (now(), 'mcp-1', 'ada', 1, 'call_1', 'one', 'tools/call', 'one_echo', '{\"text\": \"old\"}', 'OK', 3, 7)";

#[tokio::test]
async fn a_table_of_an_earlier_gateway_keeps_its_rows() {
    let Some(schema) = AuditSchema::on_server().await else {
        return;
    };
    schema.run(FIRST_TABLE).await;
    call_once(&schema.folder("")).await;

    let rows = schema
        .run("SELECT arguments, reasons FROM tool_gateway_audit ORDER BY id")
        .await;
    let arguments = rows.iter().map(|row| row.get::<String, _>("arguments"));
    let arguments = arguments.collect::<Vec<_>>();
    assert_eq!(arguments, [r#"{"text": "old"}"#, r#"{"text":"new"}"#]);
    schema.drop().await;
}

#[tokio::test]
async fn a_table_of_another_program_is_refused_and_stays() {
    let Some(schema) = AuditSchema::on_server().await else {
        return;
    };
    schema
        .run("CREATE TABLE tool_gateway_audit (id uuid PRIMARY KEY, name text)")
        .await;
    let folder = schema.folder("");
    let refused = Gateway::open(folder.files()).await;
    let error = refused.expect_err("a table of another kind").to_string();
    for part in [
        "audit.postgres: ",
        "the table tool_gateway_audit is not that of a gateway",
        "no arguments text, call text, ",
        "id bigint, ",
        "rename it, or use another schema or database",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let columns = schema
        .run("SELECT attname FROM pg_attribute WHERE attrelid = 'tool_gateway_audit'::regclass AND attnum > 0")
        .await;
    assert_eq!(columns.len(), 2, "nothing was added");
    schema.drop().await;
}

#[tokio::test]
async fn a_user_without_rights_is_told_who_has_to_start() {
    let Some(schema) = AuditSchema::on_server().await else {
        return;
    };
    let user = format!("{}_user", schema.name);
    schema.run(&format!("CREATE ROLE {user} LOGIN")).await;
    schema
        .run(&format!("GRANT USAGE ON SCHEMA {} TO {user}", schema.name))
        .await;
    // `SET ROLE` for each connection, as the user of the address may need a password.
    let url = schema
        .url()
        .replace("options=", &format!("options=-crole%3D{user}%20"));
    let folder = Folder::new(&format!("[audit]\npostgres = '{url}'"));
    let refused = Gateway::open(folder.files()).await;
    let error = refused.expect_err("no right to create").to_string();
    assert!(
        error.contains("need a user that owns the tables and may create others"),
        "{error}"
    );

    // The owner starts once. Then the user needs the rights that the book names.
    call_once(&schema.folder("")).await;
    schema
        .run(&format!(
            "GRANT SELECT ON _tool_gateway_audit_migrations TO {user}"
        ))
        .await;
    schema
        .run(&format!("GRANT INSERT ON tool_gateway_audit TO {user}"))
        .await;
    call_once(&folder).await;
    let rows = schema.run("SELECT 1 FROM tool_gateway_audit").await;
    assert_eq!(rows.len(), 2);
    schema.run(&format!("DROP OWNED BY {user}")).await;
    schema.run(&format!("DROP ROLE {user}")).await;
    schema.drop().await;
}
