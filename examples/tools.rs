//! A command line for tools, with a `main` of one line.
//!
//! - `cargo run --example tools -- list`
//! - `cargo run --example tools -- show book`
//! - `cargo run --example tools -- call book title=Dentist start=2026-11-20T09:30:00+01:00`
//! - `cargo run --example tools -- schema --provider anthropic --strict --json`
//! - `cargo run --example tools -- lint`
//! - `cargo run --example tools --features mcp -- serve --mcp stdio`
//!
//! `--tools FILE` uses the declarations in a file instead, such as those of an MCP server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool_core::{Timestamp, tool, toolset};

fn main() -> ExitCode {
    tool_adapters::cli::main()
}

/// Convert a temperature between scales.
#[tool(category = "utility")]
fn convert_temperature(
    /// The temperature, in degrees of `from`
    degrees: f64,
    /// The scale that it is in
    #[arg(one_of("celsius", "fahrenheit"))]
    from: &str,
) -> f64 {
    if from == "celsius" {
        degrees * 1.8 + 32.0
    } else {
        (degrees - 32.0) / 1.8
    }
}

/// The place of a meeting
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Place {
    /// In a room of the house
    Room {
        /// Its number
        number: u16,
        /// The floor, counted from the ground; below it they are negative
        floor: Option<i8>,
    },
    /// On a screen
    Call {
        /// The address of the call
        url: String,
    },
}

#[derive(Clone, Serialize, JsonSchema)]
struct Entry {
    id: usize,
    title: String,
    start: Timestamp,
    end: Timestamp,
    place: Option<Place>,
    attendees: Vec<String>,
}

/// A diary, for as long as the process lives.
#[derive(Default)]
struct Diary(Mutex<Vec<Entry>>);

impl Diary {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[toolset]
impl Diary {
    /// Book time in the diary. Nothing else may be booked then.
    #[tool(category = "action")]
    fn book(
        &self,
        /// The subject
        #[arg(length(1..=80))]
        title: String,
        /// When it begins, RFC 3339
        start: Timestamp,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        minutes: u32,
        /// The place. Defaults to none
        place: Option<Place>,
        /// E-mail addresses of the people to invite
        #[arg(default, format = "email", items(..=20))]
        attendees: Vec<String>,
    ) -> Result<Entry, String> {
        let end = start
            .checked_add(Duration::from_secs(60 * u64::from(minutes)))
            .map_err(|error| error.to_string())?;
        let mut entries = self.entries();
        if let Some(other) = entries
            .iter()
            .find(|other| *start < *other.end && *other.start < end)
        {
            return Err(format!(
                "`{}` is booked then, from {} to {}",
                other.title, other.start, other.end
            ));
        }
        let entry = Entry {
            id: entries.len(),
            title,
            start,
            end: end.into(),
            place,
            attendees,
        };
        entries.push(entry.clone());
        Ok(entry)
    }

    /// List what is booked, the earliest first.
    #[tool(category = "retrieval")]
    fn booked(
        &self,
        /// Only what ends after this instant, RFC 3339
        after: Option<Timestamp>,
    ) -> Vec<Entry> {
        let mut found = self.entries().clone();
        found.retain(|entry| after.is_none_or(|after| *entry.end > *after));
        found.sort_by_key(|entry| entry.start);
        found
    }

    /// Delete everything in the diary. The user is asked first.
    #[tool(category = "action", destructive, confirm)]
    fn clear(&self) -> usize {
        std::mem::take(&mut *self.entries()).len()
    }
}
