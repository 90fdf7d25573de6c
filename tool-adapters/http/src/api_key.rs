//! API keys: fixed or from a callback, wiped from memory, and left out of every text.

use crate::callback::{SingleFlight, run_callback};
use crate::sanitize;
use parking_lot::Mutex;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tool_adapters_providers::hosted::percent_encode;
use tool_adapters_providers::{Event, ProtocolError};
use tool_core::{ToolError, time};
use zeroize::Zeroizing;

use tool_core::trace::Redaction;

/// Length in bytes of the shortest text that is hidden beside the key. Shorter ones occur in any
/// message.
const MIN_HIDDEN: usize = 6;
/// Length in bytes of the shortest beginning of a secret that is removed from the end of a text.
const MIN_BEGINNING: usize = 6;
/// The text that replaces a secret.
const MARK: &str = "[key]";

/// An API key, which is left out of `Debug`, errors and logs. Its memory is wiped on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    text: Zeroizing<String>,
    /// Other secrets of the same requests: header values, and parts of the URL.
    others: Vec<Zeroizing<String>>,
}

impl ApiKey {
    /// Creates a key.
    pub fn new(key: &str) -> Self {
        Self {
            text: Zeroizing::new(key.trim().to_owned()),
            others: Vec::new(),
        }
    }

    /// Returns the key. Pass it on without keeping a copy.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Adds other texts to hide.
    #[must_use]
    pub fn hiding<'a>(mut self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts = texts.into_iter().filter(|text| text.len() >= MIN_HIDDEN);
        self.others
            .extend(texts.map(|text| Zeroizing::new(text.to_owned())));
        self
    }

    fn redact(key: Option<&Self>, text: &str) -> String {
        let Some(Self { text: key, others }) = key else {
            return text.to_owned();
        };
        let mut secrets = others
            .iter()
            .chain([key])
            .filter(|secret| !secret.is_empty())
            .collect::<Vec<_>>();
        // The longest first, so that the rest of a hidden text does not reveal another one.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.into_iter().fold(text.to_owned(), |text, secret| {
            let forms = [
                secret.to_string(),
                percent_encode(secret),
                secret.escape_debug().to_string(),
            ];
            let text = forms
                .map(Zeroizing::new)
                .iter()
                .fold(text, |text, form| text.replace(form.as_str(), MARK));
            without_beginning(text, secret)
        })
    }
}

/// Removes the beginning of a secret from the end of a text, which may have been cut there.
fn without_beginning(mut text: String, secret: &str) -> String {
    let beginnings = (MIN_BEGINNING..secret.len())
        .rev()
        .filter_map(|length| secret.get(..length));
    if let Some(cut) = beginnings
        .into_iter()
        .find(|beginning| text.ends_with(beginning))
    {
        text.truncate(text.len() - cut.len());
        text.push_str(MARK);
    }
    text
}

/// Leaves the key out of an error that the provider reports in an event, and out of its causes.
pub fn redact_event(event: Event, hidden: Option<&ApiKey>) -> Event {
    let redact = |text: String| ApiKey::redact(hidden, &text);
    let Event::Error(error) = event else {
        return event;
    };
    Event::Error(match error {
        ProtocolError::Provider {
            code,
            message,
            retry_after,
        } => ProtocolError::Provider {
            code: code.map(redact),
            message: redact(message),
            retry_after,
        },
        ProtocolError::Malformed {
            message,
            text,
            source,
        } => {
            let source = source.filter(|source| redact(source.to_string()) == source.to_string());
            ProtocolError::Malformed {
                message: redact(message),
                text: redact(text),
                source,
            }
        }
        ProtocolError::Orphan { key } => ProtocolError::Orphan { key: redact(key) },
        error => error,
    })
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// An API key that a callback provides, and how long it may be used.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::transport::ProvidedKey;
///
/// let key = ProvidedKey::new("sk-1").valid_for(Duration::from_secs(900));
/// assert!(!format!("{key:?}").contains("sk-1"));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ProvidedKey {
    key: ApiKey,
    valid_for: Duration,
}

impl ProvidedKey {
    /// Provides a key for one request.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self {
            key: ApiKey::new(key.as_ref()),
            valid_for: Duration::ZERO,
        }
    }

    /// Sets how long the key may be used for further requests. Name a time before its expiry, so
    /// that no request arrives with an expired key.
    pub fn valid_for(self, time: Duration) -> Self {
        Self {
            valid_for: time,
            ..self
        }
    }
}

type KeyFuture = Pin<Box<dyn Future<Output = Result<ProvidedKey, ToolError>> + Send>>;

/// The source of a model's key.
#[derive(Clone)]
pub enum KeySource {
    /// One key for all requests.
    Fixed(ApiKey),
    /// A function that the program gave, which returns a key.
    Callback(Arc<KeyCallback>),
}

/// A function that returns keys, and its last key.
pub struct KeyCallback {
    ask: Box<dyn Fn() -> KeyFuture + Send + Sync>,
    flight: SingleFlight<(), Result<ProvidedKey, ToolError>>,
    /// The key that may still be used, and until when.
    cached: Mutex<Option<(ApiKey, Instant)>>,
}

