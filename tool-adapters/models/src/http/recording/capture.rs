//! The answer of a server, written down as it passes.

use super::file::{BodyChunk, RecordedExchange, RecordedResponse, SentRequest};
use super::secrets::{Secrets, hide_in_error};
use futures_util::{StreamExt, stream};
use http::response::Builder;
use parking_lot::Mutex;
use reqwest::header::HeaderMap;
use reqwest::{Body, Response, StatusCode};
use std::collections::BTreeMap;
use std::sync::Arc;
use tool_adapters_providers::retry_delay::IN_MILLISECONDS;

/// The exchanges that were recorded so far. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Exchanges(Arc<Mutex<ExchangeList>>);

#[derive(Default)]
struct ExchangeList {
    /// The exchanges, each at the place of its request. One without an answer is `None`.
    exchanges: Vec<Option<RecordedExchange>>,
    /// The secrets of all requests. A message may repeat the key of an earlier one.
    secrets: Secrets,
}

impl Exchanges {
    /// Adds the secrets of a request, and returns those of all so far.
    pub(crate) fn know(&self, secrets: &Secrets) -> Secrets {
        let mut list = self.0.lock();
        list.secrets.extend(secrets);
        list.secrets.clone()
    }

    /// Returns the place of a request.
    pub(crate) fn begin(&self) -> usize {
        let exchanges = &mut self.0.lock().exchanges;
        exchanges.push(None);
        exchanges.len() - 1
    }

    fn put(&self, place: usize, exchange: RecordedExchange) {
        if let Some(empty) = self.0.lock().exchanges.get_mut(place) {
            *empty = Some(exchange);
        }
    }

    /// Returns the exchanges without the secrets of any request.
    pub(crate) fn finished(&self) -> Vec<RecordedExchange> {
        let list = self.0.lock();
        let exchanges = list.exchanges.iter().flatten().cloned();
        let hide = |exchange| without_secrets(exchange, &list.secrets);
        exchanges.map(hide).collect()
    }
}

fn without_secrets(exchange: RecordedExchange, secrets: &Secrets) -> RecordedExchange {
    let RecordedExchange {
        mut request,
        mut response,
    } = exchange;
    request.path = secrets.hide(&request.path);
    request.body = secrets.hide_in_value(request.body);
    let chunks = response.chunks.iter().filter_map(BodyChunk::bytes);
    let chunks = secrets.hide_in_chunks(&chunks.collect::<Vec<_>>());
    response.chunks = chunks.into_iter().map(BodyChunk::of).collect();
    RecordedExchange { request, response }
}

/// The headers that are recorded, beside delays in milliseconds: those that a model reads. None of
/// them names a key, a cookie or an account.
const RECORDED_HEADERS: [&str; 3] = ["content-type", "retry-after", "x-should-retry"];
/// The beginnings of headers that say when a limit is reset.
const LIMIT_HEADERS: [&str; 2] = ["x-ratelimit-", "anthropic-ratelimit-"];

/// An answer that is passed on and written down. It is stored at its end, and also if it is dropped
/// before.
pub(crate) struct Capture {
    exchanges: Exchanges,
    place: usize,
    request: Option<SentRequest>,
    status: StatusCode,
    headers: BTreeMap<String, String>,
    chunks: Vec<Vec<u8>>,
    secrets: Secrets,
    is_complete: bool,
}

impl Capture {
    /// Takes the head of an answer.
    pub(crate) fn new(
        exchanges: Exchanges,
        place: usize,
        request: SentRequest,
        response: &Response,
        mut secrets: Secrets,
    ) -> Self {
        secrets.add_headers(response.headers());
        exchanges.know(&secrets);
        let headers = recorded_headers(response, &secrets);
        Self {
            exchanges,
            place,
            request: Some(request),
            status: response.status(),
            headers,
            chunks: Vec::new(),
            secrets,
            is_complete: false,
        }
    }

    /// Returns the answer, of which each piece is written down as it is read.
    pub(crate) fn pass_on(self, response: Response) -> Response {
        let mut builder = Builder::new()
            .status(response.status())
            .version(response.version());
        if let Some(headers) = builder.headers_mut() {
            headers.clone_from(response.headers());
        }
        let reading = (Box::pin(response.bytes_stream()), self);
        let body = stream::unfold(reading, |(mut bytes, mut capture)| async move {
            let piece = bytes.next().await;
            match &piece {
                Some(Ok(piece)) => capture.chunks.push(piece.to_vec()),
                Some(Err(_)) => {}
                None => capture.is_complete = true,
            }
            piece.map(|piece| (piece, (bytes, capture)))
        });
        // The head is that of an answer.
        let response = builder
            .body(Body::wrap_stream(body))
            .expect("a valid head of an answer");
        Response::from(response)
    }

    fn response(&mut self) -> RecordedResponse {
        let mut chunks = self.secrets.hide_in_chunks(&self.chunks);
        if !self.status.is_success() {
            let body = chunks.concat();
            let body = hide_in_error(&String::from_utf8_lossy(&body)).into_bytes();
            chunks = if body.is_empty() {
                Vec::new()
            } else {
                vec![body]
            };
        }
        RecordedResponse {
            status: self.status.as_u16(),
            headers: std::mem::take(&mut self.headers),
            chunks: chunks.into_iter().map(BodyChunk::of).collect(),
            complete: self.is_complete,
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else {
            return;
        };
        let response = self.response();
        let exchange = RecordedExchange { request, response };
        self.exchanges.put(self.place, exchange);
    }
}

fn recorded_headers(response: &Response, secrets: &Secrets) -> BTreeMap<String, String> {
    let headers: &HeaderMap = response.headers();
    // The time of the server tells how long a date in `Retry-After` is away.
    let is_failure = !response.status().is_success();
    let is_recorded = |name: &str| {
        RECORDED_HEADERS.contains(&name)
            || IN_MILLISECONDS.contains(&name)
            || LIMIT_HEADERS.iter().any(|start| name.starts_with(start))
            || (name == "date" && is_failure)
    };
    let mut recorded = BTreeMap::new();
    for (name, value) in headers {
        if let (true, Ok(value)) = (is_recorded(name.as_str()), value.to_str()) {
            recorded.insert(name.as_str().to_owned(), secrets.hide(value));
        }
    }
    recorded
}
