//! The tour, run with cargo.

use crate::support::Home;

fn printed(home: &Home) -> String {
    let output = home.run(&[], "");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the output between two texts.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text
        .split_once(from)
        .unwrap_or_else(|| panic!("no {from:?} in {text}"))
        .1;
    rest.split_once(to).map_or(rest, |(part, _)| part)
}

#[test]
fn tour_shows_forms_agents_changes_errors_and_drafts() {
    let home = Home::new();
    let text = printed(&home);
    let forms = between(
        &text,
        "# What a settings form gets",
        "# What each agent has",
    );
    for words in [
        "\"requires_auth\":true",
        "\"config_schema\"",
        "\"writeOnly\":true",
        "\"schedule_draft\"",
    ] {
        assert!(forms.contains(words), "{forms}");
    }
    let agents = between(&text, "# What each agent has", "# A session");
    assert!(
        agents.contains(
            "alice: send_email, schedule_draft, check_inbox, get_latest_emails, list_events"
        ),
        "{agents}"
    );
    assert!(
        agents.contains("bob: list_events, check_availability"),
        "{agents}"
    );
    assert!(
        agents.contains("left out: toolset `crm` of agent `carol`: no toolset"),
        "{agents}"
    );

    let session = between(&text, "# A session of alice", "# A row changes");
    assert!(
        session.contains("a person is asked, and agrees"),
        "{session}"
    );
    assert!(session.contains("\"available\":false"), "{session}");

    let errors = between(&text, "# Errors", "# The draft");
    let told = [
        "not configured",
        "the toolset is disabled",
        "action `create_event` is disabled",
        "no toolset of this name",
        "did you mean `send_email`?",
        "did you mean `smtp_server`?",
        "at version 3",
    ];
    for words in told {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    let drafts = between(&text, "# The draft comes due", "# nothing");
    assert!(drafts.contains("to grace@example.org: sent"), "{drafts}");
    assert!(
        drafts.contains("arrived at grace@example.org, from alice@example.com: Subject: Reminder"),
        "{drafts}"
    );
}

// R-I4
#[test]
fn changed_record_reaches_the_next_session_only() {
    let home = Home::new();
    let text = printed(&home);
    let change = between(&text, "# A row changes", "# Errors");
    let running = between(change, "the running session has:", "the next session has:");
    let next = between(change, "the next session has:", "# nothing");
    assert!(
        running.contains("send_email") && running.contains("takes 30 minutes"),
        "{change}"
    );
    assert!(
        !next.contains("send_email") && next.contains("takes 45 minutes"),
        "{change}"
    );
}

#[test]
fn second_tour_of_a_database_succeeds() {
    let home = Home::new();
    let (first, second) = (printed(&home), printed(&home));
    let lines = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with('#'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&first), lines(&second));
    assert!(second.contains("arrived at grace@example.org"), "{second}");
}
