//! The tokens of one server: kept, refreshed, and replaced by a login. All requests share them.

use crate::auth::challenge::Challenge;
use crate::auth::error::LoginError;
use crate::auth::fetch::Fetcher;
use crate::auth::flow::{Discovered, Flow, Registration, discover};
use crate::auth::login::{Consent, LoginLock, OAuthLogin};
use crate::auth::metadata::is_same_issuer;
use parking_lot::Mutex;
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tool_adapters_agents::oauth2::shown;
use tool_adapters_http::base_url::is_local;
use tool_adapters_http::egress::EgressPolicy;
use tool_core::agents::Tokens;
use tool_core::tool::SecretDocument;
use tool_core::{Secret, Timestamp, jiff};

/// The time before its end at which a token is refreshed.
const EARLY: Duration = Duration::from_secs(30);
/// Maximum number of logins in [`WINDOW`]. A server can refuse every token, and each login disturbs
/// a person.
const MAX_LOGINS: usize = 4;
/// The same for the credentials of a program, which disturb no person.
const MAX_MACHINE_LOGINS: usize = 120;
const WINDOW: Duration = Duration::from_secs(10 * 60);
/// The time for which a program waits while another one refreshes the tokens.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);
/// The age below which a refreshed token that is refused is not refreshed again.
const RECENT: Duration = Duration::from_secs(60);
/// The pause between searches for an authorization server without a word of the server.
const SEARCH_PAUSE: Duration = Duration::from_secs(60);
/// The time after a failed refresh in which a token that is still good is used without another one.
const RETRY: Duration = Duration::from_secs(5);

/// The tokens of one server.
pub(crate) struct ServerTokens {
    login: OAuthLogin,
    server: Url,
    fetcher: Fetcher,
    state: tokio::sync::Mutex<TokenState>,
    /// The token for the next request, and its end.
    current: Mutex<Option<(Secret, Option<Timestamp>)>>,
    /// Counts the attempts to get a token, so that requests that waited for one share its outcome.
    attempts: AtomicU64,
    failure: Mutex<Option<LoginError>>,
    /// The number of logins under way.
    asking: watch::Sender<usize>,
}

#[derive(Default)]
struct TokenState {
    is_loaded: bool,
    stored: Option<StoredLogin>,
    /// The token that the store had when it was last read or written.
    in_store: Option<Secret>,
    found: Option<Discovered>,
    logins: VecDeque<Instant>,
    refreshed: Option<Instant>,
    /// The last time that a refresh failed while the token was still good.
    refresh_failed: Option<Instant>,
    /// The last time that an authorization server was looked for without a word of the server.
    searched: Option<Instant>,
}

/// A login as a store keeps it.
#[derive(Clone)]
struct StoredLogin {
    registration: Registration,
    tokens: Option<Tokens>,
    scopes: Vec<String>,
}

/// The form of a login in a store.
#[derive(Deserialize)]
struct LoginDocument {
    version: u32,
    /// The login is for this server only, also in a store that mixes them up.
    server: String,
    registration: Registration,
    client_secret: Option<Secret>,
    access_token: Option<Secret>,
    refresh_token: Option<Secret>,
    expires_at: Option<Timestamp>,
    scopes: Vec<String>,
}

const VERSION: u32 = 1;

/// The reason for a new token.
#[derive(Clone)]
pub(crate) struct Refused {
    /// The token that the server refused, if one was sent.
    pub(crate) token: Option<Secret>,
    pub(crate) challenge: Challenge,
}

impl ServerTokens {
    pub(crate) fn new(login: OAuthLogin, server: &Url) -> Result<Arc<Self>, LoginError> {
        let is_local = is_local(server.host_str().unwrap_or_default());
        let policy = login.egress.clone().unwrap_or_else(|| {
            if is_local {
                EgressPolicy::new().allow_loopback()
            } else {
                EgressPolicy::new()
            }
        });
        let fetcher = Fetcher::guarded(&policy, is_local)?;
        let mut server = server.clone();
        server.set_fragment(None);
        Ok(Arc::new(Self {
            login,
            server,
            fetcher,
            state: tokio::sync::Mutex::default(),
            current: Mutex::default(),
            attempts: AtomicU64::new(0),
            failure: Mutex::default(),
            asking: watch::Sender::new(0),
        }))
    }