impl KeyCallback {
    /// Runs the callback, and keeps a key that may be used again.
    async fn ask(self: &Arc<Self>) -> Result<ProvidedKey, ToolError> {
        let this = Arc::clone(self);
        let provided = run_callback(async move { (this.ask)().await })
            .await
            .map_err(|error| error.of("the callback for the API key"))??;
        if provided.key.expose().is_empty() {
            return Err(ToolError::auth(
                "the callback for the API key provided an empty key",
            ));
        }
        if !provided.valid_for.is_zero() {
            *self.cached.lock() = Some((
                provided.key.clone(),
                time::after(Instant::now(), provided.valid_for),
            ));
        }
        Ok(provided)
    }
}

impl KeySource {
    /// Creates a source that asks a function.
    pub fn callback<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ProvidedKey, ToolError>> + Send + 'static,
    {
        let ask = Box::new(move || Box::pin(ask()) as KeyFuture);
        Self::Callback(Arc::new(KeyCallback {
            ask,
            flight: SingleFlight::default(),
            cached: Mutex::default(),
        }))
    }

    /// Returns the key for a request.
    pub async fn key(&self) -> Result<ApiKey, ToolError> {
        let callback = match self {
            Self::Fixed(key) => return Ok(key.clone()),
            Self::Callback(callback) => callback,
        };
        if let Some((key, _)) = callback
            .cached
            .lock()
            .as_ref()
            .filter(|(_, until)| Instant::now() < *until)
        {
            return Ok(key.clone());
        }
        let (provided, is_shared) = callback.flight.run((), || callback.ask()).await;
        let provided = provided?;
        // A key for one request belongs to the request that asked for it.
        if is_shared && provided.valid_for.is_zero() {
            return Ok(callback.ask().await?.key);
        }
        Ok(provided.key)
    }

    /// Forgets a key that the provider has refused. Returns true if the next request has another
    /// one.
    pub fn forget(&self, refused: &ApiKey) -> bool {
        let Self::Callback(callback) = self else {
            return false;
        };
        let mut cached = callback.cached.lock();
        match &*cached {
            Some((key, _)) if key == refused => cached.take().is_some(),
            // Another request has asked for a new one already.
            other => other.is_some(),
        }
    }
}

/// Returns the beginning of a provider's text for an error, escaped and without the key.
pub fn excerpt(text: &str, key: Option<&ApiKey>) -> String {
    sanitize::excerpt(&ApiKey::redact(key, text))
}

