//! The agents of the first run, and the addresses of their servers.

use super::calendar;
use super::database::{Database, Mark};
use super::email::server::{self, Mailbox};
use super::worker::{Failure, Worker};
use reqwest::Url;
use serde_json::{Value, json};
use std::env;
use std::io;
use std::net::SocketAddr;
use tool_adapters::egress::EgressPolicy;
use tool_core::agents::AgentError;
use tool_core::agents::{AgentErrorKind, AgentStoreError, AgentTools, RecordWrite};

/// The servers of the agents: from the environment, or inside this example.
pub(crate) struct Addresses {
    /// The settings with the address of the calendar.
    calendar: Value,
    calendar_secrets: Value,
    /// The settings with the address of the mail server.
    email: Value,
    email_secrets: Value,
    /// The hosts that tools reach: public ones, and those of this run.
    pub(crate) egress: EgressPolicy,
}

impl Addresses {
    pub(crate) async fn find(db: &Database) -> Result<(Self, Option<Mailbox>), Failure> {
        let ports = StandInPorts::of(db);
        let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let mut egress = EgressPolicy::new();
        let base_url = match set("GOOGLE_CALENDAR_BASE_URL") {
            Some(base_url) => base_url,
            None => start_calendar(ports.calendar).await?,
        };
        if let Some(host) = Url::parse(&base_url)?.host_str() {
            egress = egress.allow_host(host);
        }
        // The local servers accept any token and any password.
        let token = set("GOOGLE_CALENDAR_TOKEN").unwrap_or_else(|| "local".to_owned());
        let (mut email, mailbox) = if let Some(host) = set("SMTP_SERVER") {
            let port: u16 = set("SMTP_PORT")
                .map_or(Ok(587), |port| port.parse())
                .map_err(|_| "SMTP_PORT: no port")?;
            let security = set("SMTP_SECURITY").unwrap_or_else(|| "starttls".to_owned());
            (
                json!({"smtp_server": host, "smtp_port": port, "security": security}),
                None,
            )
        } else {
            let (address, mailbox) = start_mail(ports.mail).await?;
            let host = address.ip().to_string();
            (
                json!({"smtp_server": host, "smtp_port": address.port(), "security": "none"}),
                mailbox,
            )
        };
        if let Some(host) = set("IMAP_SERVER") {
            email["imap_server"] = host.into();
        }
        for host in ["smtp_server", "imap_server"]
            .iter()
            .filter_map(|name| email[*name].as_str())
        {
            egress = egress.allow_host(host);
        }
        let mut email_secrets =
            json!({"password": set("SMTP_PASSWORD").unwrap_or_else(|| "local".to_owned())});
        if let Some(user) = set("SMTP_USER") {
            email_secrets["user_name"] = user.into();
        }
        let (calendar, calendar_secrets) = (
            json!({"base_url": base_url}),
            json!({"access_token": token}),
        );
        Ok((
            Self {
                calendar,
                calendar_secrets,
                email,
                email_secrets,
                egress,
            },
            mailbox,
        ))
    }
}

/// The ports of the local servers.
struct StandInPorts {
    calendar: u16,
    mail: u16,
}

impl StandInPorts {
    /// Workers of one database share the agents, and so the addresses in their settings: each has its local servers at the
    /// same ports. A worker that is alone takes free ones.
    fn of(db: &Database) -> Self {
        match db {
            Database::File(_) => Self {
                calendar: 0,
                mail: 0,
            },
            Database::Postgres(_) => Self {
                calendar: 17_801,
                mail: 17_802,
            },
        }
    }
}

/// Returns true if another worker on this machine has the port, whose server this one uses.
fn is_taken(error: &io::Error, port: u16) -> bool {
    error.kind() == io::ErrorKind::AddrInUse && port != 0
}

async fn start_calendar(port: u16) -> io::Result<String> {
    match calendar::server::start_at(port, calendar::server::router()).await {
        Err(error) if is_taken(&error, port) => Ok(format!("http://127.0.0.1:{port}")),
        started => started,
    }
}

async fn start_mail(port: u16) -> io::Result<(SocketAddr, Option<Mailbox>)> {
    match server::start_at(port).await {
        Ok((address, mailbox)) => Ok((address, Some(mailbox))),
        Err(error) if is_taken(&error, port) => Ok((([127, 0, 0, 1], port).into(), None)),
        Err(error) => Err(error),
    }
}

/// Creates the agents of the first run, also after an earlier run was killed. Returns `false` if all were created
/// before. Agents that were removed since then are not created again.
pub(crate) async fn plant(worker: &Worker, db: &Database) -> Result<bool, Failure> {
    let mut mark = Mark::open(db).await?;
    if mark.is_set().await? {
        return Ok(false);
    }
    let (agents, addresses) = (&worker.agents, &worker.addresses);
    let calendar = |agent| {
        let config = merged(&addresses.calendar, &json!({"calendar_id": "primary"}));
        agents
            .add(agent, "google_calendar")
            .config(config)
            .secrets(addresses.calendar_secrets.clone())
    };
    let email = |agent| {
        let config = merged(
            &addresses.email,
            &json!({"from_email": format!("{agent}@example.com")}),
        );
        agents
            .add(agent, "email")
            .config(config)
            .secrets(addresses.email_secrets.clone())
    };
    absent(calendar("alice").save().await)?;
    absent(email("alice").save().await)?;
    // Bob can read his calendar and not create events. His e-mail is disabled.
    absent(calendar("bob").disable_action("create_event").save().await)?;
    absent(email("bob").enabled(false).save().await)?;
    // Carol has a toolset of another program, which this one does not link.
    absent(email("carol").save().await)?;
    match worker
        .store
        .write(&RecordWrite::new(
            "carol",
            "crm",
            json!({"region": "north"}),
        ))
        .await
    {
        Ok(_) | Err(AgentStoreError::Conflict { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    mark.set().await?;
    Ok(true)
}

/// Keeps an existing record, which a killed or a concurrent run created.
fn absent(added: Result<AgentTools, AgentError>) -> Result<(), AgentError> {
    match added {
        Ok(_)
        | Err(AgentError {
            kind: AgentErrorKind::Store(AgentStoreError::Conflict { .. }),
            ..
        }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Updates records that name a local server to the port of this run. Secrets are bound to the server that they were entered
/// for, so they are entered again.
pub(crate) async fn point(worker: &Worker, addresses: &Addresses) -> Result<(), Failure> {
    for agent in ["alice", "bob", "carol"] {
        for record in worker.agents.list(agent).await?.tools {
            let here = |member: &str| {
                record.config[member]
                    .as_str()
                    .is_some_and(|host| host.contains("127.0.0.1"))
            };
            let (address, secrets) = match record.tool.as_str() {
                "google_calendar" if here("base_url") => {
                    (&addresses.calendar, &addresses.calendar_secrets)
                }
                "email" if here("smtp_server") => (&addresses.email, &addresses.email_secrets),
                _ => continue,
            };
            let config = merged(&record.config, address);
            if config != record.config {
                worker
                    .agents
                    .edit(&record)
                    .config(config)
                    .secrets(secrets.clone())
                    .save()
                    .await?;
            }
        }
    }
    Ok(())
}

/// Merges two objects. The second one wins.
pub(crate) fn merged(first: &Value, second: &Value) -> Value {
    let members = [first, second]
        .into_iter()
        .filter_map(Value::as_object)
        .flatten();
    members
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
