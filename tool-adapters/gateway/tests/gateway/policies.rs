//! What the policies allow.

use crate::support::{Client, Folder, start, start_version, text, until};
use serde_json::{Value, json};

#[tokio::test]
async fn denied_tools_are_not_offered() {
    let (_folder, gateway, mut client) =
        start("allow = ['one_*']\ndeny = ['*_crash', 'one_g*']").await;
    assert_eq!(client.tools().await, ["one_echo", "one_write", "one_hold"]);
    let (text, is_error) = client.call("one_crash", json!({})).await;
    assert!(is_error && text.contains("one_crash"), "{text}");
    assert_eq!(
        client.call("one_echo", json!({"text": "a"})).await,
        ("v1 a".to_owned(), false)
    );
    gateway.close().await;
}

#[tokio::test]
async fn budgets_end_the_calls_of_a_turn() {
    let (folder, gateway, mut client) =
        start("[limits]\naction = 2\n[[tools]]\nmatch = '*_echo'\nmax_calls = 1").await;
    for (tool, text, expected) in [
        ("one_write", "a", false),
        ("one_write", "b", false),
        ("one_write", "c", true),
        ("one_echo", "a", false),
        ("one_echo", "b", true),
    ] {
        let (answer, is_error) = client.call(tool, json!({"text": text})).await;
        assert_eq!(is_error, expected, "{tool} {text}: {answer}");
    }
    assert_eq!(
        folder
            .notes("one")
            .iter()
            .filter(|note| note.starts_with("write"))
            .count(),
        2
    );
    gateway.close().await;
}

// R-B7
#[tokio::test]
async fn rate_of_a_server_holds_over_its_tools_and_clients() {
    let policy = "[servers.one]\nrate = '3/1h'\n[[tools]]\nmatch = '*_echo'\nrate = '2/1h'";
    let (_folder, gateway, mut client) = start(policy).await;
    let mut other = Client::connect(&gateway).await;
    let mut passed = Vec::new();
    for text in ["a", "b", "c"] {
        passed.push(!client.call("one_echo", json!({"text": text})).await.1);
    }
    for text in ["a", "b"] {
        passed.push(!other.call("one_write", json!({"text": text})).await.1);
    }
    assert_eq!(passed, [true, true, false, true, false]);
    let (text, _) = other.call("one_write", json!({"text": "c"})).await;
    let expected = "at most 3 calls of the tools of `one` in 3600s may run";
    assert!(text.contains(expected), "{text}");
    gateway.close().await;
}

// R-B7
#[tokio::test]
async fn calls_at_once_of_a_principal_are_limited() {
    let policy = "[limits]\nmax_concurrent_per_principal = 1";
    let (folder, gateway, mut client) = start(policy).await;
    let mut other = Client::connect(&gateway).await;
    let holding = tokio::spawn(async move { client.call("one_hold", json!({})).await });
    until(async || folder.notes("one").contains(&"hold".to_owned())).await;
    let (text, is_error) = other.call("one_echo", json!({"text": "a"})).await;
    assert!(
        is_error && text.contains("too many calls at once"),
        "{text}"
    );
    folder.write("one/release", "");
    assert!(!holding.await.expect("a call").1);
    assert!(!other.call("one_echo", json!({"text": "a"})).await.1);
    gateway.close().await;
}

// R-B8
#[tokio::test]
async fn server_that_fails_is_not_called_for_a_while() {
    let policy = "[servers.one]\ncircuit_breaker = { failures = 1, pause = '1h' }";
    let (_folder, gateway, mut client) = start(policy).await;
    assert!(client.call("one_crash", json!({})).await.1);
    let (text, is_error) = client.call("one_echo", json!({"text": "a"})).await;
    assert!(
        is_error && text.contains("the service `one` has failed"),
        "{text}"
    );
    gateway.close().await;
}

