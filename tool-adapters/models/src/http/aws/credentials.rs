//! AWS credentials: their origin, and how long they are used.

#[cfg(feature = "aws-config")]
use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use parking_lot::Mutex;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
#[cfg(feature = "aws-config")]
use tokio::sync::OnceCell;
use tool_adapters_http::api_key::log_excerpt;
use tool_adapters_http::callback::{SingleFlight, run_callback};
use tool_core::ToolError;

/// The time before their end at which credentials are replaced, so that no request arrives with expired ones.
const MARGIN: Duration = Duration::from_secs(60);
/// The time for which credentials without an end are used. A profile or an environment may get others.
const USE_TIME: Duration = Duration::from_secs(15 * 60);

const NOT_FOUND: &str = "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, log in to the \
     profile of AWS_PROFILE, give the machine a role, or pass credentials to `AwsBedrock::with_credentials`";

/// The origin of credentials.
pub(crate) enum CredentialsSource {
    /// A provider of the program.
    Provider(SharedCredentialsProvider),
    /// The usual chain, which is set up with the first request.
    #[cfg(feature = "aws-config")]
    Environment(Box<OnceCell<SdkConfig>>),
}

impl CredentialsSource {
    /// Returns the usual chain.
    #[cfg(feature = "aws-config")]
    pub(crate) fn environment() -> Self {
        Self::Environment(Box::default())
    }

    /// Returns the credentials of a configuration, which may have none.
    #[cfg(feature = "aws-config")]
    pub(crate) fn of_config(config: &SdkConfig) -> Self {
        Self::Environment(Box::new(OnceCell::from(config.clone())))
    }

    #[cfg(feature = "aws-config")]
    async fn config(cell: &OnceCell<SdkConfig>) -> &SdkConfig {
        let load = || aws_config::defaults(BehaviorVersion::latest()).load();
        cell.get_or_init(load).await
    }

    async fn provide(&self) -> Result<Credentials, ToolError> {
        let provider = match self {
            Self::Provider(provider) => Some(provider.clone()),
            #[cfg(feature = "aws-config")]
            Self::Environment(cell) => Self::config(cell).await.credentials_provider(),
        };
        let Some(provider) = provider else {
            return Err(ToolError::auth(NOT_FOUND));
        };
        let credentials = provider.provide_credentials().await;
        credentials.map_err(|error| described(&error))
    }
}

/// Describes the error of a provider without what looks like a secret in it.
fn described(error: &CredentialsError) -> ToolError {
    let causes = std::iter::successors(Some(error as &dyn Error), |cause| (*cause).source());
    let causes = causes.map(ToString::to_string).collect::<Vec<_>>();
    // A colon after "credentials" would look like the place of a secret.
    let causes = log_excerpt(&causes.join("; "), None);
    match error {
        CredentialsError::CredentialsNotLoaded(_) => {
            ToolError::auth(format!("{NOT_FOUND} ({causes})"))
        }
        CredentialsError::ProviderTimedOut(_) => {
            ToolError::transient(format!("AWS credentials did not arrive in time: {causes}"))
        }
        _ => ToolError::auth(format!("AWS credentials could not be loaded: {causes}")),
    }
}

/// Credentials, and until when they are used.
struct UsableCredentials {
    credentials: Credentials,
    until: SystemTime,
}

/// Keeps credentials until shortly before they expire. The providers keep none.
pub(crate) struct CredentialsCache {
    source: CredentialsSource,
    cached: Mutex<Option<UsableCredentials>>,
    flight: SingleFlight<(), Result<Credentials, ToolError>>,
}

impl CredentialsCache {
    pub(crate) fn new(source: CredentialsSource) -> Self {
        Self {
            source,
            cached: Mutex::default(),
            flight: SingleFlight::default(),
        }
    }

    /// Returns the credentials for a request.
    pub(crate) async fn get(self: &Arc<Self>) -> Result<Credentials, ToolError> {
        if let Some(credentials) = self.cached(SystemTime::now()) {
            return Ok(credentials);
        }
        let (provided, _) = self.flight.run((), || self.ask()).await;
        let error = match provided {
            Ok(credentials) => return Ok(credentials),
            Err(error) => error,
        };

        // The old ones are good for another minute.
        let Some(credentials) = self.unexpired(SystemTime::now()) else {
            return Err(error);
        };
        tracing::warn!(%error, "AWS credentials could not be renewed before their end");
        Ok(credentials)
    }

    fn cached(&self, now: SystemTime) -> Option<Credentials> {
        let cached = self.cached.lock();
        let usable = cached.as_ref().filter(|usable| now < usable.until)?;
        Some(usable.credentials.clone())
    }

    /// Returns credentials that should be replaced, but have not expired.
    fn unexpired(&self, now: SystemTime) -> Option<Credentials> {
        let cached = self.cached.lock();
        let credentials = &cached.as_ref()?.credentials;
        let expiry = credentials.expiry()?;
        (now < expiry).then(|| credentials.clone())
    }

    /// Asks the source, and keeps what it provides.
    async fn ask(self: &Arc<Self>) -> Result<Credentials, ToolError> {
        let this = Arc::clone(self);
        let provided = run_callback(async move { this.source.provide().await }).await;
        let credentials =
            provided.map_err(|error| error.of("the provider of AWS credentials"))??;

        let until = match credentials.expiry() {
            Some(expiry) => expiry.checked_sub(MARGIN).unwrap_or(expiry),
            None => SystemTime::now() + USE_TIME,
        };
        *self.cached.lock() = Some(UsableCredentials {
            credentials: credentials.clone(),
            until,
        });
        Ok(credentials)
    }

    /// Forgets credentials that the server has refused. Returns true if the next request may have others.
    pub(crate) fn forget(&self, refused: &Credentials) -> bool {
        let mut cached = self.cached.lock();
        match &*cached {
            Some(usable) if usable.credentials == *refused => cached.take().is_some(),
            // Another request has asked for new ones already.
            other => other.is_some(),
        }
    }

    /// Returns the region that belongs to the credentials, if one is known.
    #[cfg_attr(
        not(feature = "aws-config"),
        expect(
            clippy::unused_async,
            reason = "the usual chain reads files and asks the machine"
        )
    )]
    pub(crate) async fn region(&self) -> Option<String> {
        match &self.source {
            CredentialsSource::Provider(_) => None,
            #[cfg(feature = "aws-config")]
            CredentialsSource::Environment(cell) => {
                let config = CredentialsSource::config(cell).await;
                config.region().map(ToString::to_string)
            }
        }
    }
}