    /// Waits for a time that no login interrupts. It begins anew after each login.
    pub(crate) async fn sleep_without_login(&self, time: Duration) {
        let mut asking = self.asking.subscribe();
        loop {
            tokio::select! {
                biased;
                () = wait_for_login(&mut asking, true) => {}
                () = sleep(time) => return,
            }
            wait_for_login(&mut asking, false).await;
        }
    }

    /// Returns the error of the last attempt to get a token, if it failed.
    pub(crate) fn failure(&self) -> Option<LoginError> {
        self.failure.lock().clone()
    }

    /// Returns the error for which there is no token to send.
    pub(crate) fn missing(&self) -> Option<LoginError> {
        self.failure()
            .filter(|_| self.current().is_none_or(|(_, end)| is_over(end)))
    }

    fn current(&self) -> Option<(Secret, Option<Timestamp>)> {
        self.current.lock().clone()
    }

    /// Returns the token for a request. Returns `None` if there is none yet, so that the server
    /// says what it needs.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<Option<Secret>, LoginError> {
        match self.current() {
            Some((token, end)) if !is_over(end) => Ok(Some(token)),
            _ => self.run(None).await,
        }
    }

    /// Returns another token, after the server has refused a request.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        refused: Refused,
    ) -> Result<Option<Secret>, LoginError> {
        self.run(Some(refused)).await
    }

    /// Gets a token in a task. A request whose time is over does not end it: the next one finds the
    /// token.
    async fn run(self: &Arc<Self>, refused: Option<Refused>) -> Result<Option<Secret>, LoginError> {
        let tokens = Arc::clone(self);
        let seen = self.attempts.load(Ordering::Acquire);
        let task = tokio::spawn(tool_core::trace::in_current_span(async move {
            let mut state = tokens.state.lock().await;
            tokens.provide(&mut state, refused, seen).await
        }));
        task.await.unwrap_or_else(|_| {
            Err(LoginError::Ask(
                "the function of the program panicked".to_owned(),
            ))
        })
    }

    async fn provide(
        &self,
        state: &mut TokenState,
        refused: Option<Refused>,
        seen: u64,
    ) -> Result<Option<Secret>, LoginError> {
        if !state.is_loaded {
            state.stored = self.load().await?;
            state.in_store = state.access().cloned();
            state.is_loaded = true;
            self.publish(state);
        }
        let current = self
            .current()
            .filter(|(_, end)| !is_over(*end))
            .map(|(token, _)| token);
        let is_other = |token: &Secret| match &refused {
            Some(refused) => refused
                .token
                .as_ref()
                .is_none_or(|old| old.expose() != token.expose()),
            None => true,
        };
        if let Some(token) = current.filter(is_other) {
            return Ok(Some(token));
        }
        if seen != self.attempts.load(Ordering::Acquire)
            && let Some(failure) = self.failure()
        {
            return Err(failure);
        }
        let outcome = match &refused {
            Some(refused) => self.attempt(state, refused).await.map(Some),
            None => self.replace_expired(state).await,
        };
        self.attempts.fetch_add(1, Ordering::AcqRel);
        *self.failure.lock() = outcome.as_ref().err().cloned();
        outcome
    }

    /// Finds the authorization server. Of several, the client or the login is known at one.
    async fn discover(
        &self,
        state: &TokenState,
        challenge: &Challenge,
    ) -> Result<Discovered, LoginError> {
        let stored = state.stored.as_ref();
        let known_issuer = match &self.login.client {
            Some(client) => Some(&*client.issuer),
            None => stored.map(|stored| &*stored.registration.issuer),
        };
        discover(&self.fetcher, &self.server, challenge, known_issuer).await
    }

    /// Finds the authorization server that may refresh a stored login. A server that serves
    /// strangers too does not ask for one.
    async fn find_for_refresh(&self, state: &mut TokenState) {
        let has_searched = state
            .searched
            .is_some_and(|searched| searched.elapsed() < SEARCH_PAUSE);
        if state.found.is_some() || has_searched || !has_refresh_token(state) {
            return;
        }
        state.searched = Some(Instant::now());
        match self.discover(state, &Challenge::default()).await {
            Ok(found) if !is_elsewhere(state, &found) => state.found = Some(found),
            Ok(_) => {}
            // A challenge of the server may say more.
            Err(error) => tracing::debug!(%error, "failed to find the issuer of a stored login"),
        }
    }

    /// Replaces a token that is about to end. One that is still good is used if the authorization
    /// server is not available. Returns `None` if there is no other.
    async fn replace_expired(&self, state: &mut TokenState) -> Result<Option<Secret>, LoginError> {
        let old = match self.current() {
            Some((token, Some(end))) if end.0 > jiff::Timestamp::now() => Some(token),
            _ => None,
        };
        let has_just_failed = state
            .refresh_failed
            .is_some_and(|failed| failed.elapsed() < RETRY);
        if old.is_some() && has_just_failed {
            return Ok(old);
        }
        match self.refresh_expired(state).await {
            Err(error @ (LoginError::Unavailable(_) | LoginError::Store(_))) if old.is_some() => {
                tracing::warn!(%error, "failed to refresh a token before its end");
                state.refresh_failed = Some(Instant::now());
                Ok(old)
            }
            // There is no other yet, for example since the authorization server was not found.
            Ok(None) if old.is_some() && is_same(old.as_ref(), state.access()) => {
                state.refresh_failed = Some(Instant::now());
                Ok(old)
            }
            outcome => outcome,
        }
    }

    /// Refreshes a token that is about to end. Returns `None` if that is not possible.
    async fn refresh_expired(&self, state: &mut TokenState) -> Result<Option<Secret>, LoginError> {
        self.find_for_refresh(state).await;
        let Some(found) = state.found.clone() else {
            return Ok(None);
        };
        if self.is_machine() {
            return self
                .log_in(state, &found, &Challenge::default())
                .await
                .map(Some);
        }
        match self.refresh(state, &found).await {
            Ok(token) => Ok(token),
            // The request goes without a token, and the server's answer begins a login.
            Err(error) if self.may_log_in(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gets another token: by the refresh token if it is only old, or else by a login.
    async fn attempt(
        &self,
        state: &mut TokenState,
        refused: &Refused,
    ) -> Result<Secret, LoginError> {
        // Found anew, as the server may have moved to another authorization server.
        let found = self.discover(state, &refused.challenge).await?;
        state.found = Some(found.clone());
        if is_elsewhere(state, &found) {
            let _lock = self.lock().await?;
            self.take_newer(state).await?;
            if is_elsewhere(state, &found) {
                tracing::warn!(issuer = %found.issuer.issuer.escape_debug(), "the server has another authorization server now");
                self.keep(state, None).await?;
            }
        }
        let is_fresh = state
            .refreshed
            .is_some_and(|refreshed| refreshed.elapsed() < RECENT);
        if !refused.challenge.is_insufficient_scope && !is_fresh {
            match self.refresh(state, &found).await {
                Ok(Some(token)) => return Ok(token),
                Ok(None) => {}
                Err(error) if self.may_log_in(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.log_in(state, &found, &refused.challenge).await
    }

    /// Returns a new token by the refresh token, if there is one.
    async fn refresh(
        &self,
        state: &mut TokenState,
        found: &Discovered,
    ) -> Result<Option<Secret>, LoginError> {
        if !has_refresh_token(state) {
            return Ok(None);
        }
        // One program at a time, and the next one finds the tokens that it has got.
        let _lock = self.lock().await?;
        if let Some(access) = self.take_newer(state).await?
            && let Some((_, end)) = self.current()
            && !is_over(end)
        {
            return Ok(Some(access));
        }
        let Some(mut stored) = state.stored.clone() else {
            return Ok(None);
        };
        if !is_same_issuer(&stored.registration.issuer, &found.issuer.issuer) {
            return Ok(None);
        }
        let Some(refresh) = stored
            .tokens
            .as_ref()
            .and_then(|tokens| tokens.refresh.clone())
        else {
            return Ok(None);
        };
        match self
            .flow(found)
            .refresh(&stored.registration, &refresh)
            .await
        {
            Ok(tokens) => {
                let access = tokens.access.clone();
                stored.tokens = Some(tokens);
                state.refreshed = Some(Instant::now());
                self.keep(state, Some(stored)).await?;
                Ok(Some(access))
            }
            Err(error) => {
                let is_over = matches!(error, LoginError::Revoked(_));
                let is_forgotten = self.is_forgotten(&error);
                if !is_over && !is_forgotten {
                    // The refresh token may still be good, for example after the error page of a
                    // proxy.
                    return Err(error);
                }
                // Another process that shares the store may have used the refresh token, which is
                // good once.
                if let Some(access) = self.take_newer(state).await? {
                    return Ok(Some(access));
                }
                stored.tokens = None;
                self.keep(state, Some(stored).filter(|_| is_over)).await?;
                Err(error)
            }
        }
    }

    /// Locks the login in the store.
    async fn lock(&self) -> Result<LoginLock, LoginError> {
        let locked = self.login.store.lock(self.server.as_str());
        match timeout(LOCK_PATIENCE, locked).await {
            Ok(locked) => locked.map_err(|error| LoginError::Store(shown(&error.to_string()))),
            Err(_) => Err(LoginError::Store(
                "another program refreshes the login, and does not come to an end".to_owned(),
            )),
        }
    }

    /// Takes the login that another process has kept in the store since. One that this process
    /// failed to save is saved now.
    async fn take_newer(&self, state: &mut TokenState) -> Result<Option<Secret>, LoginError> {
        let loaded = self.load().await?;
        let access = loaded.as_ref().and_then(StoredLogin::access).cloned();
        let has_changed = !is_same(access.as_ref(), state.in_store.as_ref());
        let differs = !is_same(access.as_ref(), state.access());
        if !differs {
            state.in_store = access;
            return Ok(None);
        }
        if !has_changed {
            if let Err(error) = self.save(state).await {
                tracing::warn!(%error, "failed to save a login again");
            }
            return Ok(None);
        }
        state.in_store.clone_from(&access);
        if access.is_some() {
            self.set_stored(state, loaded);
        }
        Ok(access)
    }

    async fn log_in(
        &self,
        state: &mut TokenState,
        found: &Discovered,
        challenge: &Challenge,
    ) -> Result<Secret, LoginError> {
        if let Consent::Stored(hint) = &self.login.consent {
            let newer = self.take_newer(state).await?;
            return newer.ok_or_else(|| LoginError::Required(hint.clone()));
        }
        while state
            .logins
            .front()
            .is_some_and(|first| first.elapsed() >= WINDOW)
        {
            state.logins.pop_front();
        }
        let max = if self.is_machine() {
            MAX_MACHINE_LOGINS
        } else {
            MAX_LOGINS
        };
        if state.logins.len() >= max {
            return Err(LoginError::TooMany(max));
        }
        state.logins.push_back(Instant::now());
        let known = state
            .stored
            .as_ref()
            .map(|stored| stored.registration.clone());
        let granted = state
            .stored
            .as_ref()
            .map(|stored| stored.scopes.clone())
            .unwrap_or_default();
        let begun = {
            let _asking = LoginUnderWay::new(&self.asking);
            self.flow(found)
                .begin(known.as_ref(), &challenge.scopes, &granted)
                .await
        };
        let (tokens, registration, asked) = match begun {
            Ok(done) => done,
            Err(error) => {
                // The next login registers anew.
                let kept = if self.is_forgotten(&error) {
                    self.forget_login(state).await
                } else if matches!(error, LoginError::Timeout) {
                    self.doubt_registration(state, known.is_some()).await
                } else {
                    Ok(())
                };
                if let Err(problem) = kept {
                    tracing::warn!(error = %problem, "failed to forget a registration");
                }
                return Err(error);
            }
        };
        let granted = tokens
            .scope
            .as_ref()
            .map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        let access = tokens.access.clone();
        let scopes = granted.unwrap_or(asked);
        state.refreshed = None;
        let login = StoredLogin {
            registration,
            tokens: Some(tokens),
            scopes,
        };
        // The next refresh saves it again.
        if let Err(problem) = self.keep_locked(state, Some(login)).await {
            tracing::warn!(error = %problem, "failed to save a login");
        }
        Ok(access)
    }

    /// Returns true if a login may get the tokens that a refresh did not get. With the client of the
    /// program it would fail in the same way if the client is refused.
    fn may_log_in(&self, error: &LoginError) -> bool {
        match error {
            LoginError::Revoked(_) => true,
            LoginError::Refused(reason) => {
                self.login.client.is_none() || !is_unknown_client(reason)
            }
            _ => false,
        }
    }

    /// Returns true if the authorization server has forgotten a client that was registered
    /// dynamically. The client of the program stays, as its secret may be wrong for a while only.
    fn is_forgotten(&self, error: &LoginError) -> bool {
        match error {
            LoginError::Refused(reason) => self.login.client.is_none() && is_unknown_client(reason),
            _ => false,
        }
    }

    fn is_machine(&self) -> bool {
        matches!(self.login.consent, Consent::Machine)
    }

    fn flow<'a>(&'a self, found: &'a Discovered) -> Flow<'a> {
        Flow {
            login: &self.login,
            fetcher: &self.fetcher,
            server: &self.server,
            found,
        }
    }

    /// Sets the login in this program.
    fn set_stored(&self, state: &mut TokenState, login: Option<StoredLogin>) {
        state.stored = login;
        self.publish(state);
    }

    /// Keeps a login, in the store too.
    async fn keep(
        &self,
        state: &mut TokenState,
        login: Option<StoredLogin>,
    ) -> Result<(), LoginError> {
        self.set_stored(state, login);
        self.save(state).await
    }

    /// Keeps a login, in the store too, while no other program changes it there.
    async fn keep_locked(
        &self,
        state: &mut TokenState,
        login: Option<StoredLogin>,
    ) -> Result<(), LoginError> {
        self.set_stored(state, login);
        let _lock = self.lock().await?;
        self.save(state).await
    }

    /// Forgets a login whose client is known no more, unless another process has a newer one.
    async fn forget_login(&self, state: &mut TokenState) -> Result<(), LoginError> {
        self.set_stored(state, None);
        let _lock = self.lock().await?;
        let newer = self.take_newer(state).await?;
        if newer.is_some() {
            return Ok(());
        }
        self.save(state).await
    }

    /// Lets the next login register anew: an authorization server that has forgotten a client may
    /// say so in the browser only. The tokens stay.
    async fn doubt_registration(
        &self,
        state: &mut TokenState,
        was_known: bool,
    ) -> Result<(), LoginError> {
        if !was_known || self.login.client.is_some() {
            return Ok(());
        }
        let _lock = self.lock().await?;
        let newer = self.take_newer(state).await?;
        let Some(mut stored) = state.stored.clone().filter(|_| newer.is_none()) else {
            return Ok(());
        };
        stored.registration.is_doubtful = true;
        self.keep(state, Some(stored)).await
    }

    async fn save(&self, state: &mut TokenState) -> Result<(), LoginError> {
        let text = state
            .stored
            .as_ref()
            .map(|login| login.to_text(self.server.as_str()));
        let saved = self.login.store.save(self.server.as_str(), text).await;
        saved.map_err(|error| LoginError::Store(shown(&error.to_string())))?;
        state.in_store = state.access().cloned();
        Ok(())
    }

    fn publish(&self, state: &TokenState) {
        let tokens = state
            .stored
            .as_ref()
            .and_then(|stored| stored.tokens.as_ref());
        let current = tokens.map(|tokens| (tokens.access.clone(), tokens.expires_at));
        *self.current.lock() = current;
    }

    async fn load(&self) -> Result<Option<StoredLogin>, LoginError> {
        let loaded = self.login.store.load(self.server.as_str()).await;
        let text = loaded.map_err(|error| LoginError::Store(shown(&error.to_string())))?;
        let stored =
            text.and_then(|text| StoredLogin::of_text(text.expose(), self.server.as_str()));
        // A client that the program sets has precedence over an earlier one.
        Ok(stored.filter(|stored| match &self.login.client {
            Some(client) => {
                client.id == stored.registration.client_id
                    && is_same_issuer(&client.issuer, &stored.registration.issuer)
            }
            None => true,
        }))
    }
}

impl TokenState {
    fn access(&self) -> Option<&Secret> {
        self.stored.as_ref().and_then(StoredLogin::access)
    }
}

/// Returns true if there is a login at another authorization server.
fn is_elsewhere(state: &TokenState, found: &Discovered) -> bool {
    state
        .stored
        .as_ref()
        .is_some_and(|stored| !is_same_issuer(&stored.registration.issuer, &found.issuer.issuer))
}

/// Waits until a login is under way, or until none is.
async fn wait_for_login(asking: &mut watch::Receiver<usize>, is_asking: bool) {
    let is_so = |logins: &usize| (*logins > 0) == is_asking;
    // The sender outlives the wait.
    _ = asking.wait_for(is_so).await;
}

fn is_same(one: Option<&Secret>, other: Option<&Secret>) -> bool {
    one.map(Secret::expose) == other.map(Secret::expose)
}

fn has_refresh_token(state: &TokenState) -> bool {
    let tokens = state
        .stored
        .as_ref()
        .and_then(|stored| stored.tokens.as_ref());
    tokens.is_some_and(|tokens| tokens.refresh.is_some())
}

fn is_over(end: Option<Timestamp>) -> bool {
    let early = jiff::Timestamp::now()
        .saturating_add(EARLY)
        .unwrap_or(jiff::Timestamp::MAX);
    end.is_some_and(|end| end.0 <= early)
}

/// Returns true if an authorization server does not know the client, as registrations may end.
fn is_unknown_client(reason: &str) -> bool {
    reason.starts_with("invalid_client") || reason.starts_with("unauthorized_client")
}

impl StoredLogin {
    fn access(&self) -> Option<&Secret> {
        self.tokens.as_ref().map(|tokens| &tokens.access)
    }

    fn to_text(&self, server: &str) -> Secret {
        let tokens = self.tokens.as_ref();
        let expose = |secret: Option<&Secret>| secret.map(|secret| secret.expose().to_owned());
        let document = json!({
            "version": VERSION,
            "server": server,
            "registration": self.registration,
            "client_secret": expose(self.registration.secret.as_ref()),
            "access_token": expose(tokens.map(|tokens| &tokens.access)),
            "refresh_token": expose(tokens.and_then(|tokens| tokens.refresh.as_ref())),
            "expires_at": tokens.and_then(|tokens| tokens.expires_at),
            "scopes": self.scopes,
        });
        // Wipes the members.
        Secret::from(SecretDocument::from_value(document).expose())
    }

    /// Reads the login at a server. Returns `None` for one of another server or of another form.
    fn of_text(text: &str, server: &str) -> Option<Self> {
        let document = serde_json::from_str::<LoginDocument>(text).ok();
        let document =
            document.filter(|document| document.version == VERSION && document.server == server)?;
        let tokens = document.access_token.map(|access| {
            let mut tokens = Tokens::new(access);
            tokens.refresh = document.refresh_token;
            tokens.expires_at = document.expires_at;
            tokens
        });
        let registration = Registration {
            secret: document.client_secret,
            ..document.registration
        };
        Some(Self {
            registration,
            tokens,
            scopes: document.scopes,
        })
    }
}

/// Counts a login as under way until it is dropped.
struct LoginUnderWay<'a>(&'a watch::Sender<usize>);

impl<'a> LoginUnderWay<'a> {
    fn new(asking: &'a watch::Sender<usize>) -> Self {
        asking.send_modify(|logins| *logins += 1);
        Self(asking)
    }
}

impl Drop for LoginUnderWay<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|logins| *logins -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A login that ends shortly before the limit leaves all of it for the connection.
    #[tokio::test(start_paused = true)]
    async fn the_limit_of_a_connection_begins_anew_after_a_login() {
        let login = OAuthLogin::stored("sign in");
        let server = Url::parse("https://mcp.example/mcp").expect("a URL");
        let tokens = ServerTokens::new(login, &server).expect("tokens");
        let limit = Duration::from_secs(30);
        let began = Instant::now();

        let signing_in = async {
            sleep(Duration::from_secs(10)).await;
            let _asking = LoginUnderWay::new(&tokens.asking);
            sleep(Duration::from_secs(19)).await;
        };
        tokio::join!(tokens.sleep_without_login(limit), signing_in);
        assert_eq!(began.elapsed().as_secs(), 10 + 19 + 30);
    }
}
