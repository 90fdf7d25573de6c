//! Headers and tokens of a client over HTTP, which appear in no error, log or name.

use crate::client::declared::Declared;
use crate::client::error::{ImportError, Unsent};
use crate::client::http_answer::HttpResult;
use crate::client::names::{self, KEY, looks_like_key, looks_random};
use crate::original::{Reason, Removed};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Url};
use rmcp::model::Tool;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tool_adapters_http::base_url::{self, is_local, is_secret_name, with_scheme};
use tool_adapters_http::callback::{SingleFlight, run_callback};
use tool_core::json::parse_strict;
use tool_core::schema::join_pointer;
use tool_core::text::{escape_invisible, truncate};
use tool_core::trace::Redaction;
use zeroize::Zeroizing;

type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// Returns a token. It receives the token that the server refused, if there is one.
pub(crate) type TokenProvider =
    dyn Fn(Option<String>) -> BoxFuture<'static, Result<String, TokenError>> + Send + Sync;

pub(crate) type Token = Zeroizing<String>;

/// The headers and the tokens that are sent with each request. They are wiped from memory on drop.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) headers: Vec<(String, Zeroizing<String>)>,
    pub(crate) tokens: Option<Arc<TokenProvider>>,
    pub(crate) allow_unencrypted: bool,
    #[cfg(feature = "auth")]
    pub(crate) oauth: Option<Arc<crate::auth::ServerTokens>>,
    /// The hosts and addresses to which connections are made.
    pub(crate) egress: Option<tool_adapters_http::egress::EgressPolicy>,
    /// Asks for a token by the one that was refused. The error is a text.
    flight: SingleFlight<Option<Token>, Result<Token, String>>,
    /// The texts that are masked: the values of headers, the keys in the URL or the command, and
    /// the last tokens.
    secrets: Mutex<Vec<(Token, SecretKind)>>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum SecretKind {
    /// It may be an ordinary word, so it is not masked in the answers of tools.
    Word,
    Key,
    /// A key that changes, so that the oldest are forgotten.
    Token,
}

const MAX_TOKENS: usize = 64;

/// The characters below which a text is not masked, as it would be found in every sentence.
const MIN_SECRET: usize = 4;
/// The characters below which a key is not masked in answers, where it may be an ordinary word.
const MIN_KEY: usize = 8;

/// Maximum number of characters of a server's text in a log or an error.
const MAX_LINE: usize = 800;

