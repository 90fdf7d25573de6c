//! Guides: how a tool is used well, in markdown.

/// The guide of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guide {
    text: String,
}

impl Guide {
    /// Reads a guide.
    pub fn parse(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
}
