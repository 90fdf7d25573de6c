//! The settings, and the toolset that is built from them. The model sees none of this.

use super::inbox::{ImapTls, Inbox};
use super::letter::address;
use super::mailer::{Login, Mailer, Tls};
use super::toolset::Email;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;
use tool_core::{Configure, Secret, ToolError};

/// The settings. Doc comments become the descriptions of a settings form.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Config {
    /// The server that takes the mail, such as smtp.example.com
    #[schemars(length(max = 253), extend("pattern" = "^[A-Za-z0-9._:-]+$"))]
    smtp_server: String,
    /// 587 for STARTTLS; servers that speak TLS from the beginning listen at 465
    #[serde(default = "submission")]
    #[schemars(range(min = 1), extend("x-binds-secret" = true))]
    smtp_port: u16,
    /// The address that the mail comes from
    #[schemars(email, extend("x-binds-secret" = false))]
    from_email: String,
    /// The encryption of the connection
    #[serde(default)]
    #[schemars(extend("x-binds-secret" = true))]
    security: Security,
    /// The server that mail is read from, such as imap.example.com; without it, no mail is read
    #[schemars(length(max = 253), extend("pattern" = "^[A-Za-z0-9._:-]+$"))]
    imap_server: Option<String>,
    /// 993 for TLS from the beginning; servers with STARTTLS listen at 143
    #[serde(default = "imaps")]
    #[schemars(range(min = 1), extend("x-binds-secret" = true))]
    imap_port: u16,
    /// The encryption of the connection to the server that mail is read from
    #[serde(default = "tls")]
    #[schemars(extend("x-binds-secret" = true))]
    imap_security: Security,
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
    /// A certificate in PEM to trust beside those of the system: that of a company's own authority
    certificate: Option<String>,
}

fn imaps() -> u16 {
    993
}

fn tls() -> Security {
    Security::Tls
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
        let from = address(&config.from_email)
            .map_err(|error| ToolError::permanent(format!("from_email: {error}")))?;
        let password = match (secrets.password, secrets.api_key) {
            (Some(_), Some(_)) => {
                return Err(ToolError::permanent(
                    "give a password or an API key, not both",
                ));
            }
            (password, key) => password.or(key).filter(|text| !text.is_empty()),
        };
        let user_name = secrets.user_name.unwrap_or(config.from_email);
        let login = password.map(|password| {
            Arc::new(Login {
                user_name,
                password,
            })
        });
        // This reads the certificates of the system.
        let (security, server) = (config.security, config.smtp_server.clone());
        let (imap_security, imap_server) = (config.imap_security, config.imap_server.clone());
        let tls = tokio::task::spawn_blocking(move || {
            let roots = certificates(secrets.certificate.as_deref())?;
            let imap = imap_server
                .map(|server| imap_protection(imap_security, &server, roots.clone()))
                .transpose()?;
            Ok::<_, ToolError>((protection(security, server, &roots)?, imap))
        });
        let (tls, imap) = tls
            .await
            .map_err(|error| ToolError::internal(error.to_string()))??;
        let timeout = Duration::from_secs(config.timeout_seconds.into());
        let inbox = config.imap_server.zip(imap).map(|(server, tls)| {
            let (port, login) = (config.imap_port, login.clone());
            Inbox {
                server,
                port,
                tls,
                login,
                timeout,
            }
        });
        let (server, port) = (config.smtp_server, config.smtp_port);
        Ok(Self {
            mailer: Mailer {
                server,
                port,
                tls,
                login,
                from,
                timeout,
            },
            inbox,
        })
    }
}

/// Parses the certificates in PEM that are trusted beside those of the system.
fn certificates(pem: Option<&str>) -> Result<Vec<CertificateDer<'static>>, ToolError> {
    let Some(pem) = pem else {
        return Ok(Vec::new());
    };
    let parsed = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    // A text without a certificate parses as an empty list.
    parsed
        .ok()
        .filter(|found| !found.is_empty())
        .ok_or_else(unfit)
}

fn unfit() -> ToolError {
    ToolError::permanent("certificate: it is none in PEM (`-----BEGIN CERTIFICATE-----`)")
}

/// Refuses a plain connection to another machine.
fn is_here(server: &str) -> Result<(), ToolError> {
    let here = server == "localhost"
        || server
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    let why = "security `none` sends mail and passwords in the clear: it is for a server on this machine \
               (localhost, 127.0.0.1, ::1); use `starttls` or `tls`";
    if here {
        Ok(())
    } else {
        Err(ToolError::permanent(why))
    }
}

fn protection(
    security: Security,
    server: String,
    roots: &[CertificateDer<'_>],
) -> Result<Tls, ToolError> {
    if security == Security::None {
        return is_here(&server).map(|()| Tls::None);
    }
    let mut parameters = TlsParameters::builder(server);
    for root in roots {
        parameters = parameters
            .add_root_certificate(Certificate::from_der(root.to_vec()).map_err(|_| unfit())?);
    }
    let parameters = parameters.build();
    let parameters = parameters
        .map_err(|error| ToolError::permanent(format!("no secure connections: {error}")))?;
    Ok(if security == Security::Tls {
        Tls::Implicit(parameters)
    } else {
        Tls::Starttls(parameters)
    })
}

fn imap_protection(
    security: Security,
    server: &str,
    roots: Vec<CertificateDer<'static>>,
) -> Result<ImapTls, ToolError> {
    if security == Security::None {
        return is_here(server).map(|()| ImapTls::None);
    }
    let connector = connector(roots);
    let connector = connector
        .map_err(|error| ToolError::permanent(format!("no secure connections: {error}")))?;
    Ok(if security == Security::Tls {
        ImapTls::Implicit(connector)
    } else {
        ImapTls::Starttls(connector)
    })
}

/// Makes TLS connections that trust the system's certificates and these. The crypto provider is that of the other clients.
fn connector(roots: Vec<CertificateDer<'static>>) -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = Arc::new(Verifier::new_with_extra_roots(
        roots,
        Arc::clone(&provider),
    )?);
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}
