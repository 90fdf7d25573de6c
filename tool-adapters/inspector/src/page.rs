//! The page: files that are part of the program. Each file is one view, or what several views
//! share.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// A file of the page, under the path that the browser asks for.
struct PageFile {
    path: &'static str,
    content_type: &'static str,
    text: &'static str,
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns the file of the folder `page` with this name.
macro_rules! page_file {
    ($name:literal, $content_type:expr) => {
        PageFile {
            path: concat!("/", $name),
            content_type: $content_type,
            text: include_str!(concat!("page/", $name)),
        }
    };
}

const FILES: [PageFile; 21] = [
    PageFile {
        path: "/",
        content_type: "text/html; charset=utf-8",
        text: include_str!("page/index.html"),
    },
    PageFile {
        path: "/waterfall.css",
        content_type: CSS,
        text: tool_core::trace::WATERFALL_CSS,
    },
    page_file!("inspector.css", CSS),
    page_file!("inspector.js", JAVASCRIPT),
    page_file!("approvals.js", JAVASCRIPT),
    page_file!("content.js", JAVASCRIPT),
    page_file!("conversation.js", JAVASCRIPT),
    page_file!("elements.js", JAVASCRIPT),
    page_file!("events.js", JAVASCRIPT),
    page_file!("exact.js", JAVASCRIPT),
    page_file!("form.js", JAVASCRIPT),
    page_file!("home.js", JAVASCRIPT),
    page_file!("limits.js", JAVASCRIPT),
    page_file!("list.js", JAVASCRIPT),
    page_file!("metrics.js", JAVASCRIPT),
    page_file!("requests.js", JAVASCRIPT),
    page_file!("response.js", JAVASCRIPT),
    page_file!("sessions.js", JAVASCRIPT),
    page_file!("tools.js", JAVASCRIPT),
    page_file!("traces.js", JAVASCRIPT),
    page_file!("views.js", JAVASCRIPT),
];

/// Allows the page's own files and requests, and nothing else. Scripts cannot insert markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the routes of the page. It holds no data, so that a browser can open it without the
/// token.
pub(crate) fn router() -> Router {
    let mut router = Router::new();
    for PageFile {
        path,
        content_type,
        text,
    } in FILES
    {
        router = router.route(path, get(async move || asset(content_type, text)));
    }
    router
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
    (
        headers,
        [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ],
        text,
    )
        .into_response()
}
