//! The page: three files that are part of the program.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

const HTML: &str = include_str!("page/index.html");
const CSS: &str = include_str!("page/inspector.css");
const SCRIPT: &str = include_str!("page/inspector.js");

/// Allows the page's own files and requests, and nothing else. Scripts cannot insert markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the routes of the page. It holds no data, so that a browser can open it without the token.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/", get(async || asset("text/html; charset=utf-8", HTML)))
        .route("/inspector.css", get(async || asset("text/css; charset=utf-8", CSS)))
        .route("/inspector.js", get(async || asset("text/javascript; charset=utf-8", SCRIPT)))
}

fn asset(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, [("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin")], text)
        .into_response()
}
