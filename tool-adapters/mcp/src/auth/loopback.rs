//! The page on this machine that a browser is sent back to (RFC 8252).

use crate::auth::error::LoginError;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tool_adapters_agents::oauth2::CallbackParams;
use tool_core::{CancellationToken, Secret};

const PATH: &str = "/callback";
/// Time for the browser to take its page.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// A listener for one callback. It is closed on drop.
pub(crate) struct Loopback {
    listener: TcpListener,
    pub(crate) redirect_url: String,
}

impl Loopback {
    /// Listens on a port of this machine, or on a free one if it is 0.
    pub(crate) async fn bind(port: u16) -> Result<Self, LoginError> {
        let failed = |error| LoginError::Ask(format!("failed to listen for the browser: {error}"));
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .await
            .map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            redirect_url: format!("http://127.0.0.1:{port}{PATH}"),
        })
    }

    /// Waits for the request with this state, and returns its query. Other requests are refused,
    /// and change nothing.
    pub(crate) async fn callback(self, state: &Secret) -> Result<Secret, LoginError> {
        let (sender, callback) = oneshot::channel();
        let ended = CancellationToken::new();
        // The listener is closed with the callback, or when this future is dropped.
        let _guard = ended.clone().drop_guard();
        let page = Arc::new(RedirectPage {
            state: state.clone(),
            sender: Mutex::new(Some(sender)),
        });
        let router = Router::new().route(PATH, get(answer)).with_state(page);
        let serving = axum::serve(self.listener, router)
            .with_graceful_shutdown(ended.clone().cancelled_owned());
        tokio::spawn(async move {
            let late = async {
                ended.cancelled().await;
                sleep(LAST_ANSWER).await;
            };
            tokio::select! {
                _ = serving => {}
                () = late => {}
            }
        });
        callback
            .await
            .map_err(|_| LoginError::Ask("the page for the browser ended".to_owned()))
    }
}

struct RedirectPage {
    state: Secret,
    sender: Mutex<Option<oneshot::Sender<Secret>>>,
}

async fn answer(State(page): State<Arc<RedirectPage>>, RawQuery(query): RawQuery) -> Response {
    let query = Secret::from(query.unwrap_or_default());
    let state = CallbackParams::parse(query.expose())
        .ok()
        .and_then(|params| params.state);
    let is_own = state.is_some_and(|state| {
        state
            .expose()
            .as_bytes()
            .ct_eq(page.state.expose().as_bytes())
            .into()
    });
    let sender = is_own.then(|| page.sender.lock().take()).flatten();
    let (status, text) = match sender {
        Some(sender) => {
            let _ = sender.send(query);
            (
                StatusCode::OK,
                "You can close this page and go back to the program.",
            )
        }
        None => (
            StatusCode::BAD_REQUEST,
            "This page belongs to no login that is under way.",
        ),
    };
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, text).into_response()
}
