//! The page, and the cookie that tells its users apart.

use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use tool_core::text::hex;

/// The name of the cookie.
const COOKIE: &str = "chat_user";

/// The page runs its own script only, and talks to its own server only.
const POLICY: &str = "default-src 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Returns the page. A browser without a cookie becomes a new user.
pub(crate) async fn html(headers: HeaderMap) -> Response {
    let page = asset("text/html; charset=utf-8", include_str!("page.html"));
    if user_of(&headers).is_some() {
        return page.into_response();
    }
    let Ok(user) = new_user() else {
        return axum::http::StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    // A service on the web also says `Secure`.
    let cookie = format!("{COOKIE}={user}; HttpOnly; SameSite=Strict; Path=/");
    ([(header::SET_COOKIE, cookie)], page).into_response()
}

pub(crate) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", include_str!("page.js")).into_response()
}

pub(crate) async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("page.css")).into_response()
}

/// Returns the user that a cookie names.
pub(crate) fn user_of(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).into_iter();
    let mut pairs = cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'));
    let user = pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))?;
    let is_ours = user.len() == 32 && user.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| user.to_owned())
}

/// Returns the name of a new user, which another user cannot guess.
fn new_user() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let headers: [(HeaderName, &str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text)
}