#[tokio::test]
async fn a_price_counts_toward_the_caps_on_cost() {
    let (folder, gateway, mut client) =
        start("[limits]\nmax_cost_per_session = 0.05\n[[tools]]\nmatch = '*_write'\ncost = 0.02")
            .await;
    assert!(!client.call("one_echo", json!({"text": "a"})).await.1);
    let mut refused = Vec::new();
    for text in ["a", "b", "c", "d"] {
        refused.push(client.call("one_write", json!({"text": text})).await.1);
    }
    assert_eq!(refused, [false, false, true, true]);
    let writes = folder
        .notes("one")
        .into_iter()
        .filter(|note| note.starts_with("write"))
        .collect::<Vec<_>>();
    assert_eq!(writes, ["write a", "write b"]);
    gateway.close().await;
}

#[tokio::test]
async fn loops_are_refused() {
    let (_folder, gateway, mut client) = start("[limits]\nrepeated_calls = 3").await;
    let mut refused = Vec::new();
    for _ in 0..4 {
        refused.push(client.call("one_echo", json!({"text": "again"})).await.1);
    }
    assert_eq!(refused, [false, false, true, true]);
    assert!(!client.call("one_echo", json!({"text": "other"})).await.1);
    gateway.close().await;
}

#[tokio::test]
async fn a_person_approves_and_denies_calls() {
    let (folder, gateway, mut client) = start(
        "[[tools]]\nmatch = '*'\nconfirm = true\n[[tools]]\nmatch = '*_echo'\nconfirm = false",
    )
    .await;
    assert!(!client.call("one_echo", json!({"text": "a"})).await.1);
    assert!(
        client.messages.is_empty(),
        "the user is not asked about `echo`"
    );
    assert_eq!(
        client.call("one_write", json!({"text": "a"})).await,
        ("wrote a".to_owned(), false)
    );
    client.action = "decline";
    assert!(client.call("one_write", json!({"text": "b"})).await.1);
    assert_eq!(
        client
            .messages
            .iter()
            .filter(|message| message["method"] == "elicitation/create")
            .count(),
        2
    );
    let writes = folder
        .notes("one")
        .into_iter()
        .filter(|note| note.starts_with("write"))
        .collect::<Vec<_>>();
    assert_eq!(writes, ["write a"]);
    gateway.close().await;
}

// R-C5, R-C7
#[tokio::test]
async fn rules_add_up_and_the_form_shows_their_reasons() {
    let (_folder, gateway, mut client) = start(
        "[[tools]]\nmatch = ['*_write', 'x']\nconfirm = true\n\
         [[tools]]\nmatch = 'one_*'\nconfirm_if = { text = '/etc/*', password = '*' }\n\
         [[tools]]\nmatch = '*_write'\nconfirm = true\nconfirm_reason = 'it writes'",
    )
    .await;
    let arguments = json!({"text": "/etc/a\nb: 2", "password": "p"});
    client.call("one_write", arguments).await;
    let asked = client
        .messages
        .iter()
        .find(|message| message["method"] == "elicitation/create");
    let form = asked.expect("a question")["params"]["message"].as_str();
    let expected = "Allow this call of `one_write`?\n\n- password: \"p\"\n- text: \"/etc/a\\nb: 2\"\n\n\
        Reasons to ask:\n\n- policy: the rule of `*_write`, `x` asks\n\
        - policy: `password` matches `*`, `text` matches `/etc/*`\n- policy: it writes\n\nArguments: sha256:";
    let form = form.expect("a text");
    assert!(form.starts_with(expected), "{form}");
    client.messages.clear();
    client.call("one_echo", json!({"text": "a"})).await;
    assert!(client.messages.is_empty(), "no rule asks about it");
    gateway.close().await;
}

