//! `call --user-data`: the user data of the session, made from JSON by what the program has
//! registered.

use crate::output::CommandError;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tool_core::call::MissingUserData;
use tool_core::session::SessionBuilder;

/// Adds user data to a session, made from JSON.
pub(crate) type UserDataConstructor =
    Arc<dyn Fn(&Value, SessionBuilder) -> Result<SessionBuilder, String> + Send + Sync>;

const REGISTER: &str = "register a constructor with `CommandLine::user_data` in the program";

/// The user data of a command.
pub(crate) struct SessionUserData<'a> {
    given: Option<Value>,
    constructors: &'a [UserDataConstructor],
}

impl<'a> SessionUserData<'a> {
    /// Reads the option: JSON, or `@FILE`.
    pub(crate) fn read(
        option: Option<&str>,
        constructors: &'a [UserDataConstructor],
    ) -> Result<Self, CommandError> {
        let Some(text) = option else {
            return Ok(Self {
                given: None,
                constructors,
            });
        };
        if constructors.is_empty() {
            let problem =
                format!("--user-data: this program makes no user data from JSON; {REGISTER}");
            return Err(CommandError::Usage(problem));
        }
        let text = match text.strip_prefix('@') {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| CommandError::file(Path::new(path), error))?,
            None => text.to_owned(),
        };
        let value = serde_json::from_str(&text).map_err(|error| {
            CommandError::Usage(format!("--user-data: expected JSON or @FILE: {error}"))
        })?;
        Ok(Self {
            given: Some(value),
            constructors,
        })
    }

    /// Adds the data to a session, and the reason for which a tool has none.
    pub(crate) fn add_to(&self, session: SessionBuilder) -> Result<SessionBuilder, CommandError> {
        let Some(value) = &self.given else {
            let hint = if self.constructors.is_empty() {
                format!("the command line has none; {REGISTER}, and give `--user-data JSON`")
            } else {
                "give it with `--user-data JSON`".to_owned()
            };
            return Ok(session.user_data(MissingUserData(hint)));
        };
        let mut session = session.user_data(MissingUserData(format!(
            "`--user-data` makes another type; {REGISTER}"
        )));
        for construct in self.constructors {
            session = construct(value, session)
                .map_err(|problem| CommandError::Usage(format!("--user-data: {problem}")))?;
        }
        Ok(session)
    }
}
