//! Logins at the client.

use crate::issuer::{Issuer, form, json_answer};
use crate::support::{protected, serve, server};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use serde_json::json;
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tool_adapters::mcp::{
    ImportError, LoginError, LoginLock, LoginRequest, LoginStore, McpClient, MemoryLoginStore,
    OAuthLogin,
};
use tool_core::{ErrorKind, RunContext, Secret, ToolContext};

/// A person who agrees at once, and counts how often they are asked.
#[derive(Clone, Default)]
pub(crate) struct Person(Arc<Mutex<Vec<LoginRequest>>>);

impl Person {
    pub(crate) fn login(&self) -> OAuthLogin {
        let person = self.clone();
        OAuthLogin::browser(move |request: LoginRequest| {
            person.0.lock().expect("no panic").push(request.clone());
            async move { reqwest::get(request.url).await.map(drop) }
        })
    }

    pub(crate) fn asked(&self) -> Vec<LoginRequest> {
        self.0.lock().expect("no panic").clone()
    }
}

pub(crate) async fn connect(url: &str, login: OAuthLogin) -> Result<ToolContext, ImportError> {
    let imported = McpClient::url(url).oauth(login).connect().await?;
    Ok(ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools"))
}

pub(crate) async fn sum(tools: &ToolContext) -> String {
    tools
        .call("add", json!({"a": 1, "b": 2}), &RunContext::detached())
        .await
        .into_text()
}

const THREE: &str = r#"{"result":3}"#;

#[tokio::test]
async fn a_person_logs_in_once() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let url = protected(&issuer).await;
    let tools = connect(&url, person.login().client_name("planner"))
        .await
        .expect("a connection");
    assert_eq!(
        (sum(&tools).await, sum(&tools).await),
        (THREE.to_owned(), THREE.to_owned())
    );
    let asked = person.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (&asked[0].server, &asked[0].issuer, &asked[0].scopes),
        (&url, &issuer.url, &vec!["read".to_owned()])
    );
    // The client registers with the name and the port to which the browser comes back.
    let registered = issuer.requests("/register");
    let registered = serde_json::from_str::<serde_json::Value>(&registered[0].body).expect("JSON");
    let redirect = registered["redirect_uris"][0]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(
        redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/callback"),
        "{redirect}"
    );
    assert_eq!(
        (&registered["client_name"], &registered["application_type"]),
        (&json!("planner"), &json!("native"))
    );
    assert_eq!(
        registered["scope"], "read write",
        "a later call may need more"
    );
    // The page and the exchange of the code name the server.
    let page = issuer.requests("/authorize");
    let page = form(page[0].target.split_once('?').expect("a query").1);
    assert_eq!(
        (
            &page["resource"],
            &page["redirect_uri"],
            &page["response_type"]
        ),
        (&url, &redirect, &"code".to_owned())
    );
    let exchange = form(&issuer.requests("/token")[0].body);
    assert_eq!(
        (&exchange["resource"], &exchange["redirect_uri"]),
        (&url, &redirect)
    );
    reqwest::get(redirect)
        .await
        .expect_err("the port is closed");
}

#[tokio::test]
async fn a_program_with_its_own_callback_logs_in() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let login = OAuthLogin::redirect(
        "https://app.example/callback",
        move |request: LoginRequest| {
            let http = http.clone();
            async move {
                let answer = http.get(request.url).send().await?;
                Ok::<_, reqwest::Error>(
                    answer.headers()["location"]
                        .to_str()
                        .expect("text")
                        .to_owned(),
                )
            }
        },
    );
    assert_eq!(
        sum(&connect(&url, login).await.expect("a connection")).await,
        THREE
    );
}

