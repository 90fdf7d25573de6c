//! Text in the page: nothing in it is read as markup, and nothing in it hides or turns the line around.

use crate::trace::report::words::shown;
use std::fmt::{self, Formatter, Write};

/// How much of a name is on the page.
const NAME: usize = 100;
/// How much of an error's message is.
const MESSAGE: usize = 300;

/// Text between tags, or in an attribute in double quotes.
pub(super) struct Text(String);

impl Text {
    pub(super) fn name(name: &str) -> Self {
        Self(shown(name, NAME))
    }

    pub(super) fn message(message: &str) -> Self {
        Self(shown(message, MESSAGE))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
