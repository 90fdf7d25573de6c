//! The tools of the model: reading a diary, and writing to it after approval.

use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use tool_core::toolset;

/// An entry of the diary.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Entry {
    day: String,
    time: String,
    title: String,
}

pub(crate) struct Diary(Mutex<Vec<Entry>>);

impl Default for Diary {
    fn default() -> Self {
        let entry = |time: &str, title: &str| Entry {
            day: "monday".into(),
            time: time.into(),
            title: title.into(),
        };
        Self(Mutex::new(vec![
            entry("09:00", "Stand-up"),
            entry("15:30", "Dentist"),
        ]))
    }
}

/// The user's diary.
#[toolset(name = "diary", title = "Diary", discover = false)]
impl Diary {
    /// Read what is planned on a day.
    #[tool(category = "retrieval")]
    pub(crate) fn list_entries(
        &self,
        /// The day of the week, in small letters
        day: &str,
    ) -> Vec<Entry> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .filter(|entry| entry.day == day)
            .cloned()
            .collect()
    }

    /// Write something into the diary. A person is asked first.
    #[tool(category = "action", confirm)]
    pub(crate) fn add_entry(
        &self,
        /// The day of the week, in small letters
        day: &str,
        /// Such as 12:30
        #[arg(pattern = "^[0-2][0-9]:[0-5][0-9]$")]
        time: &str,
        title: &str,
    ) -> Entry {
        let entry = Entry {
            day: day.to_owned(),
            time: time.to_owned(),
            title: title.to_owned(),
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry.clone());
        entry
    }
}