#[tokio::test]
async fn old_tokens_are_refreshed_once_for_all_calls() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let url = protected(&issuer).await;
    // Tokens that are about to end are refreshed before each request.
    issuer.behaviour().lifetime = Some(1);
    let tools = Arc::new(connect(&url, person.login()).await.expect("a connection"));
    issuer.behaviour().lifetime = None;
    let before = issuer.requests("/token").len();
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let tools = Arc::clone(&tools);
        calls.spawn(async move { sum(&tools).await });
    }
    assert!(calls.join_all().await.into_iter().all(|text| text == THREE));
    let exchanges = issuer.requests("/token");
    let refresh = form(&exchanges.last().expect("an exchange").body);
    assert_eq!((exchanges.len() - before, person.asked().len()), (1, 1));
    assert_eq!(
        (&refresh["grant_type"], &refresh["resource"]),
        (&"refresh_token".to_owned(), &url)
    );
}

#[tokio::test]
async fn a_revoked_grant_asks_the_person_again() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let tools = connect(&url, person.login()).await.expect("a connection");
    issuer.behaviour().lifetime = None;
    issuer.behaviour().refuses_refresh = true;
    assert_eq!(sum(&tools).await, THREE);
    assert_eq!(person.asked().len(), 2);
    assert_eq!(
        issuer.requests("/register").len(),
        1,
        "the client is still registered"
    );
}

/// The answers of a token endpoint that say nothing about the grant.
const FAULTS: [(StatusCode, &str); 4] = [
    (StatusCode::FORBIDDEN, "<html>Blocked</html>"),
    (StatusCode::OK, "<html>Sign in to the network</html>"),
    (StatusCode::FOUND, ""),
    (StatusCode::BAD_REQUEST, r#"{"error": "invalid_request"}"#),
];

#[tokio::test]
async fn a_fault_of_the_token_endpoint_keeps_the_login() {
    for fault in FAULTS {
        let issuer = Issuer::start().await;
        let person = Person::default();
        let store = MemoryLoginStore::default();
        let url = protected(&issuer).await;
        issuer.behaviour().lifetime = Some(0);
        let first = connect(&url, person.login().store(store.clone()))
            .await
            .expect("a connection");
        issuer.behaviour().lifetime = None;

        issuer.behaviour().token_fault = Some(fault);
        let stored = || OAuthLogin::stored("sign in").store(store.clone());
        connect(&url, stored()).await.expect_err("a fault");
        issuer.behaviour().token_fault = None;
        let tools = connect(&url, stored()).await;
        assert_eq!(sum(&tools.expect("a login")).await, THREE, "{fault:?}");
        // Its end is a request, which would log in again.
        drop(first);
    }
}

#[tokio::test]
async fn a_wrong_secret_of_the_program_keeps_the_login() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let login = person.login().client(&issuer.url, "planner");
    let tools = connect(&url, login.client_secret("hunter2"))
        .await
        .expect("a connection");
    issuer.behaviour().lifetime = None;

    let fault = (StatusCode::UNAUTHORIZED, r#"{"error": "invalid_client"}"#);
    issuer.behaviour().token_fault = Some(fault);
    assert_ne!(sum(&tools).await, THREE);
    issuer.behaviour().token_fault = None;
    assert_eq!(sum(&tools).await, THREE);
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_asks_for_them() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let url = protected(&issuer).await;
    let tools = connect(&url, person.login()).await.expect("a connection");
    let deleted = tools
        .call("delete", json!({}), &RunContext::detached())
        .await;
    assert_eq!(deleted.into_text(), "deleted");
    let scopes = person
        .asked()
        .into_iter()
        .map(|request| request.scopes.join(" "))
        .collect::<Vec<_>>();
    assert_eq!(scopes, ["read", "read write"]);
}

#[tokio::test]
async fn scopes_that_are_never_granted_end_the_asking() {
    let (issuer, person) = (Issuer::start().await, Person::default());
    let url = protected(&issuer).await;
    let tools = connect(&url, person.login()).await.expect("a connection");
    issuer.behaviour().grants = Some("read".to_owned());
    for _ in 0..50 {
        let refused = tools
            .call("delete", json!({}), &RunContext::detached())
            .await
            .into_text();
        assert!(refused.contains("refuses the call"), "{refused}");
    }
    assert_eq!(person.asked().len(), 4, "four in ten minutes");
    assert_eq!(sum(&tools).await, THREE, "the connection is still there");
}

#[tokio::test]
async fn a_login_outlives_the_client_in_its_store() {
    let (issuer, person, store) = (
        Issuer::start().await,
        Person::default(),
        MemoryLoginStore::default(),
    );
    let url = protected(&issuer).await;
    for _ in 0..3 {
        assert_eq!(
            sum(&connect(&url, person.login().store(store.clone()))
                .await
                .expect("a connection"))
            .await,
            THREE
        );
    }
    assert_eq!(
        (person.asked().len(), issuer.requests("/register").len()),
        (1, 1)
    );
    // The login of one server is none at another, also if the store mixes them up.
    let other = protected(&issuer).await;
    let login = store.load(&url).await.expect("a store").expect("a login");
    store.save(&other, Some(login)).await.expect("saved");
    assert_eq!(
        sum(&connect(&other, person.login().store(store))
            .await
            .expect("a connection"))
        .await,
        THREE
    );
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test]
async fn a_machine_logs_in_by_itself() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let login = OAuthLogin::machine(&issuer.url, "planner", "hunter2");
    assert_eq!(
        sum(&connect(&url, login).await.expect("a connection")).await,
        THREE
    );
    let kept = issuer.requests("/token");
    let exchange = form(&kept[0].body);
    assert_eq!(
        (&exchange["grant_type"], &exchange["resource"]),
        (&"client_credentials".to_owned(), &url)
    );
    assert_eq!(
        (
            issuer.requests("/register").len(),
            issuer.requests("/authorize").len()
        ),
        (0, 0)
    );
}

