//! The replay of a recording.

use super::differences::{Differences, IgnoredPointer};
use super::file::{RecordedExchange, RecordedResponse, SentRequest};
use futures_util::stream;
use http::response::Builder;
use reqwest::{Body, Response};
use std::io;
use std::path::Path;

/// The help for a request that was not recorded.
const RECORD_AGAIN: &str = "if your program is right, record again: set RECORD_MODELS=1 if it uses `Recording::from_env`, or use `Recording::record`";

/// The exchanges of a recording, and those that were used.
#[derive(Debug)]
pub(crate) struct Replay {
    exchanges: Vec<RecordedExchange>,
    is_used: Vec<bool>,
    /// The number of requests.
    requests: usize,
    /// The requests that were not recorded.
    problems: Vec<String>,
}

/// The rules by which a request is found.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayRules {
    /// True if a request may come in another order.
    pub(crate) is_matching: bool,
    pub(crate) ignored: Vec<IgnoredPointer>,
}

impl Replay {
    pub(crate) fn new(exchanges: Vec<RecordedExchange>) -> Self {
        let is_used = vec![false; exchanges.len()];
        Self {
            exchanges,
            is_used,
            requests: 0,
            problems: Vec::new(),
        }
    }

    /// Returns the answer to a request.
    pub(crate) fn answer(
        &mut self,
        sent: &SentRequest,
        rules: &ReplayRules,
        path: &Path,
    ) -> Result<Response, String> {
        self.requests += 1;
        let found = if rules.is_matching {
            self.find(sent, rules, path)
        } else {
            self.next(sent, rules, path)
        };
        match found {
            Ok(position) => {
                self.is_used[position] = true;
                Ok(response(&self.exchanges[position].response))
            }
            Err(problem) => {
                self.problems.push(problem.clone());
                Err(format!("{problem}; {RECORD_AGAIN}"))
            }
        }
    }

    /// Returns the next exchange in order.
    fn next(&self, sent: &SentRequest, rules: &ReplayRules, path: &Path) -> Result<usize, String> {
        let position = self.requests - 1;
        let Some(exchange) = self.exchanges.get(position) else {
            return Err(self.beyond(sent, path));
        };
        let differences = Differences::between(&exchange.request, sent, &rules.ignored);
        if differences.count == 0 {
            return Ok(position);
        }
        Err(format!(
            "request {} is not exchange {} of `{}`: {}",
            self.requests,
            position + 1,
            path.display(),
            differences.describe()
        ))
    }

    /// Returns the first unused exchange that has the request.
    fn find(&self, sent: &SentRequest, rules: &ReplayRules, path: &Path) -> Result<usize, String> {
        let mut nearest: Option<Nearest> = None;
        for (position, exchange) in self.exchanges.iter().enumerate() {
            if self.is_used[position] {
                continue;
            }
            let differences = Differences::between(&exchange.request, sent, &rules.ignored);
            if differences.count == 0 {
                return Ok(position);
            }
            let is_nearer = nearest
                .as_ref()
                .is_none_or(|nearest| differences.count < nearest.differences.count);
            if is_nearer {
                nearest = Some(Nearest {
                    position,
                    differences,
                });
            }
        }
        let Some(nearest) = nearest else {
            return Err(self.beyond(sent, path));
        };
        Err(format!(
            "no unused exchange of `{}` has request {}, {} {}; exchange {} is the most similar: {}",
            path.display(),
            self.requests,
            sent.method,
            sent.path,
            nearest.position + 1,
            nearest.differences.describe()
        ))
    }

    /// Describes a request that is one too many.
    fn beyond(&self, sent: &SentRequest, path: &Path) -> String {
        let exchanges = match self.exchanges.len() {
            1 => "1 exchange".to_owned(),
            count => format!("{count} exchanges"),
        };
        format!(
            "`{}` has {exchanges}, and request {} is one more: {} {}",
            path.display(),
            self.requests,
            sent.method,
            sent.path
        )
    }

    /// Returns the requests that were not recorded, and the exchanges that were not used.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
        for (position, exchange) in self.exchanges.iter().enumerate() {
            if !self.is_used[position] {
                let SentRequest { method, path, .. } = &exchange.request;
                let number = position + 1;
                problems.push(format!("exchange {number} was not used: {method} {path}"));
            }
        }
        problems
    }
}

struct Nearest {
    position: usize,
    differences: Differences,
}

/// Returns an answer, in the pieces in which it came.
fn response(recorded: &RecordedResponse) -> Response {
    let mut builder = Builder::new().status(recorded.status);
    for (name, value) in &recorded.headers {
        builder = builder.header(name, value);
    }
    let mut pieces = Vec::new();
    for chunk in &recorded.chunks {
        pieces.push(Ok(chunk.bytes().unwrap_or_default()));
    }
    if !recorded.complete {
        let lost = "the recorded answer ends here, before its end";
        pieces.push(Err(io::Error::new(io::ErrorKind::UnexpectedEof, lost)));
    }
    // The status and the headers were checked when the recording was read.
    let response = builder
        .body(Body::wrap_stream(stream::iter(pieces)))
        .expect("a valid head of an answer");
    Response::from(response)
}