// R-C4
#[tokio::test]
async fn a_person_approves_calls_by_their_arguments() {
    let folder = Folder::new(
        "[[tools]]\nmatch = '*_write'\nconfirm_if = { text = '/etc/*', password = '*', amount = '500' }\n\
         [[tools]]\nmatch = 'two_*'\nconfirm = false",
    );
    folder.servers(&json!({"one": folder.child("one", "v1"), "two": folder.child("two", "v1")}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client.action = "decline";
    for (tool, arguments, is_asked) in [
        ("one_write", json!({"text": "/home/etc/a"}), false),
        ("one_write", json!({"text": "/etc/passwd"}), true),
        ("one_write", json!({"text": "a", "password": "p"}), true),
        ("one_write", json!({"text": "500", "amount": 5}), false),
        ("one_write", json!({"text": "a", "amount": 500}), true),
        ("one_write", json!({"text": "a", "amount": 500.0}), true),
        ("one_write", json!({"text": "a", "amount": "5e2"}), true),
        ("two_write", json!({"text": "/etc/passwd"}), false),
    ] {
        client.messages.clear();
        let (answer, is_error) = client.call(tool, arguments.clone()).await;
        let asked = client
            .messages
            .iter()
            .any(|message| message["method"] == "elicitation/create");
        assert_eq!(
            (asked, is_error),
            (is_asked, is_asked),
            "{arguments}: {answer}"
        );
    }
    gateway.close().await;
}

#[tokio::test]
async fn results_are_cut_and_arguments_bounded() {
    let (_folder, gateway, mut client) =
        start("[limits]\nmax_output = 10\nmax_arguments = '1KiB'").await;
    let answer = client
        .request(
            "tools/call",
            json!({"name": "one_echo", "arguments": {"text": "0123456789".repeat(50)}}),
        )
        .await;
    let limit =
        json!({"pointer": "/content/0", "reason": "limit", "limit": 10, "unit": "characters"});
    assert_eq!(
        answer["result"]["_meta"]["tool-adapters/removed"][0], limit,
        "{answer}"
    );
    assert!(text(&answer).0.contains("cut at 10 characters"), "{answer}");
    assert!(
        client
            .call("one_write", json!({"text": "x".repeat(2_000)}))
            .await
            .1
    );
    gateway.close().await;
}

#[tokio::test]
async fn a_tool_of_another_mode_is_refused() {
    let (_folder, gateway, mut client) =
        start("mode = 'voice'\n[[tools]]\nmatch = '*_write'\nmodes = 'text'").await;
    assert!(!client.tools().await.contains(&"one_write".to_owned()));
    assert!(client.call("one_write", json!({"text": "a"})).await.1);
    assert!(!client.call("one_echo", json!({"text": "a"})).await.1);
    gateway.close().await;
}

#[tokio::test]
async fn prompts_and_resources_pass_through() {
    let folder = Folder::new("deny = ['two_greet']");
    folder.servers(&json!({"one": folder.child("one", "v1"), "two": folder.child("two", "v2")}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let prompts = client.request("prompts/list", json!({})).await;
    let names = prompts["result"]["prompts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|prompt| prompt["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["one_greet"]);
    let got = client
        .request(
            "prompts/get",
            json!({"name": "one_greet", "arguments": {"name": "Ada"}}),
        )
        .await;
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"], "v1 greets Ada",
        "{got}"
    );
    let read = client
        .request("resources/read", json!({"uri": "notes://all"}))
        .await;
    assert_eq!(
        read["result"]["contents"][0]["text"], "v1",
        "the first of two servers has the URI: {read}"
    );
    gateway.close().await;
}

/// Checks that a URI is refused, or served, in each method.
async fn check_uri(client: &mut Client, uri: &str, is_refused: bool) {
    for method in ["resources/read", "resources/subscribe"] {
        let answer = client.request(method, json!({"uri": uri})).await;
        assert_eq!(
            answer.get("error").is_some(),
            is_refused,
            "{method} {uri}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_template_serves_no_uri_that_is_denied() {
    let (_folder, gateway, mut client) =
        start_version("deny = ['note://7', 'file:///etc/*']", "changes").await;
    for (uri, is_denied) in [
        ("note://7", true),
        ("note://%37", true),
        ("note://8", false),
        ("file:///etc/passwd", true),
        ("file:///%65tc/passwd", true),
        ("file:///home/../etc/passwd", true),
        ("file:///home/%2e%2E/etc/passwd", true),
        ("FILE:///etc/passwd", true),
        ("file:///home/etc/passwd", false),
    ] {
        check_uri(&mut client, uri, is_denied).await;
    }
    gateway.close().await;
}

#[tokio::test]
async fn no_spelling_leaves_the_allowed_folder() {
    let policy = "allow = ['file:///data/public/*', 'file:///{+path}']";
    let (_folder, gateway, mut client) = start_version(policy, "changes").await;
    for (path, is_refused) in [
        ("a.md", false),
        ("sub/../a.md", false),
        ("//../../secret.txt", true),
        ("sub/%2f%2f../../../secret.txt", true),
        ("sub//////////../../..", true),
        ("x?/../../..", true),
        ("x#/../..", true),
    ] {
        let uri = format!("file:///data/public/{path}");
        check_uri(&mut client, &uri, is_refused).await;
    }
    gateway.close().await;
}

#[tokio::test]
async fn completion_is_limited_to_what_is_allowed() {
    let policy = "deny = ['file:///etc/*', 'one_greet']\n[audit]\nfile = 'audit.jsonl'";
    let (folder, gateway, mut client) = start_version(policy, "changes").await;
    let argument = json!({"name": "path", "value": "h"});
    let reference = json!({"type": "ref/resource", "uri": "file:///{+path}"});
    let answer = client
        .request(
            "completion/complete",
            json!({"ref": reference, "argument": argument}),
        )
        .await;
    assert_eq!(
        answer["result"]["completion"],
        json!({"values": ["home/a.md"], "hasMore": false}),
        "{answer}"
    );
    let denied = json!({"ref": {"type": "ref/prompt", "name": "one_greet"}, "argument": {"name": "name", "value": ""}});
    assert!(
        client
            .request("completion/complete", denied)
            .await
            .get("error")
            .is_some()
    );
    gateway.close().await;

    let records = folder.read("audit.jsonl");
    let records = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .collect::<Vec<_>>();
    let shown = records.iter().map(|record| {
        let members = ["method", "name", "server", "outcome"]
            .map(|name| record[name].as_str().unwrap_or_default());
        members.join(" ")
    });
    let expected = [
        "completion/complete file:///{+path} one OK",
        "completion/complete one_greet  NOT_FOUND",
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert_eq!(records[0]["arguments"], r#"{"path":"h"}"#);
}

#[tokio::test]
async fn a_server_takes_no_name_of_a_control_tool() {
    let policy = |deny: &str| {
        format!("deny = '{deny}'\n[limits]\nsearch_over = 3\n[servers.one]\nprefix = ''")
    };
    let (folder, gateway, mut client) = start_version(&policy("hold"), "takes").await;
    let (found, is_error) = client
        .call("search_tools", json!({"query": "repeat a text"}))
        .await;
    assert!(
        !is_error && found.contains("echo") && !found.contains("shadow"),
        "{found}"
    );
    assert!(!client.call("echo", json!({"text": "a"})).await.1);

    folder.policy(&policy("echo"));
    assert!(gateway.reload().await.expect("the policy takes effect"));
    assert!(
        client.call("echo", json!({"text": "b"})).await.1,
        "what is denied is denied at once"
    );
    gateway.close().await;
}

#[tokio::test]
async fn a_server_asks_the_user_only_where_allowed() {
    for (policy, expected) in [("", true), ("[servers.one]\nelicitation = true", false)] {
        let folder = Folder::new(policy);
        folder.servers(&json!({"one": folder.child("one", "asks")}));
        let gateway = folder.open().await;
        let mut client = Client::connect(&gateway).await;
        let (text, is_error) = client.call("one_ask", json!({})).await;
        assert_eq!(is_error, expected, "{text}");
        let asked = client
            .messages
            .iter()
            .filter(|message| message["method"] == "elicitation/create");
        let texts = asked.map(|message| {
            message["params"]["message"]
                .as_str()
                .expect("a text")
                .to_owned()
        });
        let texts = texts.collect::<Vec<_>>();
        assert_eq!(
            texts,
            if expected {
                vec![]
            } else {
                vec!["`one` asks: Go on?"]
            }
        );
        gateway.close().await;
    }
}

#[tokio::test]
async fn many_tools_are_searched() {
    let (_folder, gateway, mut client) =
        start("[limits]\nsearch_over = 3\nsearch_always = 'one_hold'").await;
    assert_eq!(client.tools().await, ["one_hold", "search_tools"]);
    let (found, is_error) = client
        .call("search_tools", json!({"query": "repeat a text"}))
        .await;
    assert!(!is_error && found.contains("one_echo"), "{found}");
    assert!(client.tools().await.contains(&"one_echo".to_owned()));
    gateway.close().await;
}