#[tokio::test]
async fn short_tokens_of_a_machine_are_replaced() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let tools = connect(&url, OAuthLogin::machine(&issuer.url, "planner", "hunter2"))
        .await
        .expect("a connection");
    for _ in 0..20 {
        assert_eq!(sum(&tools).await, THREE);
    }
    assert!(issuer.requests("/token").len() >= 20);
}

#[tokio::test]
async fn clients_that_share_a_store_share_a_refresh() {
    let (issuer, person, store) = (
        Issuer::start().await,
        Person::default(),
        MemoryLoginStore::default(),
    );
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let first = connect(&url, person.login().store(store.clone()))
        .await
        .expect("a connection");
    let second = connect(&url, person.login().store(store.clone()))
        .await
        .expect("a connection");
    issuer.behaviour().lifetime = None;
    assert_eq!(sum(&first).await, THREE);
    // The refresh token of the second is used up. It finds the tokens of the first.
    issuer.behaviour().refuses_refresh = true;
    assert_eq!(sum(&second).await, THREE);
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn clients_that_share_a_store_refresh_once() {
    let (issuer, person, store) = (
        Issuer::start().await,
        Person::default(),
        MemoryLoginStore::default(),
    );
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let mut clients = Vec::new();
    for _ in 0..4 {
        let login = person.login().store(store.clone());
        clients.push(connect(&url, login).await.expect("a connection"));
    }
    issuer.behaviour().lifetime = None;
    let before = issuer.requests("/token").len();
    let sums = clients.iter().map(sum);
    for sum in futures_util::future::join_all(sums).await {
        assert_eq!(sum, THREE);
    }
    assert_eq!(issuer.requests("/token").len() - before, 1);
    assert_eq!(person.asked().len(), 1);
}

/// A store that saves nothing while it is full.
#[derive(Clone, Default)]
struct FullStore {
    logins: MemoryLoginStore,
    is_full: Arc<AtomicBool>,
}

type StoreError = Box<dyn std::error::Error + Send + Sync>;

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

impl LoginStore for FullStore {
    fn load<'a>(&'a self, server: &'a str) -> Stored<'a, Option<Secret>> {
        self.logins.load(server)
    }

    fn save<'a>(&'a self, server: &'a str, login: Option<Secret>) -> Stored<'a, ()> {
        if self.is_full.load(Ordering::SeqCst) {
            let error = std::io::Error::other("the disk is full");
            return Box::pin(std::future::ready(Err(error.into())));
        }
        self.logins.save(server, login)
    }
}

/// Returns the refresh tokens that were sent to an issuer.
fn refreshed_with(issuer: &Issuer) -> Vec<String> {
    let exchanges = issuer.requests("/token").into_iter();
    exchanges
        .filter_map(|exchange| form(&exchange.body).remove("refresh_token"))
        .collect()
}

#[tokio::test]
async fn a_login_that_was_not_saved_replays_no_token() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let store = FullStore::default();
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(0);
    let tools = connect(&url, person.login().store(store.clone()))
        .await
        .expect("a connection");

    store.is_full.store(true, Ordering::SeqCst);
    assert_ne!(sum(&tools).await, THREE);
    store.is_full.store(false, Ordering::SeqCst);
    assert_eq!(sum(&tools).await, THREE);

    let sent = refreshed_with(&issuer);
    let distinct = sent.iter().collect::<HashSet<_>>();
    assert_eq!(distinct.len(), sent.len(), "{sent:?}");
    assert!(sent.len() >= 2, "{sent:?}");
}

