//! The e-mail toolset by rule A5, with a real mail server: `tests/conformance/smtp/server.py`.

#[path = "../email/config.rs"]
mod config;
#[path = "../email/drafts.rs"]
#[allow(dead_code)] // only the worker uses the rest
mod drafts;
#[path = "../email/error.rs"]
mod error;
#[path = "../email/inbox.rs"]
mod inbox;
#[path = "../email/letter.rs"]
mod letter;
#[path = "../email/mailer.rs"]
mod mailer;
#[path = "../email/toolset.rs"]
mod toolset;

#[path = "email/arrives.rs"]
mod arrives;
#[path = "email/definitions.rs"]
mod definitions;
#[path = "email/imap.rs"]
mod imap;
#[path = "email/later.rs"]
mod later;
#[path = "email/moved.rs"]
mod moved;
#[path = "email/protected.rs"]
mod protected;
#[path = "email/refused.rs"]
mod refused;
#[path = "email/support.rs"]
mod support;
