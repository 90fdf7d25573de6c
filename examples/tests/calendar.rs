//! The calendar example, held to rule A4: what it tells the model, what it sends, and what it makes of the answers.

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

#[path = "calendar/run.rs"]
mod run;
#[path = "calendar/support.rs"]
mod support;
#[path = "calendar/told.rs"]
mod told;
