//! States: forged, foreign, too late, used.

use crate::provider::{agents, record};
use std::sync::Arc;
use tool_adapters::oauth2::{Authorization, Callback, OAuth2Client, OAuth2Clients, OAuth2Error};
use tool_core::agents::{AgentErrorKind, Agents, Keyring, MemoryAgentToolStore, Tokens};
use tool_core::serde_json::{Value, json};

fn clients() -> OAuth2Clients {
    let client =
        OAuth2Client::new("id", "http://127.0.0.1:9/callback").param("access_type", "offline");
    OAuth2Clients::new().client("misbehaving", client.param("prompt", "consent"))
}

async fn begun() -> (OAuth2Clients, Agents, Authorization) {
    let clients = clients();
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    record(&agents, "alice", "edge").await;
    let begun = clients
        .begin(&agents, "alice", "edge")
        .await
        .expect("begun");
    (clients, agents, begun)
}

fn callback(code: &str, begun: &Authorization) -> Callback {
    Callback::new(code, begun.state.clone())
}

#[tokio::test]
async fn the_url_has_all_that_a_provider_needs() {
    let (_, _, begun) = begun().await;
    let url = reqwest::Url::parse(&begun.url).expect("a URL");
    let pairs = url
        .query_pairs()
        .collect::<std::collections::BTreeMap<_, _>>();
    for (name, value) in [
        ("tenant", "7"),
        ("response_type", "code"),
        ("client_id", "id"),
        ("redirect_uri", "http://127.0.0.1:9/callback"),
        ("scope", "all"),
        ("code_challenge_method", "S256"),
        ("access_type", "offline"),
        ("prompt", "consent"),
        ("state", begun.state.expose()),
    ] {
        assert_eq!(pairs.get(name).map(|value| &**value), Some(value), "{name}");
    }
    // SHA-256, as base64 without padding.
    assert_eq!(pairs["code_challenge"].len(), 43);
    assert!(!format!("{begun:?}").contains(begun.state.expose()));
}

#[tokio::test]
async fn an_answer_to_what_was_begun_is_taken_once() {
    let (clients, agents, begun) = begun().await;
    let record = clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect("connected");
    assert!(record.secrets.is_some());
    let error = clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect_err("used");
    assert_eq!(error, OAuth2Error::UsedState);
}

// Reloading the page begins again in any case.
#[tokio::test]
async fn a_state_is_used_up_by_an_answer_that_fails() {
    for told in ["500", "html", "redirect"] {
        let (clients, agents, begun) = begun().await;
        clients
            .complete(&agents, "alice", callback(told, &begun))
            .await
            .expect_err(told);
        let error = clients
            .complete(&agents, "alice", callback("good", &begun))
            .await
            .expect_err("used");
        assert_eq!(error, OAuth2Error::UsedState);
        assert!(
            agents
                .record("alice", "edge")
                .await
                .expect("there")
                .secrets
                .is_none()
        );
    }
}

#[tokio::test]
async fn a_state_with_any_character_changed_is_forged() {
    let (clients, agents, begun) = begun().await;
    let state = begun.state.expose();
    let mut refused = 0;
    for (at, letter) in (0..state.len()).flat_map(|at| (*b"AQgw05_-").map(|letter| (at, letter))) {
        let mut changed = state.as_bytes().to_vec();
        changed[at] = letter;
        let changed = String::from_utf8(changed).expect("text");
        if changed != state {
            let error = clients
                .complete(&agents, "alice", Callback::new("good", changed))
                .await
                .expect_err("changed");
            assert_eq!(error, OAuth2Error::ForgedState, "character {at}");
            refused += 1;
        }
    }
    assert!(refused > 1_000, "{refused}");
    for state in [
        "",
        ".",
        "a.b",
        "state",
        "dGVzdA.",
        &state[..state.len() - 1],
        &format!("{state}A"),
        &"x".repeat(5000),
    ] {
        let error = clients
            .complete(&agents, "alice", Callback::new("good", state))
            .await
            .expect_err("forged");
        assert_eq!(error, OAuth2Error::ForgedState, "{state}");
    }
    clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect("the right one still does");
}

#[tokio::test]
async fn a_state_is_for_the_agent_that_it_was_begun_for() {
    let (clients, agents, begun) = begun().await;
    record(&agents, "mallory", "edge").await;
    let error = clients
        .complete(&agents, "mallory", callback("good", &begun))
        .await
        .expect_err("foreign");
    assert_eq!(error, OAuth2Error::ForeignState);
    assert!(
        agents
            .record("mallory", "edge")
            .await
            .expect("there")
            .secrets
            .is_none()
    );
    clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect("connected");
}

