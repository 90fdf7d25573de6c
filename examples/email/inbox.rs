//! The inbox, read over IMAP. Nothing is changed there: messages that were read stay unread.

use super::error::{EmailError, repeats, unreachable};
use super::mailer::Login;
use async_imap::error::{Error, Result as ImapResult};
use async_imap::types::{Fetch, Flag};
use async_imap::{Authenticator, Client, Session};
use futures_util::TryStreamExt;
use mail_parser::{Address, MessageParser};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tool_adapters::egress::EgressClient;
use tool_core::text::truncate;

/// The maximum number of bytes that a server sends in one conversation: 50 messages of 16 KiB, and the rest. The client
/// parses an unfinished line again for each piece of it, so this bounds its work too.
const MAX_BYTES: u64 = 1 << 20;
/// The number of latest messages among which unread ones are searched.
const SEARCHED: u32 = 10_000;
/// The length of a text in a result, in characters.
const SHOWN: usize = 500;

/// The server and the login.
pub(crate) struct Inbox {
    pub(crate) server: String,
    pub(crate) port: u16,
    pub(crate) tls: ImapTls,
    pub(crate) login: Option<Arc<Login>>,
    /// The limit of the whole conversation.
    pub(crate) timeout: Duration,
}

/// The protection of the connection.
pub(crate) enum ImapTls {
    None,
    /// STARTTLS, which is required.
    Starttls(TlsConnector),
    /// TLS from the beginning.
    Implicit(TlsConnector),
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct InboxState {
    messages: u32,
    unread: u32,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LatestEmails {
    /// The e-mails, the newest first
    pub(crate) emails: Vec<ReceivedEmail>,
}

/// An e-mail as its sender wrote it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReceivedEmail {
    from: String,
    subject: String,
    /// RFC 3339
    date: Option<String>,
    unread: bool,
    /// The beginning of the text
    text: String,
}

/// A connection, plain or over TLS.
trait Connection: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug> Connection for T {}

type Stream = Box<dyn Connection>;

impl Inbox {
    /// Counts the messages.
    pub(crate) async fn state(&self, egress: &EgressClient) -> Result<InboxState, EmailError> {
        let state = async {
            let mut session = self.open(egress).await?;
            let inbox = session
                .status("INBOX", "(MESSAGES UNSEEN)")
                .await
                .map_err(|error| failed(&error))?;
            close(session).await;
            Ok(InboxState {
                messages: inbox.exists,
                unread: inbox.unseen.unwrap_or_default(),
            })
        };
        self.in_time(state).await
    }

    /// Returns the latest messages, the newest first.
    pub(crate) async fn latest(
        &self,
        egress: &EgressClient,
        count: u32,
        unread_only: bool,
    ) -> Result<Vec<ReceivedEmail>, EmailError> {
        let latest = async {
            let mut session = self.open(egress).await?;
            let messages = newest(&mut session, count, unread_only)
                .await
                .map_err(|error| failed(&error))?;
            close(session).await;
            Ok(messages.iter().map(read).collect())
        };
        self.in_time(latest).await
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, EmailError>>,
    ) -> Result<T, EmailError> {
        let late = |_| {
            EmailError::Unavailable(format!(
                "the mail server did not answer within {} s",
                self.timeout.as_secs()
            ))
        };
        timeout(self.timeout, work)
            .await
            .unwrap_or_else(|elapsed| Err(late(elapsed)))
    }

    /// Connects and logs in.
    async fn open(&self, egress: &EgressClient) -> Result<Session<Stream>, EmailError> {
        let Some(login) = &self.login else {
            return Err(EmailError::Denied(
                "no login at the mail server: a password or an API key is missing".into(),
            ));
        };
        let opened = self
            .connect(egress)
            .await?
            .authenticate("PLAIN", Plain(login))
            .await;
        opened.map_err(|(error, _)| match &error {
            Error::No(said) | Error::Bad(said) if !said.contains("UNAVAILABLE") => {
                // An answer that repeats the password is not quoted.
                let said = if repeats(said, login) {
                    String::new()
                } else {
                    format!(": {}", truncate(said, 300))
                };
                EmailError::Denied(format!("the mail server refused the login{said}"))
            }
            error => failed(error),
        })
    }

