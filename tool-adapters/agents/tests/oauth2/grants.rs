//! The whole way: a person agrees, a code becomes tokens, the service takes them.

use crate::browser::Browser;
use crate::provider::{agents, clients, connect, counted, issuer, record, recorded, secrets};
use tool_adapters::oauth2::{Callback, OAuth2Error};
use tool_core::agents::AgentErrorKind;
use tool_core::agents::MemoryAgentToolStore;
use tool_core::{Timestamp, jiff};

#[tokio::test]
async fn a_person_agrees_and_the_service_takes_the_token() {
    if issuer().is_none() {
        return;
    }
    for id in ["agents", "agents-body", "agents-public"] {
        let clients = clients(id);
        let agents = agents(MemoryAgentToolStore::new(), &clients);
        connect(&clients, &agents, "alice", "calendar").await;
        let response = agents
            .executor("alice")
            .run_tool_action("calendar", "events", "{}")
            .await
            .expect("runs");
        let told = response
            .data_json()
            .unwrap_or_else(|| panic!("{id}: {response}"));
        assert!(
            told.contains(id) && told.contains("calendar.events calendar.readonly"),
            "{told}"
        );

        let secrets = secrets(&agents, "alice", "calendar").await;
        assert!(secrets["refresh_token"].is_string());
        assert_eq!(secrets["scope"], "calendar.events calendar.readonly");
        let expires_at: Timestamp = secrets["expires_at"]
            .as_str()
            .and_then(|at| at.parse().ok())
            .expect("a time");
        let lives = expires_at.as_second() - jiff::Timestamp::now().as_second();
        assert!((3500..=3600).contains(&lives), "{lives}");
    }
}

// A code is good once, and so is the state that it comes with.
#[tokio::test]
async fn an_answer_is_taken_once() {
    let Some((clients, agents)) = recorded().await else {
        return;
    };
    let begun = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let callback = Browser::new().agree(&begun.url).await;
    clients
        .complete(&agents, "alice", callback.as_str())
        .await
        .expect("connected");
    let again = clients
        .complete(&agents, "alice", callback.as_str())
        .await
        .expect_err("used");
    assert_eq!(again, OAuth2Error::UsedState);
    // Another process does not know the state, but the provider knows the code.
    let elsewhere = crate::provider::clients("agents")
        .complete(&agents, "alice", callback)
        .await
        .expect_err("used");
    assert!(matches!(elsewhere, OAuth2Error::Revoked(_)), "{elsewhere}");
}

#[tokio::test]
async fn any_process_completes_what_another_began() {
    if issuer().is_none() {
        return;
    }
    let store = std::sync::Arc::new(MemoryAgentToolStore::new());
    let (begins, completes) = (clients("agents"), clients("agents"));
    let (here, there) = (agents(store.clone(), &begins), agents(store, &completes));
    record(&here, "alice", "calendar").await;
    let begun = begins
        .begin(&here, "alice", "calendar")
        .await
        .expect("begun");
    let callback = Browser::new().agree(&begun.url).await;
    completes
        .complete(&there, "alice", callback)
        .await
        .expect("connected");
}

#[tokio::test]
async fn a_person_who_does_not_agree_is_told_as_that() {
    let Some((clients, agents)) = recorded().await else {
        return;
    };
    let begun = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let callback = Browser::new().cancel(&begun.url).await;
    let error = clients
        .complete(&agents, "alice", callback)
        .await
        .expect_err("denied");
    assert!(
        matches!(&error, OAuth2Error::Denied { error, .. } if error == "access_denied"),
        "{error:?}"
    );
    assert!(
        agents
            .record("alice", "calendar")
            .await
            .expect("there")
            .secrets
            .is_none()
    );
}

// PKCE: a stolen code is worth nothing without the verifier.
#[tokio::test]
async fn code_needs_the_verifier_of_its_own_authorisation() {
    let Some((clients, agents)) = recorded().await else {
        return;
    };
    let theirs = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let mine = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let callback = Browser::new().agree(&theirs.url).await;
    let code = callback
        .split(['?', '&'])
        .find_map(|part| part.strip_prefix("code="))
        .expect("a code");
    let before = counted("refused").await;
    // The client names its issuer, which this answer leaves out.
    let mixed = clients
        .complete(&agents, "alice", Callback::new(code, mine.state.clone()))
        .await
        .expect_err("no issuer");
    assert!(matches!(mixed, OAuth2Error::Callback(_)), "{mixed}");
    let mine = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let query = format!(
        "code={code}&state={}&iss={}",
        mine.state.expose(),
        issuer().expect("the server")
    );
    let error = clients
        .complete(&agents, "alice", query)
        .await
        .expect_err("another's code");
    assert!(matches!(error, OAuth2Error::Revoked(_)), "{error:?}");
    assert!(counted("refused").await > before);
    assert!(!error.to_string().contains(code));
}

#[tokio::test]
async fn a_client_that_the_provider_does_not_know_is_told_as_that() {
    let Some((right, agents)) = recorded().await else {
        return;
    };
    let begun = right
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let callback = Browser::new().agree(&begun.url).await;
    let wrong = tool_adapters::oauth2::OAuth2Client::new("agents", crate::provider::REDIRECT)
        .secret("hunter2");
    let wrong = tool_adapters::oauth2::OAuth2Clients::new().client("oidc-provider", wrong);
    let error = wrong
        .complete(&agents, "alice", callback)
        .await
        .expect_err("the wrong secret");
    assert!(
        matches!(&error, OAuth2Error::Refused(why) if why.contains("invalid_client")),
        "{error:?}"
    );
    assert!(!format!("{error:?} {error}").contains("hunter2"));
}

#[tokio::test]
async fn what_needs_no_grant_begins_none() {
    let clients = clients("agents");
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    for tool in ["plain", "nothing"] {
        let error = clients
            .begin(&agents, "alice", tool)
            .await
            .expect_err("no grant");
        assert_eq!(error, OAuth2Error::NoGrant { tool: tool.into() });
    }
    let error = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect_err("no record");
    assert!(
        matches!(&error, OAuth2Error::Agent(error) if error.kind == AgentErrorKind::NotConfigured),
        "{error:?}"
    );
    record(&agents, "alice", "edge").await;
    let error = clients
        .begin(&agents, "alice", "edge")
        .await
        .expect_err("no client");
    assert_eq!(
        error,
        OAuth2Error::NoClient {
            provider: "misbehaving".into()
        }
    );
}