impl Credentials {
    /// Returns a text with the known secrets masked.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secrets(|_, _| true)
            .iter()
            .fold(text.to_owned(), |text, secret| {
                text.replace(&***secret, KEY)
            })
    }

    /// Returns the secrets that are masked in answers.
    fn keys(&self) -> Vec<Token> {
        self.secrets(|text, kind| kind != SecretKind::Word && text.len() >= MIN_KEY)
    }

    /// Returns true if the name of a tool, or a name in its schemas, has a key. The server knows
    /// both by these names only, so that they cannot be masked.
    pub(crate) fn is_in_names(&self, tool: &Tool) -> bool {
        let keys = self.keys();
        let mut schemas = [Some(&tool.input_schema), tool.output_schema.as_ref()]
            .into_iter()
            .flatten();
        has_key(&tool.name, &keys)
            || (!keys.is_empty() && schemas.any(|schema| names_have_key(schema.iter(), &keys)))
    }

    /// Returns an answer of the server with the keys masked that it repeats.
    pub(crate) fn redact_answer<T: Serialize + DeserializeOwned>(
        &self,
        answer: T,
    ) -> Result<T, ImportError> {
        let keys = self.keys();
        if keys.is_empty() {
            return Ok(answer);
        }
        let masked = serde_json::to_value(&answer).and_then(|mut value| {
            mask(&mut value, &keys)
                .then(|| serde_json::from_value(value))
                .transpose()
        });
        Ok(masked
            .map_err(|error| self.protocol_error(&error))?
            .unwrap_or(answer))
    }

    /// Returns a declaration of the server with the keys masked that it repeats.
    pub(crate) fn redact_declared<T: Serialize + DeserializeOwned>(
        &self,
        declared: Declared<T>,
    ) -> Result<Declared<T>, ImportError> {
        let Declared { item, sent } = declared;
        Ok(Declared {
            item: self.redact_answer(item)?,
            sent: self.redact_answer(sent)?,
        })
    }

    /// Returns the text of a result with the keys masked that it repeats, and the places of these.
    pub(crate) fn redact_result<'a>(
        &self,
        result: &'a str,
    ) -> Result<(Cow<'a, str>, Vec<Removed>), ImportError> {
        let keys = self.keys();
        let is_escaped = || {
            let needs_escape =
                |key: &Token| key.contains(|c: char| c == '"' || c == '\\' || c.is_control());
            result.contains("\\u") || result.contains("\\/") || keys.iter().any(needs_escape)
        };
        if keys.is_empty() || !(has_key(result, &keys) || is_escaped()) {
            return Ok((Cow::Borrowed(result), Vec::new()));
        }
        let mut value =
            serde_json::from_str::<Value>(result).map_err(|error| self.protocol_error(&error))?;
        let mut masked = Vec::new();
        mask_each(&mut value, &keys, "", &mut masked);
        if masked.is_empty() && parse_strict::<Value>(result).is_ok() {
            return Ok((Cow::Borrowed(result), masked));
        }
        // The first of two members of one name is not read, and may have a key.
        Ok((Cow::Owned(value.to_string()), masked))
    }

    /// Returns the longest secrets first, as a part of one may be another.
    fn secrets(&self, is_wanted: impl Fn(&str, SecretKind) -> bool) -> Vec<Token> {
        let secrets = self.secrets.lock();
        let wanted = secrets.iter().filter(|(text, kind)| is_wanted(text, *kind));
        let mut wanted = wanted.map(|(text, _)| text.clone()).collect::<Vec<_>>();
        wanted.sort_by_key(|text| Reverse(text.len()));
        wanted
    }

    /// Returns a text of the server for a person or a log: on one line, cut, and with secrets
    /// masked.
    pub(crate) fn display(&self, text: &str) -> String {
        truncate(
            &escape_invisible(&truncate(&self.redact(text), MAX_LINE)),
            MAX_LINE,
        )
    }

    /// Returns the error of a connection.
    pub(crate) fn protocol_error(&self, error: &dyn std::error::Error) -> ImportError {
        self.protocol_failure(&error.to_string())
    }

    pub(crate) fn protocol_failure(&self, error: &str) -> ImportError {
        ImportError::Protocol(self.display(error).into())
    }

    pub(crate) fn add_secret(&self, text: &str, kind: SecretKind) {
        let mut secrets = self.secrets.lock();
        let known = secrets
            .iter()
            .any(|(known, known_kind)| **known == text && *known_kind == kind);
        if text.len() < MIN_SECRET || known {
            return;
        }
        let is_token = |(_, kind): &(Token, SecretKind)| *kind == SecretKind::Token;
        if kind == SecretKind::Token
            && secrets.iter().filter(|secret| is_token(secret)).count() == MAX_TOKENS
        {
            let oldest = secrets.iter().position(is_token);
            oldest.map(|oldest| secrets.remove(oldest));
        }
        secrets.push((Zeroizing::new(text.to_owned()), kind));
    }

    /// Notes a secret, and the words in it, such as the token after `Bearer`.
    fn add_words(&self, text: &str, kind: SecretKind) {
        self.add_secret(text, kind);
        for word in text
            .split(' ')
            .filter(|word| !matches!(*word, "Bearer" | "Basic"))
        {
            self.add_secret(word, kind);
        }
    }

    /// Notes a text of a command that may be a secret. One that is named for a key is masked as a
    /// whole, and so is a token after its scheme. Of any other text the words are masked that look
    /// like keys, as ordinary ones are part of what a server says.
    fn add_masked(&self, text: &str, is_named: bool, kind: SecretKind) {
        let words = text.split_whitespace().collect::<Vec<_>>();
        if is_named {
            self.add_secret(text.trim(), kind);
        }
        let is_token =
            |word: &str| is_named && words.len() <= 2 && !matches!(word, "Bearer" | "Basic");
        for word in words
            .iter()
            .filter(|word| looks_like_key(word) || is_token(word))
        {
            self.add_secret(word, kind);
        }
    }

    /// Notes the secrets of a command and of the variables that are set on it.
    pub(crate) fn note_command(&self, command: &Command) {
        for masked in names::of_command(command).1 {
            let kind = if looks_random(&masked.text) {
                SecretKind::Key
            } else {
                SecretKind::Word
            };
            self.add_masked(&masked.text, masked.is_named, kind);
        }
        if names::has_key_argument(command) {
            let server = names::of_command(command).0;
            tracing::warn!(
                server,
                "an argument of a server's command looks like a key, and all users of this machine can read the arguments of \
                 processes; pass it in a variable (`env`, or `env_from_parent`)"
            );
        }
        for (name, value) in command.get_envs() {
            let name = name.to_string_lossy();
            let value = value
                .map(|value| value.to_string_lossy())
                .unwrap_or_default();
            if is_secret_name(&name) || looks_random(&value) {
                self.add_masked(&value, is_secret_name(&name), SecretKind::Key);
            }
            // `DATABASE_URL` is the name of no key.
            if let Some(url) = Url::parse(&value)
                .ok()
                .filter(|url| url.password().is_some())
            {
                for secret in names::secrets_of_url(&url) {
                    self.add_secret(&secret, SecretKind::Key);
                }
            }
        }
    }

    /// Returns the headers as the HTTP client's types, which do not show their values.
    pub(crate) fn header_map(&self) -> Result<HashMap<HeaderName, HeaderValue>, ImportError> {
        let mut headers = HashMap::new();
        for (name, value) in &self.headers {
            let parsed = HeaderName::try_from(name)
                .ok()
                .zip(HeaderValue::from_str(value).ok());
            let (parsed, mut value) =
                parsed.ok_or_else(|| ImportError::Header(name.escape_debug().to_string()))?;
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }

    /// Refuses to send a key without encryption to another machine.
    pub(crate) fn check_encrypted(&self, url: &Url) -> Result<(), ImportError> {
        let host = url.host_str().unwrap_or_default();
        let has_key = self.sends_tokens()
            || self.headers.iter().any(|(name, _)| is_secret_name(name))
            || base_url::has_key(url.as_str());
        if has_key && url.scheme() != "https" && !is_local(host) && !self.allow_unencrypted {
            return Err(ImportError::Unencrypted {
                host: host.to_owned(),
            });
        }
        Ok(())
    }

    /// Returns true if connections go to the hosts of a policy only.
    pub(crate) fn is_guarded(&self) -> bool {
        self.egress.is_some()
    }

    /// Checks the address of a server that a proxy reaches.
    pub(crate) async fn check_proxied(&self, url: &Url) -> Result<(), ImportError> {
        if let Some(policy) = &self.egress {
            return policy
                .check_proxied(url)
                .await
                .map_err(|error| ImportError::Protocol(error.into()));
        }
        Ok(())
    }

    /// Returns true if requests to a URL go to a proxy.
    pub(crate) fn is_proxied(&self, url: &Url) -> bool {
        self.egress
            .as_ref()
            .is_some_and(|policy| policy.is_proxied(url))
    }

    /// Returns a builder for the HTTP client of a URL, with the guard of its connections.
    pub(crate) fn http_builder(&self, url: &Url) -> Result<ClientBuilder, ImportError> {
        if let Some(policy) = &self.egress {
            let guarded = tool_adapters_http::egress::client_builder_for(policy.clone(), url);
            // A stream of events has no end.
            return Ok(guarded
                .map_err(|error| ImportError::Protocol(error.into()))?
                .timeout(tool_core::time::CENTURY));
        }
        Ok(Client::builder())
    }

    fn sends_tokens(&self) -> bool {
        #[cfg(feature = "auth")]
        if self.oauth.is_some() {
            return true;
        }
        self.tokens.is_some()
    }

    /// Returns the error of the login, if that is why a connection failed.
    #[cfg_attr(
        not(feature = "auth"),
        allow(clippy::unused_self, clippy::unnecessary_wraps)
    )]
    pub(crate) fn login_error(&self, error: ImportError) -> ImportError {
        #[cfg(feature = "auth")]
        if let Some(login) = self.oauth.as_ref().and_then(|oauth| oauth.failure())
            && matches!(
                error,
                ImportError::Connection(_) | ImportError::Protocol(_) | ImportError::Timeout
            )
        {
            return login.into();
        }
        error
    }

    /// Waits until a connection has taken too long. The time in which a person signs in does not
    /// count.
    pub(crate) async fn time_out(&self, limit: Duration) {
        #[cfg(feature = "auth")]
        if let Some(oauth) = &self.oauth {
            return oauth.sleep_without_login(limit).await;
        }
        sleep(limit).await;
    }

    /// Notes the secrets of the headers and of the URL.
    pub(crate) fn note_secrets(&self, url: &Url) {
        for (name, value) in &self.headers {
            self.add_words(
                value,
                if is_secret_name(name) {
                    SecretKind::Key
                } else {
                    SecretKind::Word
                },
            );
        }
        // The name of a user, segments of the path, and values that are not named for a key, are
        // ordinary words.
        let named = |pair: &&str| {
            is_secret_name(&base_url::decode(
                pair.split('=').next().unwrap_or_default(),
            ))
        };
        let (keys, words) = url
            .query()
            .unwrap_or_default()
            .split('&')
            .partition::<Vec<_>, _>(named);
        let [mut keys, mut words] =
            [keys, words].map(|pairs| base_url::secrets(&format!("?{}", pairs.join("&"))));
        keys.extend(url.password().map(str::to_owned));
        words.extend([url.username().to_owned(), base_url::decode(url.username())]);
        words.extend(url.path().split('/').map(str::to_owned));
        for text in names::secrets_of_url(url) {
            let is_word = words.contains(&text) && !keys.contains(&text);
            self.add_secret(
                &text,
                if is_word {
                    SecretKind::Word
                } else {
                    SecretKind::Key
                },
            );
        }
    }

    pub(crate) async fn token(&self, refused: Option<Token>) -> HttpResult<Option<Token>> {
        let Some(provide) = &self.tokens else {
            return Ok(None);
        };
        let ask = || async {
            let provide = Arc::clone(provide);
            let refused = refused.as_deref().cloned();
            let provided =
                run_callback(async move { provide(refused).await.map(Zeroizing::new) }).await;
            provided
                .map_err(|error| format!("the callback {error}"))?
                .map_err(|error| error.to_string())
        };
        let token = self
            .flight
            .run(refused.clone(), ask)
            .await
            .0
            .map_err(|error| {
                let message = format!(
                    "failed to get a token: {}",
                    Redaction::new().text(&self.redact(&error))
                );
                Unsent(message)
            })?;
        self.add_secret(&token, SecretKind::Token);
        Ok(Some(token))
    }
}

