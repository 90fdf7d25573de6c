//! Received messages, as the `email` package of Python parses them.

use crate::support::{arrived, arrives, server};
use serde_json::{Value, json};

/// Returns the expected body, in which every line ends with CR LF.
fn lines(body: &str) -> Value {
    format!(
        "{}\r\n",
        body.strip_suffix('\n')
            .unwrap_or(body)
            .replace('\n', "\r\n")
    )
    .into()
}

// A5
#[tokio::test]
async fn message_arrives_with_headers_and_text() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    let response = mail.send("ada@example.org").await;
    let message = arrives("ada@example.org").await;
    assert_eq!(message["mail_from"], "office@example.com");
    assert_eq!(message["body"], lines("How are you?"));
    assert_eq!(message["defects"], json!([]));
    let headers = &message["headers"];
    assert_eq!(
        (&headers["from"], &headers["to"]),
        (&json!("office@example.com"), &json!("ada@example.org"))
    );
    assert_eq!(
        (&headers["subject"], &headers["mime-version"]),
        (&json!("Hello"), &json!("1.0"))
    );
    assert_eq!(
        (&message["type"], &message["charset"]),
        (&json!("text/plain"), &json!("utf-8"))
    );
    assert!(headers["date"].is_string(), "{headers}");

    let sent: Value = serde_json::from_str(response.data_json().unwrap()).unwrap();
    let id = headers["message-id"].clone();
    let expected = json!({"to": "ada@example.org", "subject": "Hello", "body": "How are you?", "message_id": id,
        "reply": "2.0.0 Taken"});
    assert_eq!(sent, expected);
}

// A5
#[tokio::test]
async fn bodies_arrive_unchanged() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    let long = "0123456789".repeat(400);
    let bodies = [
        ".\n..\n.hidden\n\n.\n",
        "a line\nand another\n\n\nafter blank ones\n\n",
        "ends with blanks   \n\ttabs\t\n = equals =3D\nFrom here",
        "Grüße aus Köln, 東京 и Москва 🐈‍⬛\n.",
        "\u{1}\u{7f}nul\u{0} and bell\u{7}",
        long.as_str(),
        "dots....\r\nand CR LF\r\n.",
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        let to = format!("body{number}@example.org");
        let response = mail
            .call(
                "send_email",
                json!({"to": to, "subject": "Hello", "body": body}),
            )
            .await;
        assert!(response.is_ok(), "{response}");
        let message = arrives(&to).await;
        assert_eq!(
            message["body"],
            lines(&body.replace("\r\n", "\n")),
            "{body:?}"
        );
        assert!(
            message["longest_line"].as_u64().unwrap() <= 998,
            "{message}"
        );
    }
}

// A5
#[tokio::test]
async fn large_body_arrives_whole_and_is_echoed_in_part() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    let body = ".Größe 漢字 \u{1f426}\n..\n".repeat(6_000);
    let body = body.chars().take(100_000).collect::<String>();
    let response = mail
        .call(
            "send_email",
            json!({"to": "big@example.org", "subject": "Big", "body": body}),
        )
        .await;
    let sent: Value = serde_json::from_str(response.data_json().unwrap()).unwrap();
    let shown = sent["body"].as_str().unwrap();
    assert_eq!(
        shown,
        format!("{}...", body.chars().take(500).collect::<String>())
    );
    assert_eq!(arrives("big@example.org").await["body"], lines(&body));
}

#[tokio::test]
async fn subjects_arrive_in_any_script_and_length() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    let long = "sehr größer Betreff ".repeat(12);
    for (number, subject) in ["Grüße 東京 🐈", long.trim(), "a \"quoted\" <tag>; x=y"]
        .into_iter()
        .enumerate()
    {
        let to = format!("subject{number}@example.org");
        mail.call(
            "send_email",
            json!({"to": to, "subject": subject, "body": "text"}),
        )
        .await;
        let message = arrives(&to).await;
        assert_eq!(message["headers"]["subject"], subject);
        assert_eq!(message["body"], lines("text"));
    }
}

#[tokio::test]
async fn subject_cannot_inject_a_header() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    for subject in [
        "Hi\r\nBcc: eve@example.org",
        "Hi\nX: y",
        "Hi\rX: y",
        "nul\0",
        "\u{7f}",
    ] {
        let response = mail
            .call(
                "send_email",
                json!({"to": "inject@example.org", "subject": subject, "body": "text"}),
            )
            .await;
        assert_eq!(
            response.error().unwrap().kind.as_str(),
            "VALIDATION",
            "{subject:?}"
        );
    }
    for to in [
        "inject@example.org\r\nBcc: eve@example.org",
        "inject@example.org>\r\nDATA",
        "a@example.org, b@example.org",
    ] {
        let response = mail
            .call(
                "send_email",
                json!({"to": to, "subject": "Hi", "body": "text"}),
            )
            .await;
        assert_eq!(
            response.error().unwrap().kind.as_str(),
            "VALIDATION",
            "{to:?}"
        );
    }
    mail.send("inject@example.org").await;
    let message = arrives("inject@example.org").await;
    let mut names = message["names"].as_array().unwrap().clone();
    names.sort_by_key(ToString::to_string);
    let expected = [
        "Content-Transfer-Encoding",
        "Content-Type",
        "Date",
        "From",
        "MIME-Version",
        "Message-ID",
        "Subject",
        "To",
    ];
    assert_eq!(names, expected);
}

// A caller in Rust bypasses the schema, so the method checks too.
#[test]
fn a_letter_has_one_subject_and_one_recipient() {
    let from = "office@example.com".parse().unwrap();
    for (to, subject) in [
        ("a@example.org", "Hi\r\nBcc: e@example.org"),
        ("a@example.org\r\nX: y", "Hi"),
        ("a", "Hi"),
    ] {
        assert!(
            crate::letter::Letter::new(&from, to, subject, "text").is_err(),
            "{to:?} {subject:?}"
        );
    }
}

#[tokio::test]
async fn international_addresses_need_server_support() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    let response = mail.send("grüße@example.org").await;
    assert!(response.is_ok(), "{response}");
    let message = arrives("grüße@example.org").await;
    assert!(
        message["options"]
            .as_array()
            .unwrap()
            .contains(&json!("SMTPUTF8")),
        "{message}"
    );
    assert_eq!(message["headers"]["to"], "grüße@example.org");

    let ascii = server.email("ascii", json!({})).await;
    let error = ascii.refused("straße@example.org").await;
    assert!(error.message.contains("ASCII"), "{}", error.message);
    assert!(arrived("straße@example.org").is_empty());
    // A domain has an ASCII form.
    assert!(ascii.send("info@bücher.example").await.is_ok());
    assert_eq!(
        arrives("info@xn--bcher-kva.example").await["headers"]["to"],
        "info@xn--bcher-kva.example"
    );
}