#[tokio::test]
async fn an_empty_refresh_token_replaces_no_other() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let url = protected(&issuer).await;
    issuer.behaviour().lifetime = Some(1);
    let tools = connect(&url, person.login()).await.expect("a connection");
    issuer.behaviour().refresh_token = Some("");
    for _ in 0..2 {
        assert_eq!(sum(&tools).await, THREE);
    }
    let sent = refreshed_with(&issuer);
    assert!(sent.iter().all(|token| !token.is_empty()), "{sent:?}");
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_token_is_used_to_its_end_while_there_is_no_other() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    // It is refreshed 30 s before its end.
    issuer.behaviour().lifetime = Some(20);
    let tools = connect(&url, Person::default().login())
        .await
        .expect("a connection");
    issuer.behaviour().token_fault = Some((StatusCode::SERVICE_UNAVAILABLE, ""));
    assert_eq!(sum(&tools).await, THREE);
}

#[tokio::test]
async fn a_stored_token_is_used_to_its_end_without_an_issuer() {
    let issuer = Issuer::start().await;
    let server = NamingServer::start(&[&issuer.url], true).await;
    let end = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(20);
    let store = server.stored_until(&issuer, &end.to_string()).await;
    issuer.behaviour().is_down = true;
    let login = OAuthLogin::stored("sign in").store(store);
    let tools = connect(&server.url, login).await.expect("a connection");
    assert_eq!(sum(&tools).await, THREE);
}

#[tokio::test]
async fn a_call_without_an_authorization_server_may_be_repeated() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    // Its end is there when the connection is.
    issuer.behaviour().lifetime = Some(0);
    let login = Person::default().login();
    let tools = connect(&url, login).await.expect("a connection");
    issuer.behaviour().token_fault = Some((StatusCode::SERVICE_UNAVAILABLE, ""));
    let context = RunContext::detached();
    let response = tools.call("add", r#"{"a": 1, "b": 2}"#, &context).await;
    let error = response.error().expect("no token");
    assert_eq!(error.kind, ErrorKind::Transient, "{response}");
}