fn has_key(text: &str, keys: &[Token]) -> bool {
    keys.iter().any(|key| text.contains(&***key))
}

/// Returns true if the name of a member, or of one in its value, has a key.
fn names_have_key<'a>(
    mut members: impl Iterator<Item = (&'a String, &'a Value)>,
    keys: &[Token],
) -> bool {
    fn is_within(value: &Value, keys: &[Token]) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| is_within(item, keys)),
            Value::Object(members) => names_have_key(members.iter(), keys),
            _ => false,
        }
    }
    members.any(|(name, value)| has_key(name, keys) || is_within(value, keys))
}

/// Masks keys in all texts and names of a value, and notes where.
fn mask_each(value: &mut Value, keys: &[Token], pointer: &str, masked: &mut Vec<Removed>) {
    let is_masked = match value {
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                mask_each(item, keys, &format!("{pointer}/{at}"), masked);
            }
            false
        }
        Value::Object(members) => {
            for (name, member) in members.iter_mut().filter(|(name, _)| !has_key(name, keys)) {
                mask_each(member, keys, &join_pointer(pointer, name), masked);
            }
            members.keys().any(|name| has_key(name, keys)) && mask(value, keys)
        }
        _ => mask(value, keys),
    };
    if is_masked {
        masked.push(Removed {
            pointer: pointer.to_owned(),
            reason: Reason::Key,
        });
    }
}

