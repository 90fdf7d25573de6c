//! Gateways on several machines: sessions in Redis, and the audit log in PostgreSQL.

#[cfg(feature = "redis")]
#[tokio::test]
async fn gateways_share_the_budgets_of_a_principal() {
    use crate::support::Folder;
    use tool_adapters::gateway::Gateway;
    use tool_adapters::mcp::McpClient;
    use tool_core::{RunContext, ToolContext};

    let Ok(url) = std::env::var("REDIS_URL") else {
        tool_core::testing::skip("there is no REDIS_URL");
        return;
    };
    let token = "0123456789abcdef";
    let folder = Folder::new(&format!(
        "[limits]\naction = 2\n[[http.principals]]\nname = 'ada'\ntoken = '{token}'\n[sessions]\nredis = '{url}'\n\
         prefix = 'gateway-{}'\nsigning_key = '{}'",
        std::process::id(),
        "0a".repeat(32)
    ));
    let serve = async || {
        let gateway = Gateway::open(folder.files()).await.expect("a gateway");
        let bound = gateway
            .bind(([127, 0, 0, 1], 0).into())
            .await
            .expect("bound");
        let url = bound.url().expect("a URL");
        tokio::spawn(bound.serve());
        // From revision 2026-07-28 on, all requests of a principal belong to one session.
        let client = McpClient::url(url)
            .bearer(token)
            .probe()
            .connect()
            .await
            .expect("an import");
        (
            gateway,
            ToolContext::builder().with(client).build().expect("tools"),
        )
    };
    let ((first, one), (second, two)) = (serve().await, serve().await);
    let mut allowed = Vec::new();
    for (n, tools) in [&one, &two, &one, &two].into_iter().enumerate() {
        let arguments = format!(r#"{{"text": "{n}"}}"#);
        allowed.push(
            tools
                .call("one_write", &arguments, &RunContext::detached())
                .await
                .is_ok(),
        );
    }
    assert_eq!(allowed, [true, true, false, false]);
    first.close().await;
    second.close().await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn records_are_rows_of_a_table() {
    use crate::support::{Client, Folder};
    use serde_json::json;
    use sqlx::Row;

    let Ok(url) = std::env::var("POSTGRES_URL") else {
        tool_core::testing::skip("there is no POSTGRES_URL");
        return;
    };
    let pool = sqlx::postgres::PgPool::connect(&url)
        .await
        .expect("a database");
    // The table of an earlier version has fewer columns.
    sqlx::query(
        "ALTER TABLE IF EXISTS tool_gateway_audit DROP COLUMN IF EXISTS reasons, DROP COLUMN IF EXISTS asked_arguments",
    )
    .execute(&pool)
    .await
    .expect("dropped");
    let rules = "[[tools]]\nmatch = '*_write'\nconfirm = true\nconfirm_reason = 'it writes'";
    let folder = Folder::new(&format!(
        "[audit]\npostgres = '{url}'\nrequired = true\n{rules}"
    ));
    let server = format!("s{}", std::process::id());
    let mut servers = serde_json::Map::new();
    servers.insert(server.clone(), folder.child("one", "v1"));
    folder.servers(&servers.into());
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    for text in ["a", "b\0c"] {
        client
            .call(
                &format!("{server}_echo"),
                json!({"text": text, "api_key": "hunter2-hunter2"}),
            )
            .await;
    }
    client
        .request("resources/read", json!({"uri": "notes://all"}))
        .await;
    client
        .call(&format!("{server}_write"), json!({"text": "c"}))
        .await;
    gateway.close().await;
    let query = sqlx::query(
        "SELECT method, name, arguments, reasons::text FROM tool_gateway_audit WHERE server = $1 ORDER BY id",
    );
    let rows = query.bind(&server).fetch_all(&pool).await.expect("rows");
    assert_eq!(rows.len(), 5);
    for row in &rows[3..] {
        assert_eq!(row.get::<String, _>("reasons"), r#"["policy: it writes"]"#);
    }
    let text = |row: &sqlx::postgres::PgRow, column: &str| row.get::<String, _>(column);
    assert!(
        rows.iter()
            .all(|row| !text(row, "arguments").contains("hunter2")),
        "{:?}",
        text(&rows[0], "arguments")
    );
    assert!(text(&rows[0], "arguments").contains(r#""text":"a""#));
    assert_eq!(
        (text(&rows[2], "method"), text(&rows[2], "name")),
        ("resources/read".into(), "notes://all".into())
    );
}