#[tokio::test]
async fn a_forgotten_client_keeps_the_login_of_another() {
    let issuer = Issuer::start().await;
    let server = NamingServer::start(&[&issuer.url], true).await;
    let store = server.stored_login(&issuer).await;
    issuer.behaviour().refuses_refresh = true;
    let (url, shared, forgetting) = (server.url.clone(), store.clone(), issuer.clone());
    let login = OAuthLogin::browser(move |request: LoginRequest| {
        let (url, shared, forgetting) = (url.clone(), shared.clone(), forgetting.clone());
        async move {
            // Another process logs in meanwhile.
            let other = Person::default().login().store(shared);
            connect(&url, other).await.expect("a connection");
            let fault = (StatusCode::UNAUTHORIZED, r#"{"error": "invalid_client"}"#);
            forgetting.behaviour().token_fault = Some(fault);
            reqwest::get(request.url).await.map(drop)
        }
    });
    let _ = connect(&server.url, login.store(store.clone())).await;
    let kept = store.load(&server.url).await.expect("loads");
    let kept = kept.expect("the other login");
    assert!(!kept.expose().contains("\"old\""), "the other login");
}

/// A login that nobody answers.
fn unanswered() -> OAuthLogin {
    let login = OAuthLogin::browser(|_| std::future::ready(Ok::<_, std::io::Error>(())));
    login.timeout(std::time::Duration::ZERO)
}

#[tokio::test]
async fn an_unanswered_login_costs_its_registration() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let server = NamingServer::start(&[&issuer.url], true).await;
    let store = server.stored_login(&issuer).await;
    issuer.behaviour().refuses_refresh = true;

    // An authorization server that has forgotten the client may say so in the browser only.
    let refused = connect(&server.url, unanswered().store(store.clone())).await;
    let refused = refused.expect_err("no answer");
    assert!(
        matches!(refused, ImportError::Login(LoginError::Timeout)),
        "{refused}"
    );
    assert!(issuer.requests("/register").is_empty());
    let tools = connect(&server.url, person.login().store(store)).await;
    assert_eq!(sum(&tools.expect("a connection")).await, THREE);
    assert_eq!(issuer.requests("/register").len(), 1);
}

#[tokio::test]
async fn a_client_whose_secret_has_ended_registers_anew() {
    let issuer = Issuer::start().await;
    let person = Person::default();
    let url = protected(&issuer).await;
    issuer.behaviour().registration = json!({
        "client_secret": "hunter2",
        "client_secret_expires_at": 1,
        "token_endpoint_auth_method": "client_secret_basic"
    });
    issuer.behaviour().lifetime = Some(1);
    let tools = connect(&url, person.login()).await.expect("a connection");
    issuer.behaviour().lifetime = None;
    issuer.behaviour().refuses_refresh = true;
    assert_eq!(sum(&tools).await, THREE);
    assert_eq!(issuer.requests("/register").len(), 2);
}

/// A server that names issuers, and takes any token.
struct NamingServer {
    url: String,
    /// The tokens of its requests.
    tokens: Arc<Mutex<Vec<Option<String>>>>,
}

impl NamingServer {
    /// One that takes strangers too, unless it `needs_token`.
    async fn start(issuers: &[&str], needs_token: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let document = json!({"resource": url, "authorization_servers": issuers});
        let tokens = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&tokens);
        let check = move |request: Request, next: Next| {
            let document = document.clone();
            let seen = Arc::clone(&seen);
            async move {
                let path = request.uri().path();
                if path.starts_with("/.well-known/oauth-protected-resource") {
                    return json_answer(StatusCode::OK, &document);
                }
                let token = request.headers().get("authorization");
                let token = token.map(|token| token.to_str().expect("text").to_owned());
                seen.lock().expect("no panic").push(token.clone());
                if needs_token && token.is_none() {
                    return StatusCode::UNAUTHORIZED.into_response();
                }
                next.run(request).await
            }
        };
        let app = server().path("/mcp").router().layer(from_fn(check));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, tokens }
    }

    /// Returns a store with a login at an issuer whose access token is over.
    async fn stored_login(&self, issuer: &Issuer) -> MemoryLoginStore {
        self.stored_until(issuer, "2020-01-01T00:00:00Z").await
    }

    /// Returns a store with a login at an issuer whose access token is good until a time.
    async fn stored_until(&self, issuer: &Issuer, end: &str) -> MemoryLoginStore {
        let unused = TcpListener::bind("127.0.0.1:0").await.expect("an address");
        let address = unused.local_addr().expect("an address");
        let registration = json!({
            "issuer": issuer.url,
            "client_id": "client-1",
            "redirect_url": format!("http://{address}/callback")
        });
        let login = json!({
            "version": 1,
            "server": self.url,
            "registration": registration,
            "access_token": "old",
            "refresh_token": "refresh-1",
            "expires_at": end,
            "scopes": []
        });
        let store = MemoryLoginStore::default();
        let login = Secret::from(login.to_string());
        store.save(&self.url, Some(login)).await.expect("saved");
        store
    }
}

