//! The public [`OAuthLogin`]: how a client gets its access tokens, and where it keeps them.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters_http::debug_only;
use tool_adapters_http::egress::EgressPolicy;
use tool_core::Secret;

pub(crate) type AskError = Box<dyn std::error::Error + Send + Sync>;
type Asking<T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send>>;
pub(crate) type Open = dyn Fn(LoginRequest) -> Asking<()> + Send + Sync;
pub(crate) type Ask = dyn Fn(LoginRequest) -> Asking<Secret> + Send + Sync;

/// A login of OAuth 2.1 at a server, for [`McpClient::oauth`](crate::McpClient::oauth).
///
/// When the server refuses a request for lack of a token, the client reads the server's metadata,
/// finds the authorization server that it names, registers there if need be, and asks a person to
/// agree in a browser (authorization code with PKCE). Tokens are issued for this server only, are
/// sent to it only, and are refreshed. If the server needs more scopes for a call, the person is
/// asked again.
///
/// ```
/// use tool_adapters::mcp::{LoginRequest, McpClient, OAuthLogin};
///
/// # async fn ask(question: String) -> Result<(), std::io::Error> { Ok(()) }
/// let login = OAuthLogin::browser(|request: LoginRequest| async move {
///     // Name the servers, as the pages of a stranger look like those of a friend.
///     ask(format!("{} asks you to sign in at {}: {}", request.server, request.issuer, request.url)).await
/// });
/// let calendar = McpClient::url("https://mcp.example/mcp").oauth(login.client_name("Garden planner"));
/// ```
///
/// A program without a person uses its own credentials:
///
/// ```
/// use tool_adapters::mcp::{McpClient, OAuthLogin};
///
/// # fn main() -> Result<(), std::env::VarError> {
/// # let secret = || Ok::<_, std::env::VarError>("canary".to_owned());
/// let login = OAuthLogin::machine("https://login.example", "planner", secret()?);
/// let calendar = McpClient::url("https://mcp.example/mcp").oauth(login);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a login does nothing before `McpClient::oauth`"]
pub struct OAuthLogin {
    pub(crate) consent: Consent,
    pub(crate) client: Option<RegisteredClient>,
    pub(crate) client_name: String,
    pub(crate) client_metadata: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) store: Arc<dyn LoginStore>,
    pub(crate) timeout: Duration,
    pub(crate) egress: Option<EgressPolicy>,
}

/// The way to the consent of a person.
#[derive(Clone)]
pub(crate) enum Consent {
    /// A browser on this machine, which comes back to a port of this machine.
    Browser { open: Arc<Open>, port: u16 },
    /// A program that receives the callback itself.
    Redirect { url: String, ask: Arc<Ask> },
    /// None is needed.
    Machine,
    /// Another program asks, and this one uses what it has kept. The text says how to sign in.
    Stored(String),
}

/// A client that is registered at an issuer.
#[derive(Clone)]
pub(crate) struct RegisteredClient {
    pub(crate) issuer: String,
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
}

impl OAuthLogin {
    fn new(consent: Consent) -> Self {
        Self {
            consent,
            client: None,
            client_name: concat!("tool-adapters ", env!("CARGO_PKG_VERSION")).to_owned(),
            client_metadata: None,
            scopes: Vec::new(),
            store: Arc::new(MemoryLoginStore::default()),
            timeout: Duration::from_secs(5 * 60),
            egress: None,
        }
    }

    /// Asks a person in a browser on this machine. `open` shows the page at the request's URL, and
    /// the browser comes back to a port of this machine, which is open until then.
    pub fn browser<F, T, E>(open: F) -> Self
    where
        F: Fn(LoginRequest) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<AskError>,
    {
        let open = move |request| -> Asking<()> {
            let opened = open(request);
            Box::pin(async move { opened.await.map_err(Into::into) })
        };
        Self::new(Consent::Browser {
            open: Arc::new(open),
            port: 0,
        })
    }

    /// Asks a person in a browser that comes back to a URL of the program, such as
    /// `https://app.example/callback`. `ask` shows the page at the request's URL, waits for the
    /// callback, and returns its URL or its query. The `state` in it is checked here.
    pub fn redirect<F, T, E>(redirect_url: impl Into<String>, ask: F) -> Self
    where
        F: Fn(LoginRequest) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<AskError>,
    {
        let ask = move |request| -> Asking<Secret> {
            let asked = ask(request);
            Box::pin(async move { asked.await.map(Secret::from).map_err(Into::into) })
        };
        Self::new(Consent::Redirect {
            url: redirect_url.into(),
            ask: Arc::new(ask),
        })
    }

