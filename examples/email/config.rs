//! The settings, and the toolset that is built from them. The model sees none of this.

use super::letter::address;
use super::mailer::{Login, Mailer, Tls};
use super::toolset::Email;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;
use tool_core::{Configure, Secret, ToolError};

/// The settings. Doc comments become the descriptions of a settings form.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Config {
    /// The server that takes the mail, such as smtp.example.com
    #[schemars(length(max = 253), extend("pattern" = "^[A-Za-z0-9._:-]+$"))]
    smtp_server: String,
    /// 587 for STARTTLS; servers that speak TLS from the beginning listen at 465
    #[serde(default = "submission")]
    #[schemars(range(min = 1))]
    smtp_port: u16,
    /// The address that the mail comes from
    #[schemars(email)]
    from_email: String,
    /// The encryption of the connection
    #[serde(default)]
    security: Security,
    /// A certificate in PEM to trust beside those of the system: that of a company's own authority
    certificate: Option<String>,
    /// Total time to wait for the server
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 50))]
    timeout_seconds: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Security {
    /// TLS after the greeting, and no mail without
    #[default]
    Starttls,
    /// TLS from the beginning
    Tls,
    /// No protection: for a server on this machine only
    None,
}

/// The secrets: a password, an API key, or neither for a server without a login.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Secrets {
    /// The name to log in with; unless given, the address that the mail comes from
    user_name: Option<String>,
    /// The password of the account
    password: Option<Secret>,
    /// An API key in the place of a password
    api_key: Option<Secret>,
}

fn submission() -> u16 {
    587
}

fn twenty() -> u32 {
    20
}

impl Configure for Email {
    type Config = Config;
    type Secrets = Secrets;

    async fn configure(config: Config, secrets: Secrets) -> Result<Self, ToolError> {
        let from = address(&config.from_email).map_err(|error| ToolError::permanent(format!("from_email: {error}")))?;
        let password = match (secrets.password, secrets.api_key) {
            (Some(_), Some(_)) => return Err(ToolError::permanent("give a password or an API key, not both")),
            (password, key) => password.or(key).filter(|text| !text.is_empty()),
        };
        let user_name = secrets.user_name.unwrap_or(config.from_email);
        let login = password.map(|password| Login { user_name, password });
        // This reads the certificates of the system.
        let (security, server, certificate) = (config.security, config.smtp_server.clone(), config.certificate);
        let tls = tokio::task::spawn_blocking(move || protection(security, server, certificate.as_deref()));
        let tls = tls.await.map_err(|error| ToolError::internal(error.to_string()))??;
        let timeout = Duration::from_secs(config.timeout_seconds.into());
        let (server, port) = (config.smtp_server, config.smtp_port);
        Ok(Self { mailer: Mailer { server, port, tls, login, from, timeout } })
    }
}

fn protection(security: Security, server: String, certificate: Option<&str>) -> Result<Tls, ToolError> {
    if security == Security::None {
        let here = server == "localhost" || server.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let why = "security `none` sends mail and passwords in the clear: it is for a server on this machine \
                   (localhost, 127.0.0.1, ::1); use `starttls` or `tls`";
        return if here { Ok(Tls::None) } else { Err(ToolError::permanent(why)) };
    }
    let mut parameters = TlsParameters::builder(server);
    if let Some(pem) = certificate {
        let unfit = || ToolError::permanent("certificate: it is none in PEM (`-----BEGIN CERTIFICATE-----`)");
        // A text without a certificate parses as an empty list.
        let pem = Some(pem).filter(|pem| pem.contains("-----BEGIN CERTIFICATE-----")).ok_or_else(unfit)?;
        parameters = parameters.add_root_certificate(Certificate::from_pem(pem.as_bytes()).map_err(|_| unfit())?);
    }
    let parameters = parameters.build();
    let parameters = parameters.map_err(|error| ToolError::permanent(format!("no secure connections: {error}")))?;
    Ok(if security == Security::Tls { Tls::Implicit(parameters) } else { Tls::Starttls(parameters) })
}
