//! A recording, which a program makes or replays.

use super::capture::{Capture, Exchanges};
use super::differences::IgnoredPointer;
use super::error::RecordingError;
use super::file::{self, SentRequest};
use super::replay::{Replay, ReplayRules};
use super::secrets::Secrets;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::{Request, RequestBuilder, Response, Url};
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool_core::ToolError;

/// A conversation with a server, in a file: it is [recorded](Self::record) once, and
/// [replayed](Self::open) in tests, without a network and without a key.
///
/// Give it to each model of the conversation with
/// [`recording`](super::super::HttpModel::recording), and call [`finish`](Self::finish) at the end.
/// Clones share the exchanges.
///
/// ```no_run
/// use tool_adapters::Provider;
/// use tool_adapters::agent::AgentLoop;
/// use tool_adapters::transport::http::{HttpModel, Recording};
/// use tool_core::ToolContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Replays the file. With RECORD_MODELS=1, and a key, it is recorded.
/// let recording = Recording::from_env("tests/recordings/booking.json")?;
/// let model = HttpModel::new(Provider::OpenAiChat, "gpt-5").recording(&recording);
/// let mut agent = AgentLoop::with_tools(ToolContext::discover()?, model).await?;
/// let reply = agent.prompt("Book room 4 for Friday").await;
/// assert!(reply.text.is_some_and(|text| text.contains("Friday")));
/// recording.finish()?;
/// # Ok(())
/// # }
/// ```
///
/// # The file
///
/// The file is JSON: the method, the path and the body of each request, and the status, the headers
/// that a model reads and the pieces of the body of each answer. It has no host, and of the headers
/// of a request none. The values of headers and of parameters that hold a key, or name an
/// organization, are also removed from paths and bodies, and the messages of errors are searched
/// for texts that look like keys. Use [`hide`](Self::hide) for anything else, and read the file
/// before you commit it: what you and the model said is in it.
///
/// A key of fewer than 6 bytes is taken for a placeholder and stays in bodies. A key that a model
/// spells in several events of a stream is not found.
///
/// # Replays
///
/// A replay answers requests in the order of the file. Each has to have the method, the path and
/// the body of the recorded one, apart from the members that you [ignore](Self::ignore). Use
/// [`matching`](Self::matching) if requests come in another order, for example those of several
/// agents at once. Any other request is an error that says what differs. It is never sent.
///
/// A replay is as quick as your program. Only delays that the server asked for before another
/// attempt are waited for, in tokio's time.
#[derive(Clone)]
#[must_use]
pub struct Recording {
    path: Arc<Path>,
    state: RecordingState,
    rules: ReplayRules,
    hidden: Vec<String>,
}

#[derive(Clone)]
enum RecordingState {
    Recording(Exchanges),
    Replaying(Arc<Mutex<Replay>>),
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("path", &self.path)
            .field("is_replay", &self.is_replay())
            .finish_non_exhaustive()
    }
}

/// The error of a request that was recorded or replayed.
pub(crate) enum SendError {
    Network(reqwest::Error),
    Replay(ToolError),
}

impl Recording {
    /// Records a new conversation. Nothing is written before [`finish`](Self::finish), so that a
    /// test that fails does not replace a recording that works.
    pub fn record(path: impl Into<PathBuf>) -> Self {
        let state = RecordingState::Recording(Exchanges::default());
        Self::with_state(path.into(), state)
    }

