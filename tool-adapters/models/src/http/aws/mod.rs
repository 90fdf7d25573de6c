//! Bedrock with AWS credentials.

mod credentials;
mod signature;

use crate::http::aws::credentials::{CredentialsCache, CredentialsSource};
use crate::http::model::HttpModel;
use crate::model_access::{ModelAccess, env_setting};
#[cfg(feature = "aws-config")]
use aws_config::SdkConfig;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use std::sync::Arc;
use tool_adapters_http::base_url::host_of;
use tool_adapters_http::debug_only;
use tool_adapters_providers::Provider;
use tool_adapters_providers::spec::Server;
use tool_core::ToolError;

pub(crate) use crate::http::aws::signature::{RequestSigner, escape_path};

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
/// use aws_credential_types::Credentials;
/// use tool_adapters::transport::http::AwsBedrock;
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
        let mut http = HttpModel::new(Provider::Bedrock, model);
        if let Some(region) = &self.region {
            http.access.set_region(region.clone());
        }
        http.access.base_url.clone_from(&self.base_url);
        http.access.aws = Some(AwsAccess {
            credentials: Arc::clone(&self.credentials),
        });
        http
    }
}

debug_only!(AwsBedrock, |this| region: this.region, credentials: "[credentials]");

/// The credentials of a model whose requests are signed.
#[derive(Clone)]
pub(crate) struct AwsAccess {
    credentials: Arc<CredentialsCache>,
}

impl AwsAccess {
    /// Returns the signer of a request, once the region and credentials are known.
    pub(crate) async fn signer(
        &self,
        access: &ModelAccess,
        server: &Server,
    ) -> Result<RequestSigner, ToolError> {
        let region = self.region(access, server).await?;
        let credentials = self.credentials.get().await?;
        Ok(RequestSigner::new(
            region,
            credentials,
            Arc::clone(&self.credentials),
        ))
    }

    /// Returns the region of the signatures. The base URL has one afterwards.
    async fn region(&self, access: &ModelAccess, server: &Server) -> Result<String, ToolError> {
        if let Some(region) = access.region() {
            return Ok(region.to_owned());
        }
        let base_url = access.base_url(server);
        if let Some(region) = region_of_host(host_of(&base_url)) {
            return Ok(region.to_owned());
        }
        let region = match env_setting(server.region_env) {
            Some(region) => Some(region),
            None => self.credentials.region().await?,
        };
        let Some(region) = region else {
            let names = server.region_env.join(" or ");
            return Err(ToolError::permanent(format!(
                "{} needs a region: call `region`, or set {names} or the region of the AWS profile",
                Provider::Bedrock
            )));
        };
        access.set_region(region.clone());
        Ok(region)
    }
}

/// Returns the region in the name of a host: `bedrock-runtime.eu-west-1.amazonaws.com`, with a name of a private endpoint
/// before it, or with `-fips`.
fn region_of_host(host: &str) -> Option<&str> {
    if !host.ends_with(".amazonaws.com") {
        return None;
    }
    let mut labels = host.split('.');
    labels.find(|label| matches!(*label, "bedrock-runtime" | "bedrock-runtime-fips"))?;
    labels.next()
}

#[cfg(test)]
mod tests {
    use super::region_of_host;

    #[test]
    fn the_host_of_a_region_names_it() {
        for host in [
            "bedrock-runtime.eu-west-1.amazonaws.com",
            "bedrock-runtime-fips.eu-west-1.amazonaws.com",
            "vpce-0123.bedrock-runtime.eu-west-1.vpce.amazonaws.com",
        ] {
            assert_eq!(region_of_host(host), Some("eu-west-1"), "{host}");
        }
        for host in ["", "localhost", "bedrock-runtime.eu-west-1.evil.example"] {
            assert_eq!(region_of_host(host), None, "{host}");
        }
    }
}