    /// Connects to the server, which is a setting, so the egress guard checks it.
    async fn connect(&self, egress: &EgressClient) -> Result<Client<Stream>, EmailError> {
        let addresses = egress
            .resolve(&self.server, self.port)
            .await
            .map_err(unreachable)?;
        let connected = TcpStream::connect(addresses.as_slice()).await;
        let stream = connected.map_err(|error| {
            EmailError::Unavailable(format!("the mail server cannot be reached: {error}"))
        })?;
        // A server that sends more than it may is cut off.
        let (read, write) = tokio::io::split(stream);
        let stream: Stream = Box::new(tokio::io::join(read.take(MAX_BYTES), write));
        match &self.tls {
            ImapTls::None => greeted(stream).await,
            ImapTls::Implicit(connector) => greeted(self.secured(connector, stream).await?).await,
            ImapTls::Starttls(connector) => {
                let mut client = greeted(stream).await?;
                let refused = |_| {
                    EmailError::Refused("the mail server does not fit: it refused STARTTLS".into())
                };
                client
                    .run_command_and_check_ok("STARTTLS", None)
                    .await
                    .map_err(refused)?;
                // What came unprotected is dropped with the client's buffer.
                Ok(Client::new(
                    self.secured(connector, client.into_inner()).await?,
                ))
            }
        }
    }

    async fn secured(
        &self,
        connector: &TlsConnector,
        stream: Stream,
    ) -> Result<Stream, EmailError> {
        let name = self.server.clone().try_into();
        let name = name.map_err(|_| EmailError::Refused("imap_server is no host name".into()))?;
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(EmailError::Refused(
                format!("no secure connection to the mail server: {error}"),
            )),
            Err(error) => Err(failed(&error.into())),
        }
    }
}

/// Reads the greeting of the server.
async fn greeted(stream: Stream) -> Result<Client<Stream>, EmailError> {
    let mut client = Client::new(stream);
    match client.read_response().await {
        Ok(Some(_)) => Ok(client),
        Ok(None) => Err(failed(&Error::ConnectionLost)),
        Err(error) => Err(failed(&error.into())),
    }
}

/// Fetches the newest messages without marking them as read, and the first 16 KiB of each.
async fn newest(
    session: &mut Session<Stream>,
    count: u32,
    unread_only: bool,
) -> ImapResult<Vec<Fetch>> {
    let inbox = session.examine("INBOX").await?;
    let mut numbers = if unread_only && inbox.exists > 0 {
        let first = inbox.exists.saturating_sub(SEARCHED).max(1);
        session
            .search(format!("{first}:* UNSEEN"))
            .await?
            .into_iter()
            .collect::<Vec<_>>()
    } else {
        (1..=inbox.exists).rev().take(count as usize).collect()
    };
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.truncate(count as usize);
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let set = numbers
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let mut messages: Vec<Fetch> = session
        .fetch(set, "(FLAGS BODY.PEEK[]<0.16384>)")
        .await?
        .try_collect()
        .await?;
    // The server may add news of other messages.
    messages.retain(|message| numbers.contains(&message.message));
    messages.sort_unstable_by_key(|message| std::cmp::Reverse(message.message));
    Ok(messages)
}

fn read(message: &Fetch) -> ReceivedEmail {
    let parsed = MessageParser::default()
        .parse(message.body().unwrap_or_default())
        .unwrap_or_default();
    let from = parsed.from().and_then(Address::first);
    let from = from.map(|from| match (from.name(), from.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    });
    ReceivedEmail {
        from: truncate(&from.unwrap_or_default(), SHOWN),
        subject: truncate(parsed.subject().unwrap_or_default(), SHOWN),
        date: parsed.date().map(mail_parser::DateTime::to_rfc3339),
        unread: !message.flags().any(|flag| flag == Flag::Seen),
        text: truncate(parsed.body_text(0).unwrap_or_default().trim(), SHOWN),
    }
}

/// Logs out. The outcome is known, so an error is ignored.
async fn close(mut session: Session<Stream>) {
    _ = timeout(Duration::from_secs(1), session.logout()).await;
}

/// The mechanism that takes passwords in any script.
struct Plain<'a>(&'a Login);

impl Authenticator for Plain<'_> {
    type Response = String;

    fn process(&mut self, _: &[u8]) -> String {
        format!("\0{}\0{}", self.0.user_name, self.0.password.expose())
    }
}

fn failed(error: &Error) -> EmailError {
    match error {
        Error::No(said) | Error::Bad(said) => EmailError::Unavailable(format!(
            "the mail server refused a command: {}",
            truncate(said, 300)
        )),
        Error::Io(error) => {
            EmailError::Unavailable(format!("the mail server did not answer: {error}"))
        }
        Error::ConnectionLost => {
            EmailError::Unavailable("the mail server closed the connection".into())
        }
        _ => EmailError::Refused("the mail server does not fit: its answer is not IMAP".into()),
    }
}