    /// Replays a recorded conversation. At most 64 MiB are read.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a recording.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, RecordingError> {
        let path = path.into();
        let replay = Replay::new(file::read(&path)?);
        let state = RecordingState::Replaying(Arc::new(Mutex::new(replay)));
        Ok(Self::with_state(path, state))
    }

    /// Records if the environment variable `RECORD_MODELS` is `1`, and replays otherwise.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a recording.
    pub fn from_env(path: impl Into<PathBuf>) -> Result<Self, RecordingError> {
        match std::env::var("RECORD_MODELS") {
            Ok(value) if value == "1" => Ok(Self::record(path)),
            _ => Self::open(path),
        }
    }

    fn with_state(path: PathBuf, state: RecordingState) -> Self {
        Self {
            path: path.into(),
            state,
            rules: ReplayRules::default(),
            hidden: Vec::new(),
        }
    }

    /// Replays by matching: each request gets the first unused answer to the same method, path and
    /// body, in any order.
    pub fn matching(mut self) -> Self {
        self.rules.is_matching = true;
        self
    }

    /// Leaves a member of the body out of the comparison, by its JSON pointer, for example one with
    /// the time of day. `*` stands for any segment.
    ///
    /// ```no_run
    /// use tool_adapters::transport::http::Recording;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let recording = Recording::open("tests/recordings/booking.json")?
    ///     .ignore("/user")
    ///     .ignore("/messages/*/id");
    /// # let _ = recording;
    /// # Ok(())
    /// # }
    /// ```
    pub fn ignore(mut self, pointer: impl AsRef<str>) -> Self {
        let pointer = IgnoredPointer::new(pointer.as_ref());
        self.rules.ignored.push(pointer);
        self
    }

    /// Hides a text in paths and bodies, for example the name of a customer or of a project. Hide
    /// the same texts when you replay.
    pub fn hide(mut self, text: impl Into<String>) -> Self {
        self.hidden.push(text.into());
        self
    }

    /// Returns true if the conversation is replayed, and false if it is recorded.
    pub fn is_replay(&self) -> bool {
        matches!(self.state, RecordingState::Replaying(_))
    }

    /// Writes what was recorded into its file, as a whole or not at all, or checks that a replay
    /// had every recorded request and no other. Call it after the last answer.
    ///
    /// # Errors
    ///
    /// - Nothing was recorded, or the file cannot be written. An earlier file is still there.
    /// - The replay differs: the error has every request that was not recorded, and every exchange
    ///   that was not used.
    pub fn finish(&self) -> Result<(), RecordingError> {
        let differs = |problems| RecordingError::Differs {
            path: self.path.to_path_buf(),
            problems,
        };
        match &self.state {
            RecordingState::Recording(exchanges) => {
                let exchanges = exchanges.finished();
                if exchanges.is_empty() {
                    let problem = "no request was answered, so there is nothing to record";
                    return Err(differs(vec![problem.to_owned()]));
                }
                file::write(&self.path, exchanges)
            }
            RecordingState::Replaying(replay) => {
                let problems = replay.lock().problems();
                if problems.is_empty() {
                    Ok(())
                } else {
                    Err(differs(problems))
                }
            }
        }
    }

    /// Sends a request and writes down its answer, or answers it from the file. The future is in a
    /// box, so that a request without a recording has nothing of it.
    pub(crate) fn send<'a>(
        &'a self,
        request: RequestBuilder,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<Response, SendError>> {
        Box::pin(self.exchange(request, url))
    }

    async fn exchange(&self, request: RequestBuilder, url: &Url) -> Result<Response, SendError> {
        let (client, request) = request.build_split();
        let request = request.map_err(SendError::Network)?;
        let secrets = Secrets::of(url, request.headers(), &self.hidden);
        let exchanges = match &self.state {
            RecordingState::Recording(exchanges) => exchanges,
            RecordingState::Replaying(replay) => {
                let sent = sent_request(&request, &secrets);
                let answer = replay.lock().answer(&sent, &self.rules, &self.path);
                return answer.map_err(|problem| SendError::Replay(ToolError::permanent(problem)));
            }
        };
        let secrets = exchanges.know(&secrets);
        let sent = sent_request(&request, &secrets);
        let place = exchanges.begin();
        let response = client.execute(request).await.map_err(SendError::Network)?;
        let capture = Capture::new(exchanges.clone(), place, sent, &response, secrets);
        Ok(capture.pass_on(response))
    }
}

/// Returns a request without its secrets.
fn sent_request(request: &Request, secrets: &Secrets) -> SentRequest {
    let body = request.body().and_then(reqwest::Body::as_bytes);
    let body = body.unwrap_or_default();
    let body = serde_json::from_slice::<Value>(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
    SentRequest {
        method: request.method().to_string(),
        path: secrets.path(request.url()),
        body: secrets.hide_in_value(body),
    }
}
