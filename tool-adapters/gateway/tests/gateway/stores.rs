//! Gateways on several machines: sessions in Redis.

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
