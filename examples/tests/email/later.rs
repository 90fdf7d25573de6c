//! Drafts in the toolset and in the database.

use crate::drafts::{Claim, Drafts, Outcome};
use crate::support::Mail;
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::jiff::{Timestamp, ToSpan};

fn claim(worker: &str) -> Claim {
    Claim {
        worker: worker.to_owned(),
        lease: Duration::from_mins(1),
    }
}

async fn mail() -> Mail {
    Mail::new(
        json!({"smtp_server": "smtp.example.com", "from_email": "office@example.com"}),
        json!({}),
    )
    .await
}

async fn schedule(mail: &Mail, to: &str, send_at: Timestamp) -> i64 {
    let arguments =
        json!({"to": to, "subject": "Hello", "body": "text ".repeat(200), "send_at": send_at});
    let response = mail.call("schedule_draft", arguments).await;
    let draft: Value =
        serde_json::from_str(response.data_json().unwrap_or_else(|| panic!("{response}"))).unwrap();
    assert_eq!(draft["body"].as_str().unwrap().len(), 503);
    draft["draft_id"].as_i64().unwrap()
}

fn later() -> Timestamp {
    Timestamp::now() + 1.hour()
}

// A5
#[tokio::test]
async fn draft_is_due_at_its_time_and_taken_once() {
    let mail = mail().await;
    let id = schedule(&mail, "ada@example.org", later()).await;
    assert!(
        mail.drafts
            .take(&claim("one"), Timestamp::now())
            .await
            .unwrap()
            .is_none()
    );
    let due = later() + 1.minute();
    let one = claim("one");
    let two = claim("two");
    let (first, second) = tokio::join!(mail.drafts.take(&one, due), mail.drafts.take(&two, due));
    let taken: Vec<_> = [first.unwrap(), second.unwrap()]
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(taken.len(), 1);
    assert_eq!(
        (taken[0].id, taken[0].agent.as_str(), taken[0].attempts),
        (id, "alice", 1)
    );
    assert_eq!(taken[0].body, "text ".repeat(200));
}

// A5
#[tokio::test]
async fn past_time_is_refused() {
    let mail = mail().await;
    let arguments = json!({"to": "ada@example.org", "subject": "Hi", "body": "text", "send_at": "2020-01-01T00:00:00Z"});
    let response = mail.call("schedule_draft", arguments).await;
    let error = response.error().unwrap();
    assert_eq!(error.kind.as_str(), "PERMANENT");
    assert!(
        error.message.contains("is not in the future") && error.message.contains("send_email"),
        "{}",
        error.message
    );
    assert!(mail.drafts.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn retried_draft_waits_for_its_next_attempt() {
    let mail = mail().await;
    schedule(&mail, "ada@example.org", later()).await;
    let now = later() + 1.minute();
    let draft = mail.drafts.take(&claim("one"), now).await.unwrap().unwrap();
    let again = Outcome::Again {
        due: now + 1.minute(),
        why: "451".into(),
    };
    mail.drafts
        .settle(&draft, &claim("one"), &again)
        .await
        .unwrap();
    assert!(
        mail.drafts
            .take(&claim("one"), now)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(
        mail.drafts
            .take(&claim("one"), now + 2.minutes())
            .await
            .unwrap()
            .unwrap()
            .attempts,
        2
    );
}

// A5
#[tokio::test]
async fn draft_interrupted_while_sending_is_unknown() {
    let mail = mail().await;
    schedule(&mail, "ada@example.org", later()).await;
    let now = later() + 1.minute();
    let draft = mail
        .drafts
        .take(&claim("dead"), now)
        .await
        .unwrap()
        .unwrap();
    let recovered = mail.drafts.recover(&claim("new"), now, true).await.unwrap();
    assert_eq!(
        recovered.iter().map(|draft| draft.id).collect::<Vec<_>>(),
        [draft.id]
    );
    assert!(
        mail.drafts
            .take(&claim("new"), now + 24.hours())
            .await
            .unwrap()
            .is_none()
    );
    // The first worker was still alive and stores the real outcome.
    mail.drafts
        .settle(&draft, &claim("dead"), &Outcome::Sent("250".into()))
        .await
        .unwrap();
    assert_eq!(mail.drafts.list().await.unwrap()[0].state, "sent");
    // A claim of another worker changes nothing.
    mail.drafts
        .settle(&draft, &claim("other"), &Outcome::Failed("no".into()))
        .await
        .unwrap();
    assert_eq!(mail.drafts.list().await.unwrap()[0].state, "sent");
}

#[tokio::test]
async fn drafts_survive_their_connection_pool() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agents.db");
    let draft = || crate::drafts::Draft {
        to: "ada@example.org".into(),
        subject: "Hello".into(),
        body: "text".into(),
        send_at: tool_core::Timestamp(later()),
    };
    Drafts::open(&path)
        .await
        .unwrap()
        .add("alice", &draft())
        .await
        .unwrap();
    // Two pools represent two processes.
    let (one, two) = tokio::join!(Drafts::open(&path), Drafts::open(&path));
    assert_eq!(
        (
            one.unwrap().list().await.unwrap().len(),
            two.unwrap().list().await.unwrap().len()
        ),
        (1, 1)
    );
}