/// Returns an excerpt for a log, also without other texts that look like a secret.
pub fn log_excerpt(text: &str, key: Option<&ApiKey>) -> String {
    sanitize::excerpt(&Redaction::new().text(&ApiKey::redact(key, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tool_adapters_providers::event::unparsed;
    use tool_core::ErrorKind;

    /// A source that counts, whose keys are valid for so long.
    fn counted(seconds: u64) -> (KeySource, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let source = KeySource::callback(move || {
            let n = counter.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                Ok(ProvidedKey::new(format!("key-{n}")).valid_for(Duration::from_secs(seconds)))
            }
        });
        (source, asked)
    }

    #[test]
    fn hides_the_key_in_debug_forms_and_excerpts() {
        let key = ApiKey::new(" sk-canary\n");
        assert_eq!(
            (key.expose(), format!("{key:?}")),
            ("sk-canary", "[key]".to_owned())
        );
        assert_eq!(
            excerpt("no such key: sk-canary!", Some(&key)),
            "no such key: [key]!"
        );
        // Cut by the reader of a long message.
        assert_eq!(
            excerpt("no such key: sk-cana", Some(&key)),
            "no such key: [key]"
        );
    }

    // T1
    #[test]
    fn hides_every_form_of_the_key_and_of_other_secrets() {
        let mut hidden = 0;
        for n in 0..1_000 {
            let secret = format!("c\"n{n}/é+\\y");
            let key = if n % 2 == 0 {
                ApiKey::new(&secret)
            } else {
                ApiKey::new("k").hiding([&*secret])
            };
            let escaped = secret.escape_debug();
            let text = format!(
                "GET https://host/?key={} with `{secret}`, {escaped}",
                percent_encode(&secret)
            );
            let shown = excerpt(&text, Some(&key));
            hidden += usize::from(
                shown.matches("[key]").count() >= 3 && !shown.contains(&format!("n{n}")),
            );
        }
        assert_eq!(hidden, 1_000);
    }

    #[test]
    fn excerpts_are_cut_and_escaped() {
        assert_eq!(excerpt("a\u{1b}[31mb\n", None), "a\\u{1b}[31mb");
        assert_eq!(excerpt(&"é".repeat(600), None).chars().count(), 501);
    }

    #[tokio::test(start_paused = true)]
    async fn key_of_a_callback_is_used_as_long_as_it_says() {
        let (source, asked) = counted(60);
        let (first, second) = tokio::join!(source.key(), source.key());
        assert_eq!(
            (
                first.expect("a key").expose(),
                second.expect("a key").expose()
            ),
            ("key-1", "key-1")
        );
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(source.key().await.expect("a key").expose(), "key-1");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(source.key().await.expect("a key").expose(), "key-2");
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        let (source, asked) = counted(0);
        for _ in 0..1_000 {
            source.key().await.expect("a key");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1_000);
    }

    // B8
    #[tokio::test(start_paused = true)]
    async fn requests_at_the_same_time_ask_once() {
        for (valid_for, expected) in [(60, 1), (0, 1_000)] {
            let asked = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&asked);
            let source = KeySource::callback(move || {
                let n = counter.fetch_add(1, Ordering::SeqCst);
                async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Ok(ProvidedKey::new(format!("key-{n}"))
                        .valid_for(Duration::from_secs(valid_for)))
                }
            });
            let began = Instant::now();
            let keys = futures_util::future::join_all((0..1_000).map(|_| source.key())).await;
            let keys = keys
                .into_iter()
                .map(|key| key.expect("a key").expose().to_owned());
            let keys = keys.collect::<std::collections::BTreeSet<_>>();
            assert_eq!(
                (asked.load(Ordering::SeqCst), keys.len()),
                (expected, expected)
            );
            assert!(
                began.elapsed() <= Duration::from_secs(2),
                "none waits for all others"
            );
        }
    }

    // B8
    #[tokio::test(start_paused = true)]
    async fn hanging_callback_fails_all_that_wait_in_time() {
        let source = KeySource::callback(std::future::pending);
        let began = Instant::now();
        let keys = futures_util::future::join_all((0..1_000).map(|_| source.key())).await;
        assert_eq!(keys.iter().filter(|key| key.is_err()).count(), 1_000);
        assert_eq!(began.elapsed().as_secs(), 30);
    }

    // T1
    #[test]
    fn causes_of_protocol_errors_show_no_key() {
        let mut hidden = 0;
        for n in 0..1_000 {
            let secret = format!("sk-canary-{n}");
            let key = if n % 2 == 0 {
                ApiKey::new(&secret)
            } else {
                ApiKey::new("k").hiding([&*secret])
            };
            let parsed =
                serde_json::from_str::<u8>(&format!("\"{secret}\"")).expect_err("not a number");
            let error = match n % 4 {
                0 | 1 => unparsed(parsed, &format!("data: {secret}")),
                2 => ProtocolError::of_provider(Some(secret.clone()), secret.clone()),
                _ => ProtocolError::Orphan {
                    key: secret.clone(),
                },
            };
            let Event::Error(error) = redact_event(Event::Error(error), Some(&key)) else {
                panic!("an error")
            };
            let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |cause| {
                (*cause).source()
            });
            let shown = causes
                .map(|cause| format!("{cause} {cause:?}"))
                .collect::<Vec<_>>()
                .concat();
            hidden += usize::from(!shown.contains("canary") && shown.contains("[key]"));
        }
        assert_eq!(hidden, 1_000);
        let parsed = serde_json::from_str::<u8>("\"other\"").expect_err("not a number");
        let kept = redact_event(
            Event::Error(unparsed(parsed, "other")),
            Some(&ApiKey::new("sk-canary")),
        );
        assert!(
            matches!(
                kept,
                Event::Error(ProtocolError::Malformed {
                    source: Some(_),
                    ..
                })
            ),
            "{kept:?}"
        );
    }

    #[tokio::test]
    async fn refused_key_is_forgotten_once() {
        let (source, _) = counted(60);
        let key = source.key().await.expect("a key");
        assert!(source.forget(&key));
        assert!(!source.forget(&key));
        assert_eq!(source.key().await.expect("a key").expose(), "key-2");
        // A request that still has the old key finds a newer one.
        assert!(source.forget(&key));
        assert_eq!(source.key().await.expect("a key").expose(), "key-2");
        assert!(!KeySource::Fixed(ApiKey::new("k")).forget(&ApiKey::new("k")));
    }

    #[tokio::test(start_paused = true)]
    async fn callback_that_hangs_or_fails_is_an_error() {
        let hangs = KeySource::callback(std::future::pending);
        let error = hangs.key().await.expect_err("late");
        assert_eq!(
            (error.kind(), error.message()),
            (
                ErrorKind::Transient,
                "the callback for the API key took longer than 30s"
            )
        );
        let panics =
            KeySource::callback(|| -> std::future::Ready<Result<ProvidedKey, ToolError>> {
                panic!("canary")
            });
        let error = panics.key().await.expect_err("panics");
        assert_eq!(
            (error.kind(), error.message().contains("canary")),
            (ErrorKind::Internal, false)
        );
        let fails = KeySource::callback(|| async { Err(ToolError::auth("no credentials")) });
        assert_eq!(
            fails.key().await.expect_err("fails").message(),
            "no credentials"
        );
        let empty = KeySource::callback(|| async { Ok(ProvidedKey::new(" ")) });
        assert_eq!(
            empty.key().await.expect_err("empty").kind(),
            ErrorKind::Auth
        );
    }
}
