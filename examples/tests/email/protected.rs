//! TLS and logins.

use crate::support::{Mail, PASSWORD, arrives, configured, kind, server};
use serde_json::{Value, json};

fn login() -> Value {
    json!({"user_name": "ada", "password": PASSWORD})
}

// A5
#[tokio::test]
async fn login_works_over_every_kind_of_connection() {
    let Some(server) = server() else { return };
    for (port, tls) in [
        ("starttls", true),
        ("tls", true),
        ("login", false),
        ("login_only", false),
    ] {
        for (secrets, way) in [
            (login(), "password"),
            (json!({"user_name": "ada", "api_key": PASSWORD}), "key"),
        ] {
            let to = format!("{port}-{way}@example.org");
            let response = server.email(port, secrets).await.send(&to).await;
            assert!(response.is_ok(), "{port}: {response}");
            let message = arrives(&to).await;
            assert_eq!(
                (&message["user"], &message["tls"]),
                (&json!("ada"), &json!(tls)),
                "{port}"
            );
        }
    }
}

// A5
#[tokio::test]
async fn a_wrong_login_answers_auth() {
    let Some(server) = server() else { return };
    for port in ["starttls", "tls", "login", "login_only"] {
        for secrets in [
            json!({"user_name": "ada", "password": "wrong"}),
            json!({"password": PASSWORD}),
            json!({}),
        ] {
            let error = server
                .email(port, secrets.clone())
                .await
                .refused("wrong@example.org")
                .await;
            assert_eq!(
                kind(&error),
                ("AUTH", false, false),
                "{port} {secrets}: {}",
                error.message
            );
        }
    }
}

#[tokio::test]
async fn echoed_password_is_not_quoted() {
    let Some(server) = server() else { return };
    let wrong = json!({"user_name": "ada", "password": "canary-7c1f"});
    let error = server
        .email("echo", wrong)
        .await
        .refused("echo@example.org")
        .await;
    assert_eq!(error.message, "the mail server refused the login: 535");
}

#[tokio::test]
async fn login_without_server_support_answers_auth() {
    let Some(server) = server() else { return };
    let error = server
        .email("plain", login())
        .await
        .refused("none@example.org")
        .await;
    assert_eq!(kind(&error), ("AUTH", false, false));
}

#[tokio::test]
async fn untrusted_certificate_is_refused() {
    let Some(server) = server() else { return };
    for port in ["starttls", "tls"] {
        let mut config = server.config(port);
        let error = Mail::new(config.clone(), login())
            .await
            .refused("untrusted@example.org")
            .await;
        assert_eq!(
            kind(&error),
            ("PERMANENT", false, false),
            "{}",
            error.message
        );
        assert!(error.message.contains("certificate"), "{}", error.message);
        // A certificate of another host is refused too.
        config["smtp_server"] = "127.0.0.1".into();
        let error = Mail::new(config, server.trusted(login()))
            .await
            .refused("other-host@example.org")
            .await;
        assert_eq!(
            kind(&error),
            ("PERMANENT", false, false),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn server_without_starttls_receives_no_mail() {
    let Some(server) = server() else { return };
    let mut config = server.config("login");
    config["security"] = "starttls".into();
    let error = Mail::new(config, login())
        .await
        .refused("downgraded@example.org")
        .await;
    assert_eq!(kind(&error), ("PERMANENT", false, false));
    assert!(error.message.contains("STARTTLS"), "{}", error.message);
}

#[tokio::test]
async fn plain_connection_is_for_localhost_only() {
    let config = |host: &str| json!({"smtp_server": host, "from_email": "a@example.com", "security": "none"});
    for host in [
        "smtp.example.com",
        "10.0.0.1",
        "192.168.1.1",
        "127.0.0.1.example.com",
        "localhost.example.com",
    ] {
        let error = configured(config(host), json!({})).await.err().unwrap();
        assert!(error.message().contains("starttls"), "{host}: {error}");
    }
    for host in ["localhost", "127.0.0.1", "127.8.8.8", "::1"] {
        assert!(configured(config(host), json!({})).await.is_ok(), "{host}");
    }
}
