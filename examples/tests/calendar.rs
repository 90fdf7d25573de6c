//! The calendar example, by rule A4: its schemas, its requests and its handling of answers.

#[path = "../calendar/api.rs"]
mod api;
#[path = "../calendar/config.rs"]
mod config;
#[path = "../calendar/error.rs"]
mod error;
#[path = "../calendar/server.rs"]
mod server;
#[path = "../calendar/toolset.rs"]
mod toolset;

#[path = "calendar/answers.rs"]
mod answers;
#[path = "calendar/requests.rs"]
mod requests;
mod shared;

#[path = "calendar/definitions.rs"]
mod definitions;
#[path = "calendar/run.rs"]
mod run;
#[path = "calendar/support.rs"]
mod support;