    /// Gets tokens for the program itself (client credentials), as a client that is registered at
    /// this issuer.
    pub fn machine(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<Secret>,
    ) -> Self {
        Self::new(Consent::Machine)
            .client(issuer, client_id)
            .client_secret(client_secret)
    }

    /// Uses the login that another program keeps in the [`store`](Self::store), and refreshes its
    /// tokens. Without one the error is
    /// [`LoginError::Required`](crate::LoginError::Required) with `hint`, which says how to sign in.
    ///
    /// ```
    /// use tool_adapters::mcp::{McpClient, MemoryLoginStore, OAuthLogin};
    ///
    /// # let store = MemoryLoginStore::default();
    /// let login = OAuthLogin::stored("sign in on the page of settings").store(store);
    /// let calendar = McpClient::url("https://mcp.example/mcp").oauth(login);
    /// ```
    pub fn stored(hint: impl Into<String>) -> Self {
        Self::new(Consent::Stored(hint.into()))
    }

    /// Sets a client that is registered at an issuer, in place of dynamic registration. Its id and
    /// secret are used at this issuer only: a server that names another one gets neither.
    pub fn client(mut self, issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        self.client = Some(RegisteredClient {
            issuer: issuer.into(),
            id: client_id.into(),
            secret: None,
        });
        self
    }

    /// Sets the secret of the [`client`](Self::client).
    pub fn client_secret(mut self, secret: impl Into<Secret>) -> Self {
        if let Some(client) = &mut self.client {
            client.secret = Some(secret.into());
        }
        self
    }

    /// Sets the URL of the document that describes the client. Authorization servers that support
    /// such documents take it for the client's id, and need no registration.
    pub fn client_metadata(self, url: impl Into<String>) -> Self {
        Self {
            client_metadata: Some(url.into()),
            ..self
        }
    }

    /// Sets the name of the client that dynamic registration sends, which the person sees.
    pub fn client_name(self, name: impl Into<String>) -> Self {
        Self {
            client_name: name.into(),
            ..self
        }
    }

    /// Sets the scopes to ask for, in place of those that the server names.
    pub fn scopes(self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            scopes: scopes.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// Sets the port of this machine to which a [`browser`](Self::browser) comes back, for a client
    /// whose redirect URL, `http://127.0.0.1:PORT/callback`, is registered. Defaults to a free
    /// port.
    pub fn redirect_port(mut self, number: u16) -> Self {
        if let Consent::Browser { port, .. } = &mut self.consent {
            *port = number;
        }
        self
    }

    /// Sets the store of tokens and registrations. Defaults to memory, so that a person signs in
    /// once for each client.
    pub fn store(self, store: impl LoginStore) -> Self {
        Self {
            store: Arc::new(store),
            ..self
        }
    }

    /// Sets the time in which a person has to sign in. Defaults to 5 minutes. The limit of the
    /// connection, [`McpClient::timeout`](crate::McpClient::timeout), begins anew after it. A call
    /// keeps its own limit: if the person takes longer, the call ends, and the login goes on for
    /// the next one.
    pub fn timeout(self, limit: Duration) -> Self {
        Self {
            timeout: limit,
            ..self
        }
    }

    /// Sets the rules for requests to authorization servers, whose addresses the server names. By
    /// default they go to public addresses, and to this machine if the server is on this machine.
    pub fn egress(self, policy: EgressPolicy) -> Self {
        Self {
            egress: Some(policy),
            ..self
        }
    }
}

debug_only!(OAuthLogin, |this| client_name: this.client_name, scopes: this.scopes, timeout: this.timeout);

/// A page on which a person signs in and agrees.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoginRequest {
    /// The URL of the page, with `https`, or at this machine.
    pub url: String,
    /// The URL of the server that needs the login.
    pub server: String,
    /// The authorization server whose page it is.
    pub issuer: String,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
}

// The URL is left out, as it contains the state.
debug_only!(LoginRequest, |this| server: this.server, issuer: this.issuer, scopes: this.scopes);