#[tokio::test]
async fn a_state_of_another_key_is_forged_and_of_an_old_one_is_not() {
    let (clients, _, begun) = begun().await;
    let store = Arc::new(MemoryAgentToolStore::new());
    let with = |text: String| {
        let keys = Keyring::parse(&text).expect("keys");
        Agents::builder(store.clone())
            .keys(keys)
            .build()
            .expect("sound")
    };
    let other = with(format!("test:{}", "6b".repeat(32)));
    let error = clients
        .complete(&other, "alice", callback("good", &begun))
        .await
        .expect_err("another key");
    assert_eq!(error, OAuth2Error::ForgedState);
    let rotated = with(format!("new:{}\ntest:{}", "6b".repeat(32), "5a".repeat(32)));
    record(&rotated, "alice", "edge").await;
    clients
        .complete(&rotated, "alice", callback("good", &begun))
        .await
        .expect("connected");
}

// Sealed secrets are no states: what is sealed says what it is for.
#[tokio::test]
async fn a_sealed_secret_is_no_state() {
    use base64::Engine;
    let (clients, agents, begun) = begun().await;
    clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect("connected");
    let sealed = agents
        .record("alice", "edge")
        .await
        .expect("there")
        .secrets
        .expect("connected");
    let base64 = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let state = format!(
        "{}.{}",
        base64.encode(sealed.key()),
        base64.encode(sealed.bytes())
    );
    let error = clients
        .complete(&agents, "alice", Callback::new("good", state))
        .await
        .expect_err("no state");
    assert_eq!(error, OAuth2Error::ForgedState);
}

#[tokio::test]
async fn queries_are_read_as_browsers_send_them() {
    for form in [
        "?code=good&state=STATE",
        "code=good&state=STATE&session_state=x",
        "https://app.example/cb?state=STATE&code=good#_=_",
    ] {
        let (clients, agents, begun) = begun().await;
        let query = form.replace("STATE", begun.state.expose());
        clients
            .complete(&agents, "alice", query)
            .await
            .unwrap_or_else(|error| panic!("{form}: {error}"));
    }
}

#[tokio::test]
async fn question_mark_in_a_value_does_not_begin_the_query() {
    let (clients, agents, begun) = begun().await;
    let query = format!("code=good&from=a?b&state={}", begun.state.expose());
    let completed = clients.complete(&agents, "alice", query).await;
    completed.expect("the code is found");
}

#[tokio::test]
async fn queries_that_are_no_answers_are_told_as_that() {
    let (clients, agents, begun) = begun().await;
    let state = begun.state.expose();
    for (query, expected) in [
        (
            format!("code=a&code=b&state={state}"),
            "expected one `code`, got several",
        ),
        (
            format!("code=a&state={state}&state={state}"),
            "expected one `state`, got several",
        ),
        (
            format!("code=a&state={state}&x={}", "x".repeat(20_000)),
            "expected at most 16384 bytes",
        ),
    ] {
        let error = clients
            .complete(&agents, "alice", query)
            .await
            .expect_err("no answer");
        assert_eq!(error, OAuth2Error::Callback(expected.into()));
    }
    let error = clients
        .complete(&agents, "alice", "code=good")
        .await
        .expect_err("no state");
    assert_eq!(error, OAuth2Error::ForgedState);
    let error = clients
        .complete(&agents, "alice", format!("state={state}"))
        .await
        .expect_err("no code");
    assert_eq!(error, OAuth2Error::Callback("expected a `code`".into()));
}

#[tokio::test]
async fn a_refusal_is_told_in_the_providers_words_made_harmless() {
    let (clients, agents, begun) = begun().await;
    let query = format!(
        "error=access_denied&error_description=no%1b[2J+way&state={}",
        begun.state.expose()
    );
    let error = clients
        .complete(&agents, "alice", query)
        .await
        .expect_err("denied");
    assert_eq!(
        error.to_string(),
        "the provider denied the request: access_denied (no\\u{1b}[2J way)"
    );
    let (clients, agents, begun) = self::begun().await;
    let query = format!("error={}&state={}", "e".repeat(5000), begun.state.expose());
    let long = clients
        .complete(&agents, "alice", query)
        .await
        .expect_err("denied");
    assert!(long.to_string().len() < 300);
}

