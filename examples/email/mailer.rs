//! The conversation with an SMTP server, step by step, so that errors know the step.

use super::error::{EmailError, Step, failed, timed_out, unreachable};
use super::letter::Letter;
use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tool_adapters::egress::EgressClient;
use tool_core::Secret;

/// The server, the sender and the login.
pub(crate) struct Mailer {
    pub(crate) server: String,
    pub(crate) port: u16,
    pub(crate) tls: Tls,
    pub(crate) login: Option<Arc<Login>>,
    pub(crate) from: Address,
    /// The limit of the whole conversation.
    pub(crate) timeout: Duration,
}

/// The protection of the connection.
pub(crate) enum Tls {
    None,
    /// STARTTLS, which is required.
    Starttls(TlsParameters),
    /// TLS from the beginning.
    Implicit(TlsParameters),
}

pub(crate) struct Login {
    pub(crate) user_name: String,
    pub(crate) password: Secret,
}

impl Mailer {
    pub(crate) fn sender(&self) -> &Address {
        &self.from
    }

    /// Sends a message, and returns the answer of the server. The server is a setting, so the egress guard checks it.
    pub(crate) async fn send(
        &self,
        egress: &EgressClient,
        letter: &Letter,
    ) -> Result<String, EmailError> {
        let deadline = Instant::now() + self.timeout;
        let found = timeout_at(deadline, egress.resolve(&self.server, self.port)).await;
        let addresses = found
            .map_err(|_| timed_out(Step::Connect, self.timeout))?
            .map_err(unreachable)?;
        let mut connection = self
            .step(Step::Connect, deadline, self.connect(&addresses))
            .await?;
        let reply = self.hand_in(&mut connection, letter, deadline).await;
        // The outcome is known, so an error of QUIT is ignored.
        let _ = timeout(Duration::from_secs(1), connection.abort()).await;
        reply
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> Result<AsyncSmtpConnection, Error> {
        let hello = ClientId::default();
        let implicit = match &self.tls {
            Tls::Implicit(parameters) => Some(parameters.clone()),
            Tls::None | Tls::Starttls(_) => None,
        };
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(addresses, None, &hello, implicit, None).await?;
        if let Tls::Starttls(parameters) = &self.tls {
            connection.starttls(parameters.clone(), &hello).await?;
        }
        Ok(connection)
    }

    async fn hand_in(
        &self,
        connection: &mut AsyncSmtpConnection,
        letter: &Letter,
        deadline: Instant,
    ) -> Result<String, EmailError> {
        if let Some(Login {
            user_name,
            password,
        }) = self.login.as_deref()
        {
            let credentials = Credentials::new(user_name.clone(), password.expose().to_owned());
            self.step(
                Step::Login,
                deadline,
                connection.auth(DEFAULT_MECHANISMS, &credentials),
            )
            .await?;
        }
        let mail = Mail::new(Some(letter.from.clone()), extensions(connection, letter)?);
        self.step(Step::Sender, deadline, connection.command(mail))
            .await?;
        let recipient = Rcpt::new(letter.to.clone(), Vec::new());
        self.step(Step::Recipient, deadline, connection.command(recipient))
            .await?;
        self.step(Step::Data, deadline, connection.command(Data))
            .await?;
        let reply = self
            .step(Step::Content, deadline, connection.message(&letter.bytes))
            .await?;
        Ok(reply.message().collect::<Vec<_>>().join(" "))
    }

    /// Runs a step before the deadline. The error depends on the step.
    async fn step<T>(
        &self,
        step: Step,
        deadline: Instant,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, EmailError> {
        match timeout_at(deadline, work).await {
            Ok(done) => done.map_err(|error| failed(step, &error, self.login.as_deref())),
            Err(_) => Err(timed_out(step, self.timeout)),
        }
    }
}

/// Returns the parameters for a message that is not ASCII.
fn extensions(
    connection: &AsyncSmtpConnection,
    letter: &Letter,
) -> Result<Vec<MailParameter>, EmailError> {
    let takes = |extension, what| {
        let refused =
            || EmailError::Refused(format!("the mail server takes no {what} but in ASCII"));
        connection
            .server_info()
            .supports_feature(extension)
            .then_some(())
            .ok_or_else(refused)
    };
    let mut parameters = Vec::new();
    if ![&letter.from, &letter.to]
        .into_iter()
        .all(|address| AsRef::<str>::as_ref(address).is_ascii())
    {
        takes(Extension::SmtpUtfEight, "addresses")?;
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !letter.bytes.is_ascii() {
        takes(Extension::EightBitMime, "messages")?;
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    Ok(parameters)
}
