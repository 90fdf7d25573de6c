//! A toolset full of secrets, which fails in every way that could reveal them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use tool_core::agents::{RefreshError, TokenRefresher, Tokens};
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::tool::{AccessToken, OAuth2};
use tool_core::{Auth, Configure, Secret, ToolError, jiff, toolset};

/// The settings: the way in which it fails.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
pub(crate) struct Config {
    /// When and how it fails; `fine` otherwise
    #[schemars(extend("x-binds-secret" = false))]
    way: String,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
pub(crate) struct Secrets {
    api_key: Secret,
    /// A plain text, as careless toolsets have it
    password: String,
    access_token: AccessToken,
}

pub(crate) struct Vault {
    way: String,
    secrets: Secrets,
}

/// An error of another crate that repeats what it was given.
#[derive(Debug)]
struct Foreign(String);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot log in with {}", self.0)
    }
}

impl std::error::Error for Foreign {}

impl Configure for Vault {
    type Config = Config;
    type Secrets = Secrets;

    async fn configure(config: Config, secrets: Secrets) -> Result<Self, ToolError> {
        let message = format!(
            "no login with {} and {}",
            secrets.api_key.expose(),
            secrets.password
        );
        match config.way.as_str() {
            "fails" => Err(ToolError::auth(message)),
            "fails internally" => Err(ToolError::internal(message)),
            "panics" => panic!("provoked: {message}"),
            _ => Ok(Self {
                way: config.way,
                secrets,
            }),
        }
    }
}

/// Keeps things.
#[toolset(name = "vault", auth = Auth::oauth2("provider", ["all"], "https://a.example/auth", "https://a.example/token"))]
impl Vault {
    #[setup]
    #[allow(clippy::unused_async)] // what a lifecycle method looks like
    async fn open(&self) -> Result<(), ToolError> {
        match self.way.as_str() {
            "setup fails" => Err(ToolError::transient(format!(
                "refused {}",
                self.secrets.password
            ))),
            "setup panics" => panic!("provoked: {}", self.secrets.password),
            _ => Ok(()),
        }
    }

    /// Use the secrets.
    #[tool(category = "action")]
    async fn open_door(&self, #[arg(default)] password: String) -> Result<usize, ToolError> {
        Ok(self.secrets.access_token.get().await?.expose().len() + password.len())
    }

    /// Break with all that the toolset has in the error.
    #[tool]
    fn break_door(&self) -> Result<u8, Foreign> {
        let Secrets {
            api_key,
            password,
            access_token,
        } = &self.secrets;
        Err(Foreign(format!(
            "{api_key:?} {access_token:?} {} {password}",
            api_key.expose()
        )))
    }

    /// Send all secrets to the model.
    #[tool]
    async fn tell_all(&self) -> Result<u8, ToolError> {
        let Secrets {
            api_key,
            password,
            access_token,
        } = &self.secrets;
        let basic = STANDARD.encode(format!("ada:{}", api_key.expose()));
        let (api_key, token) = (api_key.expose(), access_token.get().await?);
        Err(ToolError::auth(format!(
            "no door for {api_key}, {password:?}, {} and Basic {basic}",
            token.expose()
        )))
    }

    /// Panic with it.
    #[tool]
    async fn blow_up(&self) -> u8 {
        panic!(
            "provoked: {:?} {}",
            self.secrets.api_key,
            self.secrets.api_key.expose()
        )
    }

    /// Panic with it before anything is waited for.
    #[tool]
    fn blow_up_at_once(&self) -> u8 {
        panic!("provoked: {}", self.secrets.password)
    }

    /// Wait for a person.
    #[tool(confirm)]
    fn ask(&self) -> usize {
        self.way.len()
    }
}

/// Fails with all that it knows in what it says, and gives new tokens the next time.
pub(crate) struct Careless {
    failed: AtomicBool,
    gives: &'static str,
}

impl Careless {
    pub(crate) fn new(gives: &'static str) -> Self {
        Self {
            failed: AtomicBool::new(false),
            gives,
        }
    }
}

impl TokenRefresher for Careless {
    fn refresh<'a>(
        &'a self,
        _: &'a OAuth2,
        refresh: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>> {
        let first = !self.failed.swap(true, Ordering::SeqCst);
        Box::pin(async move {
            if first {
                return Err(RefreshError::Transient(format!(
                    "POST /token refresh_token={}",
                    refresh.expose()
                )));
            }
            let mut tokens = Tokens::new(self.gives);
            tokens.expires_at =
                Some((jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3600)).into());
            Ok(tokens)
        })
    }
}