// Anybody can send a browser here with words of his own.
#[tokio::test]
async fn refusal_without_a_known_state_is_not_quoted() {
    let (clients, agents, begun) = begun().await;
    for state in [
        String::new(),
        "&state=made.up".into(),
        format!("&state={}x", begun.state.expose()),
    ] {
        let query = format!("error=access_denied&error_description=call+0900+123{state}");
        let error = clients
            .complete(&agents, "alice", query)
            .await
            .expect_err("no state");
        assert_eq!(error, OAuth2Error::ForgedState);
    }
}

// RFC 9207: an error names its issuer too.
#[tokio::test]
async fn a_refusal_of_another_issuer_is_not_told_in_its_own_words() {
    let client =
        OAuth2Client::new("id", "http://127.0.0.1:9/callback").issuer("https://right.example");
    let clients = OAuth2Clients::new().client("misbehaving", client);
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    record(&agents, "alice", "edge").await;
    let begun = clients
        .begin(&agents, "alice", "edge")
        .await
        .expect("begun");
    let query = format!(
        "error=access_denied&iss=https://wrong.example&state={}",
        begun.state.expose()
    );
    let error = clients
        .complete(&agents, "alice", query)
        .await
        .expect_err("another's");
    assert!(!matches!(error, OAuth2Error::Denied { .. }), "{error:?}");
}

/// Changes the settings as a form of a person who may not see secrets.
async fn change(agents: &Agents, config: Value) {
    let record = agents.record("alice", "movable").await.expect("there");
    agents
        .edit(&record)
        .config(config)
        .save()
        .await
        .expect("saved");
}

fn is_moved(error: &OAuth2Error) -> bool {
    matches!(error, OAuth2Error::Agent(error) if error.kind == AgentErrorKind::GrantMoved)
}

// The address is changed while a person agrees.
#[tokio::test]
async fn consent_is_bound_to_the_destination() {
    let clients = clients();
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    let (good, mut refused) = (json!({"base_url": "https://good.example"}), 0);
    agents
        .add("alice", "movable")
        .config(good.clone())
        .enabled(false)
        .save()
        .await
        .expect("added");
    for n in 0..1_000 {
        let begun = clients
            .begin(&agents, "alice", "movable")
            .await
            .expect("begun");
        change(
            &agents,
            json!({"base_url": format!("https://evil-{n}.example")}),
        )
        .await;
        let error = clients
            .complete(&agents, "alice", callback("good", &begun))
            .await
            .expect_err("moved");
        assert!(is_moved(&error), "{error}");
        assert!(
            agents
                .record("alice", "movable")
                .await
                .expect("there")
                .secrets
                .is_none()
        );
        change(&agents, good.clone()).await;
        refused += 1;
    }
    // Other settings may change.
    let begun = clients
        .begin(&agents, "alice", "movable")
        .await
        .expect("begun");
    assert_eq!(begun.changed_destination, [""; 0]);
    change(
        &agents,
        json!({"base_url": "https://good.example", "note": "mine"}),
    )
    .await;
    clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect("connected");
    println!("{refused} changed destinations: 0 were connected");
}

// The address is changed while the code is exchanged.
#[tokio::test]
async fn tokens_are_sealed_for_the_destination_agreed_to() {
    let agents = agents(MemoryAgentToolStore::new(), &clients());
    let config = json!({"base_url": "https://good.example"});
    agents
        .add("alice", "movable")
        .config(config.clone())
        .enabled(false)
        .save()
        .await
        .expect("added");
    let destination = agents
        .grant_destination("alice", "movable")
        .await
        .expect("there");
    let connect = || {
        agents.connect_for(
            "alice",
            "movable",
            Tokens::new("fresh"),
            &destination.digest,
        )
    };
    change(&agents, json!({"base_url": "https://evil.example"})).await;
    assert_eq!(
        connect().await.expect_err("moved").kind,
        AgentErrorKind::GrantMoved
    );
    change(&agents, config).await;
    assert!(connect().await.expect("connected").secrets.is_some());
}

#[tokio::test]
async fn begin_names_a_destination_that_changed() {
    let clients = clients();
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    let record = agents
        .add("alice", "movable")
        .config(json!({"base_url": "https://good.example"}));
    record
        .secrets(json!({"access_token": "a"}))
        .save()
        .await
        .expect("added");
    change(&agents, json!({"base_url": "https://new.example"})).await;
    let begun = clients
        .begin(&agents, "alice", "movable")
        .await
        .expect("begun");
    assert_eq!(
        (&*begun.destination, &*begun.changed_destination),
        (&["/base_url".into()][..], &["/base_url".into()][..])
    );
    let connected = clients
        .complete(&agents, "alice", callback("good", &begun))
        .await
        .expect("connected");
    assert!(agents.changed_destination(&connected).is_empty());
}
