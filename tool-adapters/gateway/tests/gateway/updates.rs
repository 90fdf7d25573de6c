//! Updates of resources, from the servers to the clients that have subscribed.

use crate::raw_server::{Answers, EXIT, HANG, HttpServer, REFUSAL, entry, got, set_answers};
use crate::support::{Client, Folder, until};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::mcp::{McpClient, ServerChange};
use tool_core::{RunContext, ToolContext};

const UPDATED: &str = "notifications/resources/updated";

/// A folder with a server that reports changes, and what the gateway sends to it.
fn recorded() -> Folder {
    let folder = Folder::new("");
    let mut server = folder.child("one", "changes");
    let copied =
        r#"mkfifo in.$$; exec 4<&0; tee -a sent <&4 >in.$$ & exec "$0" "$@" <in.$$ 3>&1 >&2 4<&-"#;
    (server["args"][1], server["cwd"]) = (json!(copied), json!(folder.as_path()));
    folder.servers(&json!({"one": server}));
    folder
}

/// Returns how often the gateway has sent a request to the server.
fn sent(folder: &Folder, method: &str) -> usize {
    folder
        .read("sent")
        .matches(&format!(r#""{method}""#))
        .count()
}

#[tokio::test]
async fn updates_reach_their_subscribers_over_one_subscription() {
    let folder = recorded();
    let gateway = folder.open().await;
    let (mut one, mut two, mut other) = (
        Client::connect(&gateway).await,
        Client::connect(&gateway).await,
        Client::connect(&gateway).await,
    );
    let uri = json!({"uri": "notes://all"});
    one.request("resources/subscribe", uri.clone()).await;
    // It may have changed before the server knew of the subscription.
    one.notified(UPDATED).await;
    two.request("resources/subscribe", uri.clone()).await;
    assert_eq!(sent(&folder, "resources/subscribe"), 1);

    one.messages.clear();
    other.call("one_touch", json!({})).await;
    for client in [&mut one, &mut two] {
        client.notified(UPDATED).await;
        let updated = client
            .messages
            .iter()
            .find(|message| message["method"] == UPDATED)
            .expect("it came");
        assert_eq!(updated["params"]["uri"], uri["uri"]);
    }

    two.request("resources/unsubscribe", uri.clone()).await;
    one.messages.clear();
    other.call("one_touch", json!({})).await;
    one.notified(UPDATED).await;
    assert_eq!(sent(&folder, "resources/unsubscribe"), 0);
    other.tools().await;
    assert!(
        other
            .messages
            .iter()
            .all(|message| message["method"] != UPDATED),
        "it has not subscribed"
    );
    // The last one goes without a word.
    drop(one);
    until(async || sent(&folder, "resources/unsubscribe") == 1).await;
    assert_eq!(sent(&folder, "resources/subscribe"), 1);
    gateway.close().await;
}

#[tokio::test]
async fn updates_reach_streams_of_changes() {
    let folder = recorded();
    let gateway = folder.open().await;
    let url = format!("{}/mcp", crate::health::serve(&gateway).await);
    let client = Arc::new(
        McpClient::url(url)
            .probe()
            .connect()
            .await
            .expect("an import"),
    );
    let mut changes = client.changes();
    client.subscribe("notes://all").await.expect("subscribed");
    let tools = ToolContext::builder()
        .with(Arc::clone(&client))
        .build()
        .expect("tools");
    let mut updated = async || {
        let update = async {
            while changes.next().await != Some(ServerChange::Resource("notes://all".to_owned())) {}
        };
        timeout(Duration::from_secs(60), update)
            .await
            .expect("an update");
    };
    updated().await;
    tools.call("one_touch", "{}", &RunContext::detached()).await;
    updated().await;
    assert_eq!(sent(&folder, "resources/subscribe"), 1);
    client
        .unsubscribe("notes://all")
        .await
        .expect("unsubscribed");
    until(async || sent(&folder, "resources/unsubscribe") == 1).await;
    gateway.close().await;
}

#[tokio::test]
async fn a_server_that_is_started_again_is_subscribed_to_again() {
    let folder = recorded();
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client
        .request("resources/subscribe", json!({"uri": "notes://all"}))
        .await;
    client.notified(UPDATED).await;
    client.messages.clear();
    client.call("one_crash", json!({})).await;
    client.notified(UPDATED).await;
    assert_eq!(sent(&folder, "resources/subscribe"), 2);
    client.messages.clear();
    client.call("one_touch", json!({})).await;
    client.notified(UPDATED).await;
    gateway.close().await;
}

#[tokio::test]
async fn no_client_uses_up_the_subscriptions_of_a_server() {
    let folder = recorded();
    let principals = ["ada", "bob"].map(|name| {
        format!("[[http.principals]]\nname = '{name}'\ntoken = '{name}-0123456789abcdef'\n")
    });
    folder.policy(&principals.concat());
    let gateway = folder.open().await;
    let url = format!("{}/mcp", crate::health::serve(&gateway).await);
    let connect = async |name: &str| {
        McpClient::url(&url)
            .bearer(format!("{name}-0123456789abcdef"))
            .connect()
            .await
            .expect("an import")
    };
    let (one, other, bob) = (
        connect("ada").await,
        connect("ada").await,
        connect("bob").await,
    );
    for at in 0..256 {
        let client = if at % 2 == 0 { &one } else { &other };
        client
            .subscribe(&format!("note://{at}"))
            .await
            .expect("subscribed");
    }
    for client in [&one, &other] {
        let error = client
            .subscribe("note://256")
            .await
            .expect_err("one too many");
        assert!(
            error
                .message()
                .contains("256 subscriptions in all its sessions"),
            "{}",
            error.message()
        );
    }
    bob.subscribe("note://256").await.expect("another client");
    one.unsubscribe("note://0").await.expect("ended");
    other
        .subscribe("note://256")
        .await
        .expect("there is a place");
    gateway.close().await;
}

#[tokio::test]
async fn a_resource_that_is_denied_is_not_subscribed_to() {
    let folder = recorded();
    folder.policy("deny = ['notes://all']");
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let answer = client
        .request("resources/subscribe", json!({"uri": "notes://all"}))
        .await;
    assert!(answer.get("error").is_some(), "{answer}");
    folder.policy("");
    gateway.reload().await.expect("valid files");
    let answer = client
        .request("resources/subscribe", json!({"uri": "notes://all"}))
        .await;
    assert!(answer.get("error").is_none(), "{answer}");
    client.notified(UPDATED).await;
    // The policy takes it away again.
    folder.policy("deny = ['notes://all']");
    gateway.reload().await.expect("valid files");
    until(async || sent(&folder, "resources/unsubscribe") == 1).await;
    assert_eq!(sent(&folder, "resources/subscribe"), 1);
    gateway.close().await;
}

/// Starts a server over HTTP that reads this unlisted resource.
async fn with_unlisted(uri: &str) -> HttpServer {
    let contents = json!({"contents": [{"uri": uri, "text": "seven"}]});
    let answers = Answers::from([
        ("tools/list ".to_owned(), json!({"tools": []}).to_string()),
        (format!("resources/read {uri}"), contents.to_string()),
    ]);
    HttpServer::start(&answers, false).await
}

// T30
#[tokio::test]
async fn a_subscription_is_made_once_its_server_is_known() {
    let one = with_unlisted("notes://1").await;
    let two = with_unlisted("notes://7").await;
    let folder = Folder::new("[egress]\nprivate = ['127.0.0.1']");
    folder.servers(&json!({"one": {"url": one.url}, "two": {"url": two.url}}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let uri = json!({"uri": "notes://7"});
    let answer = client.request("resources/subscribe", uri.clone()).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    let read = client.request("resources/read", uri).await;
    assert!(read["result"].is_object(), "{read}");

    client.notified(UPDATED).await;
    assert_eq!(two.got("resources/subscribe").len(), 1);
    assert!(one.got("resources/subscribe").is_empty());
    gateway.close().await;
}

// T30
#[tokio::test]
async fn a_subscription_that_fails_is_tried_again() {
    let one = with_unlisted("notes://7").await;
    let key = "resources/subscribe notes://7";
    let refusal = (key.to_owned(), REFUSAL.to_owned());
    one.answers.lock().expect("no panic").extend([refusal]);
    let folder = Folder::new("[egress]\nprivate = ['127.0.0.1']");
    folder.servers(&json!({"one": {"url": one.url}}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client
        .request("resources/subscribe", json!({"uri": "notes://7"}))
        .await;
    until(async || !one.got("resources/subscribe").is_empty()).await;

    one.answers.lock().expect("no panic").remove(key);
    client.notified(UPDATED).await;
    gateway.close().await;
}

// T30
#[tokio::test]
async fn a_subscription_that_is_not_renewed_is_tried_again() {
    let folder = Folder::new("");
    let file = folder.path("raw.json");
    let crash = json!({"name": "crash", "inputSchema": {"type": "object"}});
    let contents = json!({"contents": [{"uri": "notes://7", "text": "seven"}]});
    let mut answers = Answers::from([
        (
            "tools/list ".to_owned(),
            json!({"tools": [crash]}).to_string(),
        ),
        ("tools/call crash".to_owned(), EXIT.to_owned()),
        ("resources/read notes://7".to_owned(), contents.to_string()),
    ]);
    folder.servers(&json!({"one": entry(&file, &answers)}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client
        .request("resources/subscribe", json!({"uri": "notes://7"}))
        .await;
    client.notified(UPDATED).await;

    let key = "resources/subscribe notes://7".to_owned();
    answers.insert(key.clone(), REFUSAL.to_owned());
    set_answers(&file, &answers);
    client.call("one_crash", json!({})).await;
    until(async || got(&file, "resources/subscribe").len() == 2).await;
    answers.remove(&key);
    set_answers(&file, &answers);
    until(async || got(&file, "resources/subscribe").len() > 2).await;
    gateway.close().await;
}

// T30
#[tokio::test]
async fn a_resource_that_hangs_does_not_keep_others_waiting() {
    let one = with_unlisted("notes://7").await;
    let [hangs, refused] =
        ["notes://1", "notes://7"].map(|uri| format!("resources/subscribe {uri}"));
    let held = [(hangs, HANG), (refused.clone(), REFUSAL)];
    let held = held.map(|(key, answer)| (key, answer.to_owned()));
    one.answers.lock().expect("no panic").extend(held);
    let folder = Folder::new("[egress]\nprivate = ['127.0.0.1']\n[servers.one]\ntimeout = '1s'");
    folder.servers(&json!({"one": {"url": one.url}}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    for uri in ["notes://7", "notes://1"] {
        client
            .request("resources/subscribe", json!({"uri": uri}))
            .await;
        until(async || {
            one.got("resources/subscribe")
                .iter()
                .any(|sent| sent["params"]["uri"] == uri)
        })
        .await;
    }

    one.answers.lock().expect("no panic").remove(&refused);
    client.notified(UPDATED).await;
    gateway.close().await;
}

// G3
#[tokio::test]
async fn a_resource_in_quarantine_is_not_subscribed_to() {
    let one = with_unlisted("notes://8").await;
    let twice = json!({"uri": "notes://7", "name": "seven"});
    let resources = json!({"resources": [twice, twice]}).to_string();
    let listed = ("resources/list ".to_owned(), resources);
    one.answers.lock().expect("no panic").extend([listed]);
    let folder = Folder::new("[egress]\nprivate = ['127.0.0.1']");
    folder.servers(&json!({"one": {"url": one.url}}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    for uri in ["notes://7", "notes://8"] {
        client
            .request("resources/subscribe", json!({"uri": uri}))
            .await;
    }
    client.notified(UPDATED).await;
    let sent = one.got("resources/subscribe");
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["params"]["uri"], "notes://8");
    gateway.close().await;
}

// T15
#[tokio::test]
async fn updates_after_a_restart_change_no_list() {
    let folder = recorded();
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    for at in 0..100 {
        let uri = json!({"uri": format!("note://{at}")});
        client.request("resources/subscribe", uri).await;
    }
    until(async || sent(&folder, "resources/subscribe") == 100).await;
    let lists = |client: &Client| {
        let methods = client.messages.iter().map(|message| &message["method"]);
        methods
            .filter(|method| **method == "notifications/tools/list_changed")
            .count()
    };
    client.tools().await;
    client.messages.clear();
    client.call("one_crash", json!({})).await;
    until(async || sent(&folder, "resources/subscribe") == 200).await;
    client.call("one_echo", json!({"text": "a"})).await;
    client.notified(UPDATED).await;
    client.tools().await;
    assert_eq!(lists(&client), 0);
    gateway.close().await;
}

// T30
#[tokio::test]
async fn updates_of_parts_reach_the_clients_of_the_whole() {
    let folder = recorded();
    folder.policy("deny = ['notes://all/secret']");
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client
        .request("resources/subscribe", json!({"uri": "notes://all"}))
        .await;
    client.notified(UPDATED).await;
    client.messages.clear();
    for part in ["secret", "7"] {
        client.call("one_touch_part", json!({"part": part})).await;
    }
    client.notified(UPDATED).await;
    let updated = client.messages.iter();
    let uris = updated
        .filter(|message| message["method"] == UPDATED)
        .map(|message| message["params"]["uri"].clone());
    assert_eq!(uris.collect::<Vec<_>>(), ["notes://all/7"]);
    gateway.close().await;
}