/// A store of logins, by the server's URL. The texts are secret, and a store that outlives the
/// process has to seal them, for example with a [`Keyring`](tool_core::agents::Keyring).
///
/// ```
/// use std::error::Error;
/// use std::future::ready;
/// use std::pin::Pin;
/// use tool_adapters::mcp::LoginStore;
/// use tool_core::Secret;
///
/// /// Keeps the login of one server in the keychain of the system.
/// struct Keychain;
///
/// # fn read(_: &str) -> std::io::Result<Option<String>> { Ok(None) }
/// # fn write(_: &str, _: Option<&str>) -> std::io::Result<()> { Ok(()) }
/// type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, Box<dyn Error + Send + Sync>>> + Send + 'a>>;
///
/// impl LoginStore for Keychain {
///     fn load<'a>(&'a self, server: &'a str) -> Stored<'a, Option<Secret>> {
///         Box::pin(ready(read(server).map(|text| text.map(Secret::from)).map_err(Into::into)))
///     }
///
///     fn save<'a>(&'a self, server: &'a str, login: Option<Secret>) -> Stored<'a, ()> {
///         Box::pin(ready(write(server, login.as_ref().map(Secret::expose)).map_err(Into::into)))
///     }
/// }
/// ```
pub trait LoginStore: Send + Sync + 'static {
    /// Returns the login at a server, if there is one.
    fn load<'a>(
        &'a self,
        server: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Secret>, AskError>> + Send + 'a>>;

    /// Keeps the login at a server in place of an earlier one, or removes it.
    fn save<'a>(
        &'a self,
        server: &'a str,
        login: Option<Secret>,
    ) -> Pin<Box<dyn Future<Output = Result<(), AskError>> + Send + 'a>>;

    /// Locks the login at a server until the lock is dropped. The client holds it while it refreshes
    /// the tokens, and then looks first if another program has done so: many authorization servers
    /// revoke a login whose refresh token is sent twice. It waits for up to 30 s.
    ///
    /// Defaults to no lock, which suits a store that one program uses. A lock has to end with its
    /// process.
    fn lock<'a>(
        &'a self,
        _server: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<LoginLock, AskError>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(LoginLock::none())))
    }
}

/// A lock of a login in a store. Dropped, it lets the next program refresh the tokens.
///
/// ```
/// use std::fs::File;
/// use tool_adapters::mcp::LoginLock;
///
/// # fn open() -> std::io::Result<File> { File::open("Cargo.toml") }
/// # fn lock() -> std::io::Result<LoginLock> {
/// let file = open()?;
/// file.lock()?; // the system unlocks it with the file
/// Ok(LoginLock::new(file))
/// # }
/// ```
#[must_use = "a lock that is dropped is free"]
pub struct LoginLock {
    /// Kept until the lock is dropped.
    _guard: Option<Box<dyn Send>>,
}

impl LoginLock {
    /// Creates a lock that ends when `guard` is dropped.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self {
            _guard: Some(Box::new(guard)),
        }
    }

    /// Creates a lock that keeps no one out.
    pub const fn none() -> Self {
        Self { _guard: None }
    }
}

/// A store of logins in memory. Clones share their logins.
#[derive(Clone, Default)]
pub struct MemoryLoginStore {
    logins: Arc<Mutex<HashMap<String, Secret>>>,
    locks: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

impl LoginStore for MemoryLoginStore {
    fn load<'a>(
        &'a self,
        server: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Secret>, AskError>> + Send + 'a>> {
        let login = self.logins.lock().get(server).cloned();
        Box::pin(std::future::ready(Ok(login)))
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        login: Option<Secret>,
    ) -> Pin<Box<dyn Future<Output = Result<(), AskError>> + Send + 'a>> {
        let mut logins = self.logins.lock();
        match login {
            Some(login) => _ = logins.insert(server.to_owned(), login),
            None => _ = logins.remove(server),
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn lock<'a>(
        &'a self,
        server: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<LoginLock, AskError>> + Send + 'a>> {
        let lock = Arc::clone(self.locks.lock().entry(server.to_owned()).or_default());
        Box::pin(async { Ok(LoginLock::new(lock.lock_owned().await)) })
    }
}

debug_only!(MemoryLoginStore, |this| logins: this.logins.lock().len());
