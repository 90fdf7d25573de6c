//! Calls that the host approves: on the page of a gateway's operator, also while their client does
//! not wait.
//!
//! A client that cannot ask its user waits for some time. After it the answer says that the call
//! waits on, and the client that repeats the call gets the response of this one call, once: an
//! approved call does not run a second time. Clients that are not identified share a session, and
//! none of them gets the response of another's call.

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use subtle::ConstantTimeEq;
use tool_core::call::Confirmation;
use tool_core::{Session, ToolResponse};

/// The calls of a session that are kept for their repetition.
const MAX_CALLS: usize = 16;

/// A call that waits for an approval.
pub(crate) struct AwaitedCall {
    pub(crate) session: Session,
    pub(crate) tool: String,
    pub(crate) confirmation: Confirmation,
    /// The response, once the host has decided.
    pub(crate) outcome: BoxFuture<'static, Option<ToolResponse>>,
}

impl AwaitedCall {
    pub(crate) fn new(session: &Session, tool: &str, confirmation: &Confirmation) -> Self {
        let waiting = session.clone();
        let asked = confirmation.clone();
        Self {
            session: session.clone(),
            tool: tool.to_owned(),
            confirmation: confirmation.clone(),
            outcome: Box::pin(async move { waiting.outcome(&asked).await }),
        }
    }

    /// Returns true if this is the alias of the call's token.
    pub(crate) fn has_alias(&self, given: &str) -> bool {
        let alias = self.session.token_alias(&self.confirmation.token);
        alias.is_some_and(|alias| alias.as_bytes().ct_eq(given.as_bytes()).into())
    }
}

/// The calls of a session that wait while their client does not, by the digests of their requests.
/// The oldest is first.
#[derive(Default)]
pub(crate) struct UnclaimedCalls(Mutex<Vec<(String, AwaitedCall)>>);

impl UnclaimedCalls {
    /// Keeps a call. Returns the oldest one if there are too many.
    pub(crate) fn keep(&self, digest: String, call: AwaitedCall) -> Option<AwaitedCall> {
        let mut calls = self.0.lock();
        calls.push((digest, call));
        (calls.len() > MAX_CALLS).then(|| calls.remove(0).1)
    }

    /// Takes out the call that a client repeats: the oldest with the digest of which a condition
    /// holds.
    pub(crate) fn claim(
        &self,
        digest: &str,
        is_meant: impl Fn(&AwaitedCall) -> bool,
    ) -> Option<AwaitedCall> {
        let mut calls = self.0.lock();
        let at = calls
            .iter()
            .position(|(known, call)| known == digest && is_meant(call))?;
        Some(calls.remove(at).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::Server;
    use serde_json::{Value, json};
    use std::time::Duration;
    use tool_core::session::Decision;
    use tool_core::{Runtime, ToolContext, tool};

    /// Delete a note.
    #[tool(category = "action", confirm)]
    fn delete(id: u32) -> u32 {
        id
    }

    #[tokio::test]
    async fn client_reads_that_its_arguments_were_changed() {
        let (runtime, url) = serve().await;
        let first = call(&url, Some("user-1"), json!({}), None).await;
        assert!(first.to_string().contains("waits"), "{first}");
        let waiting = runtime.waiting_calls().await.expect("the store").remove(0);
        let decision = Decision::approve(&waiting.token).with_arguments(json!({"id": 8}));
        assert!(waiting.session.decide(&decision, None).await.is_ok());
        let again = call(&url, Some("user-1"), json!({}), None).await;
        assert_eq!(again["content"][0]["text"], "8", "{again}");
        let note = again["content"][1]["text"].as_str().expect("a note");
        assert!(
            note.contains(r#"after changing its arguments to {"id":8}"#),
            "{note}"
        );
    }

    /// Serves the tool over HTTP to clients that do not wait. Returns the URL.
    async fn serve() -> (Runtime, String) {
        let tools = ToolContext::builder()
            .with(delete)
            .build()
            .expect("sound tools");
        let runtime = Runtime::builder(tools)
            .policy(Server::policy())
            .build()
            .expect("a runtime");
        let server = Server::new(runtime.clone()).host_approves(Duration::ZERO);
        let bound = server
            .bind(([127, 0, 0, 1], 0).into())
            .await
            .expect("bound");
        let url = bound.url().expect("a URL");
        tokio::spawn(bound.serve());
        (runtime, url)
    }

    /// Makes the same call as all clients, in revision 2026-07-28, and returns its result.
    async fn call(
        url: &str,
        token: Option<&str>,
        capabilities: Value,
        state: Option<&Value>,
    ) -> Value {
        let mut params = json!({"name": "delete", "arguments": {"id": 7}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities
        }});
        if let Some(state) = state {
            params["requestState"] = state.clone();
        }
        let mut request = reqwest::Client::new()
            .post(url)
            .header("accept", "application/json, text/event-stream");
        for (name, value) in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "delete"),
        ] {
            request = request.header(name, value);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = request
            .header("content-type", "application/json")
            .body(message.to_string())
            .send()
            .await;
        let body = body.expect("an answer").text().await.expect("a text");
        let answers = body.lines().map(|line| line.trim_start_matches("data:"));
        let answer = answers
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(Value::is_object);
        answer.unwrap_or_else(|| panic!("{body}"))["result"].clone()
    }

    #[tokio::test]
    async fn anonymous_clients_get_no_result_of_each_other() {
        let (runtime, url) = serve().await;
        let with_forms = json!({"elicitation": {"form": {}}});
        let alice = call(&url, None, with_forms.clone(), None).await["requestState"].clone();
        for waiting in runtime.waiting_calls().await.expect("in memory") {
            assert!(waiting.session.approve(&waiting.token).await.is_ok());
        }
        let bob = call(&url, None, with_forms.clone(), None).await;
        assert!(
            bob["requestState"].is_string() && bob["requestState"] != alice,
            "it is a call of its own: {bob}"
        );
        let answer = call(&url, None, with_forms, Some(&alice)).await;
        assert_eq!(answer["content"][0]["text"], "7", "{answer}");
        assert_eq!(runtime.waiting_calls().await.expect("in memory").len(), 1);
    }

    #[tokio::test]
    async fn only_the_call_of_a_known_client_waits_on() {
        let (runtime, url) = serve().await;
        for (token, expected, waiting) in [
            (None, "it is denied", 0),
            (Some("secret"), "with the same arguments", 1),
        ] {
            let answer = call(&url, token, json!({}), None).await;
            let text = answer["content"][0]["text"].as_str().expect("a text");
            assert!(
                answer["isError"] == true && text.contains(expected),
                "{answer}"
            );
            assert_eq!(
                runtime.waiting_calls().await.expect("in memory").len(),
                waiting
            );
        }
        for waiting in runtime.waiting_calls().await.expect("in memory") {
            assert!(waiting.session.approve(&waiting.token).await.is_ok());
        }
        let answer = call(&url, Some("secret"), json!({}), None).await;
        assert_eq!(answer["content"][0]["text"], "7", "{answer}");
    }
}