/// Masks keys in all texts and names of a value. Returns true if there were any.
fn mask(value: &mut Value, keys: &[Token]) -> bool {
    let masked = |text: &str| {
        has_key(text, keys).then(|| {
            keys.iter()
                .fold(text.to_owned(), |text, key| text.replace(&***key, KEY))
        })
    };
    match value {
        Value::String(text) => masked(text).map(|masked| *text = masked).is_some(),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |found, item| mask(item, keys) | found),
        Value::Object(members) => {
            std::mem::take(members)
                .into_iter()
                .fold(false, |found, (name, mut member)| {
                    let was_masked = mask(&mut member, keys);
                    let masked = masked(&name);
                    let found = found | was_masked | masked.is_some();
                    members.insert(masked.unwrap_or(name), member);
                    found
                })
        }
        _ => false,
    }
}

/// Parses a URL. Without a scheme it is `https`, and `http` for this machine.
pub(crate) fn parse_url(text: &str) -> Result<Url, ImportError> {
    let invalid = || ImportError::Url("expected a URL such as https://mcp.example/mcp");
    // A URL parser takes `http:///path` for a host `path`.
    if text
        .split_once("://")
        .map_or(text, |(_, rest)| rest)
        .starts_with('/')
    {
        return Err(invalid());
    }
    let url = Url::parse(&with_scheme(text, "https", "http")).map_err(|_| invalid())?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(ImportError::Url(
            "expected a URL that begins with https:// or http://",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};

    // B8
    #[tokio::test(start_paused = true)]
    async fn requests_at_the_same_time_share_a_token() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let provide =
            move |refused: Option<String>| -> BoxFuture<'static, Result<String, TokenError>> {
                let n = counter.fetch_add(1, Ordering::SeqCst);
                Box::pin(async move {
                    sleep(Duration::from_secs(1)).await;
                    Ok(format!("{} {n}", refused.unwrap_or_default()))
                })
            };
        let credentials = Credentials {
            tokens: Some(Arc::new(provide)),
            ..Credentials::default()
        };
        let refused = Some(Zeroizing::new("refused".to_owned()));
        let tokens = join_all((0..1_000).map(|_| credentials.token(None))).await;
        let renewed = join_all((0..1_000).map(|_| credentials.token(refused.clone()))).await;
        let shown = |token: &HttpResult<Option<Token>>| {
            token.as_ref().expect("a token").as_deref().cloned()
        };
        assert!(
            tokens
                .iter()
                .all(|token| shown(token).as_deref() == Some(" 0"))
        );
        assert!(
            renewed
                .iter()
                .all(|token| shown(token).as_deref() == Some("refused 1"))
        );
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn the_longest_secret_is_masked_first() {
        for at in 0..1_000 {
            let header = |name: &str, value: String| (name.to_owned(), Zeroizing::new(value));
            let short = format!("acme{at}");
            let long = format!("Bearer acme{at}-9f8e7d6c");
            let headers = vec![header("x-org", short), header("authorization", long)];
            let credentials = Credentials {
                headers,
                ..Credentials::default()
            };
            credentials.note_secrets(
                &Url::parse(&format!("https://host/acme{at}-9f8e/mcp")).expect("a URL"),
            );
            credentials.add_secret(&format!("acme{at}-9f8e7d6c5b4a"), SecretKind::Token);
            let text = format!("acme{at} acme{at}-9f8e acme{at}-9f8e7d6c acme{at}-9f8e7d6c5b4a");
            assert_eq!(credentials.redact(&text), "[key] [key] [key] [key]");
        }
    }

    fn credentials(url: &str, headers: &[(&str, &str)]) -> Credentials {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Zeroizing::new((*value).to_owned())));
        let credentials = Credentials {
            headers: headers.collect(),
            ..Credentials::default()
        };
        credentials.note_secrets(&Url::parse(url).expect("a URL"));
        credentials
    }

    fn declared(name: &str, text: &str) -> Tool {
        let schema =
            serde_json::json!({"type": "object", "properties": {text: {"description": text}}});
        serde_json::from_value(
            serde_json::json!({"name": name, "description": text, "inputSchema": schema}),
        )
        .expect("a declaration")
    }

    #[test]
    fn ordinary_paths_and_headers_change_no_answer() {
        let names = [
            "X-Auth-Provider",
            "X-Team",
            "X-Author",
            "X-Keyword",
            "X-Key-Id",
            "X-Token-Type",
            "X-Tenant",
        ];
        let mut unchanged = 0;
        for at in 0..1_000 {
            let words = [
                format!("my-project-{:05}", 12_345 + at),
                format!("weather-service-v{at}"),
                format!("3f2a{at:08x}bcde4567a9d1"),
                format!("microsoft{at}"),
                format!("alice{at}@example.com"),
                format!("https%3A%2F%2Fhost{at}.example%2F"),
            ];
            let [project, service, id, value, user, link] = &words;
            let user_part = user.replace('@', "%40");
            let url = format!(
                "http://lan{at}.example/projects/{project}/{service}/{id}/mcp?keyword={value}&author={value}&to={link}"
            );
            let headers = [(names[at % names.len()], &**value)];
            let plain = credentials(&url, &headers);
            plain
                .check_encrypted(&Url::parse(&url).expect("a URL"))
                .expect("no key");
            let with_user = credentials(
                &url.replacen("http://", &format!("https://{user_part}:canary-{at}@"), 1),
                &headers,
            );
            for credentials in [plain, with_user] {
                let text = words.join(" ");
                assert_eq!(
                    credentials
                        .redact_answer(Value::from(&*text))
                        .expect("an answer"),
                    *text
                );
                let tool = declared(&format!("{service}-lookup"), &text);
                assert!(!credentials.is_in_names(&tool));
                assert_eq!(
                    credentials
                        .redact_answer(tool.clone())
                        .expect("a declaration"),
                    tool
                );
                // Errors and logs show none of them.
                let shown = credentials.redact(&text);
                assert!(!shown.contains(project) && !shown.contains(id), "{shown}");
                unchanged += 1;
            }
        }
        assert_eq!(unchanged, 2_000);
    }

    // C18
    #[test]
    fn last_lines_show_words_and_no_keys() {
        let mut command = Command::new("npx");
        command.args([
            "-y",
            "@acme/does-not-exist",
            "serve",
            "--name",
            "registry",
            "found",
            "--token",
            "correcthorse",
        ]);
        command.args([
            "sk-live-12ab34cd",
            "--header",
            "Authorization: Bearer swordfish",
        ]);
        command
            .env("API_KEY", "hunter-two")
            .env("GREETING_TOKEN", "this is not found in the registry");
        let credentials = Credentials::default();
        credentials.note_command(&command);
        let line = "npm error 404 Not Found - GET https://registry.npmjs.org/@acme%2fdoes-not-exist - not found, serve it";
        assert_eq!(credentials.display(line), line);
        for key in [
            "correcthorse",
            "sk-live-12ab34cd",
            "swordfish",
            "hunter-two",
            "this is not found in the registry",
        ] {
            assert_eq!(
                credentials.display(&format!("bad key {key}.")),
                format!("bad key {KEY}."),
                "{key}"
            );
        }
    }

    #[test]
    fn keys_in_names_of_a_declaration_are_found() {
        let mut found = 0;
        for at in 0..1_000 {
            let key = format!("canary-{at:04}");
            let credentials = credentials(
                &format!("https://host/{key}?api_key={key}"),
                &[("x-team", &key)],
            );
            let named = [
                declared(&format!("{key}-lookup"), "text"),
                declared("lookup", &format!("a {key}")),
            ];
            found += named
                .iter()
                .filter(|tool| credentials.is_in_names(tool))
                .count();
        }
        assert_eq!(found, 2_000);
    }

    #[test]
    fn secrets_of_headers_outlive_a_thousand_tokens() {
        let headers = vec![(
            "x-api-key".to_owned(),
            Zeroizing::new("canary-header".to_owned()),
        )];
        let credentials = Credentials {
            headers,
            ..Credentials::default()
        };
        credentials.note_secrets(&Url::parse("https://host/?key=canary-query").expect("a URL"));
        for n in 0..1_000 {
            credentials.add_secret(&format!("canary-token-{n:04}"), SecretKind::Token);
            let shown =
                credentials.redact(&format!("canary-header canary-query canary-token-{n:04}"));
            assert_eq!(shown, "[key] [key] [key]", "{n}");
        }
    }
}