#[tokio::test]
async fn a_stored_login_is_refreshed_where_strangers_are_served() {
    let issuer = Issuer::start().await;
    let server = NamingServer::start(&[&issuer.url], false).await;
    let store = server.stored_login(&issuer).await;
    let login = OAuthLogin::stored("sign in").store(store);
    let tools = connect(&server.url, login).await.expect("a connection");
    assert_eq!(sum(&tools).await, THREE);
    assert_eq!(refreshed_with(&issuer), ["refresh-1"]);
    let tokens = server.tokens.lock().expect("no panic").clone();
    assert!(tokens.iter().all(Option::is_some), "{tokens:?}");
}

#[tokio::test]
async fn a_login_at_an_issuer_that_is_named_later_is_kept() {
    let other = Issuer::start().await;
    let issuer = Issuer::start().await;
    let server = NamingServer::start(&[&other.url, &issuer.url], true).await;
    let store = server.stored_login(&issuer).await;
    let login = OAuthLogin::stored("sign in").store(store);
    let tools = connect(&server.url, login).await.expect("a connection");
    assert_eq!(sum(&tools).await, THREE);
    assert_eq!(refreshed_with(&issuer), ["refresh-1"]);
}

/// A store that counts what is saved without its lock.
#[derive(Clone, Default)]
struct LockedStore {
    logins: MemoryLoginStore,
    is_locked: Arc<AtomicBool>,
    saved_unlocked: Arc<AtomicUsize>,
}

/// Frees a [`LockedStore`] when it is dropped.
struct Locked(Arc<AtomicBool>);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl LoginStore for LockedStore {
    fn load<'a>(&'a self, server: &'a str) -> Stored<'a, Option<Secret>> {
        self.logins.load(server)
    }

    fn save<'a>(&'a self, server: &'a str, login: Option<Secret>) -> Stored<'a, ()> {
        if !self.is_locked.load(Ordering::SeqCst) {
            self.saved_unlocked.fetch_add(1, Ordering::SeqCst);
        }
        self.logins.save(server, login)
    }

    fn lock<'a>(&'a self, _: &'a str) -> Stored<'a, LoginLock> {
        self.is_locked.store(true, Ordering::SeqCst);
        let lock = LoginLock::new(Locked(Arc::clone(&self.is_locked)));
        Box::pin(std::future::ready(Ok(lock)))
    }
}

#[tokio::test]
async fn a_login_is_saved_while_its_store_is_locked() {
    let issuer = Issuer::start().await;
    let store = LockedStore::default();
    let url = protected(&issuer).await;
    let login = Person::default().login().store(store.clone());
    let tools = connect(&url, login).await.expect("a connection");
    assert_eq!(sum(&tools).await, THREE);
    assert_eq!(store.saved_unlocked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_server_without_authorization_needs_no_login() {
    let person = Person::default();
    let url = serve(|server, _| server).await;
    assert_eq!(
        sum(&connect(&url, person.login()).await.expect("a connection")).await,
        THREE
    );
    assert!(person.asked().is_empty());
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let ((from, to), (input, output)) = (tokio::io::split(theirs), tokio::io::split(ours));
    tokio::spawn(async move { server().serve_streams(from, to).await });
    let refused = McpClient::streams("x", input, output)
        .oauth(person.login())
        .connect()
        .await
        .expect_err("streams");
    assert!(
        matches!(refused, ImportError::Login(LoginError::Settings(_))),
        "{refused}"
    );
}

#[tokio::test]
async fn an_unanswered_login_ends() {
    // By its own limit, which is shorter than that of the connection.
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let login = OAuthLogin::browser(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok::<_, std::io::Error>(()))
    });
    let refused = connect(&url, login.timeout(std::time::Duration::ZERO))
        .await
        .expect_err("no answer");
    assert!(
        matches!(refused, ImportError::Login(LoginError::Timeout)),
        "{refused}"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
