//! Bedrock with AWS credentials.

use crate::http::aws::{CredentialsCache, CredentialsSource};
use crate::http::model::HttpModel;
#[cfg(feature = "aws-config")]
use aws_config::SdkConfig;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use std::sync::Arc;
use tool_adapters_http::debug_only;
use tool_adapters_providers::hosted::SIGNED_FOR_AWS;

/// Models at Amazon Bedrock, by AWS credentials.
///
/// Each attempt of a request is signed anew (`SigV4`), with credentials that are kept until a minute before they expire. All
/// models of one `AwsBedrock` share them, and requests at the same time ask for them once. Credentials that Bedrock refuses
/// are not used again: the request is repeated once with new ones. Credentials are left out of `Debug`, errors, logs and
/// spans.
///
/// With the feature `aws-config`, `AwsBedrock::from_env` finds credentials as AWS's own tools do. Without it, you give a
/// provider of credentials:
///
/// ```
/// use tool_adapters::transport::http::AwsBedrock;
/// use tool_adapters::transport::http::aws_credential_types::Credentials;
///
/// // Temporary credentials have a session token. Real ones come from your vault, not from the code.
/// let credentials = Credentials::new("AKIDEXAMPLE", "secret", Some("token".into()), None, "our vault");
/// let bedrock = AwsBedrock::with_credentials(credentials).region("eu-west-1");
///
/// let claude = bedrock.converse("eu.anthropic.claude-sonnet-4-5-20250929-v1:0");
/// let nova = bedrock.converse("arn:aws:bedrock:eu-west-1:111122223333:inference-profile/eu.amazon.nova-pro-v1:0");
/// assert!(!format!("{bedrock:?}").contains("secret"));
/// # let _ = (claude, nova);
/// ```
///
/// # Regions
///
/// The region is the first of these that is known: [`region`](Self::region), the host of
/// [`base_url`](Self::base_url) or of `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`, `AWS_REGION`, `AWS_DEFAULT_REGION`, and with
/// `from_env` the region of the profile or of the machine.
#[derive(Clone)]
#[must_use]
pub struct AwsBedrock {
    credentials: Arc<CredentialsCache>,
    region: Option<String>,
    base_url: Option<String>,
}

impl AwsBedrock {
    /// Uses the usual chain of credentials: the environment, the profiles of `~/.aws` with their logins and commands, web
    /// identities, and the roles of containers and machines.
    ///
    /// They are looked for with the first request. For the logins of `aws login`, add `aws-config` to your program with its
    /// feature `credentials-login`.
    ///
    /// ```
    /// use tool_adapters::transport::http::AwsBedrock;
    ///
    /// let model = AwsBedrock::from_env().converse("eu.amazon.nova-pro-v1:0");
    /// # let _ = model;
    /// ```
    #[cfg(feature = "aws-config")]
    pub fn from_env() -> Self {
        Self::new(CredentialsSource::environment())
    }

    /// Uses the credentials, the region and the endpoint of an `SdkConfig`, which the clients of AWS's SDK share.
    ///
    /// ```
    /// use aws_config::{BehaviorVersion, SdkConfig};
    /// use tool_adapters::transport::http::AwsBedrock;
    ///
    /// async fn bedrock() -> AwsBedrock {
    ///     let config = aws_config::defaults(BehaviorVersion::latest()).profile_name("our-team").load().await;
    ///     AwsBedrock::from_config(&config)
    /// }
    /// ```
    #[cfg(feature = "aws-config")]
    pub fn from_config(config: &SdkConfig) -> Self {
        Self {
            region: config.region().map(ToString::to_string),
            base_url: config.endpoint_url().map(str::to_owned),
            ..Self::new(CredentialsSource::of_config(config))
        }
    }

    /// Uses credentials of your program: fixed ones, or a provider that is asked again before its last ones expire.
    ///
    /// A provider may take up to 30 s. The time counts for the limit of the request.
    pub fn with_credentials(provider: impl ProvideCredentials + 'static) -> Self {
        let provider = SharedCredentialsProvider::new(provider);
        Self::new(CredentialsSource::Provider(provider))
    }

    fn new(source: CredentialsSource) -> Self {
        Self {
            credentials: Arc::new(CredentialsCache::new(source)),
            region: None,
            base_url: None,
        }
    }

    /// Sets the region of the server and of the signatures, for example `eu-west-1`.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the URL of the server, for example of a private endpoint. Defaults to that of the region.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Returns a model by its id, or by the ARN of an inference profile or of another resource.
    pub fn converse(&self, model: impl Into<String>) -> HttpModel {
        let mut http = HttpModel::new(SIGNED_FOR_AWS, model);
        if let Some(region) = &self.region {
            http.access.set_region(region.clone());
        }
        http.access.base_url.clone_from(&self.base_url);
        http.access.aws = Some(Arc::clone(&self.credentials));
        http
    }
}

debug_only!(AwsBedrock, |this| region: this.region, credentials: "[credentials]");
