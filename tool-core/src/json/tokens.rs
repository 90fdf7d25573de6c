//! The text as a row of tokens, for those who write it out again with something changed. Held to the grammar as it is
//! read, except that keys may repeat: what is shown is what was sent.

use crate::json::decoder::{Decoder, Key};
use crate::json::error::Error;

/// A piece of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'de> {
    /// `{` or, where this is false, `[`.
    Open { object: bool },
    /// The end of what was opened last.
    Close,
    /// A key, with its `:`.
    Key(Key<'de>),
    /// A text.
    Text(Key<'de>),
    /// A number, `true`, `false` or `null`, as it is written.
    Bare(&'de str),
}

/// A container that is open.
struct Open {
    object: bool,
    first: bool,
}

pub(crate) struct Tokens<'de> {
    decoder: Decoder<'de>,
    open: Vec<Open>,
    /// A value comes next, whatever is open: at the beginning, and after a key.
    value: bool,
}

impl<'de> Tokens<'de> {
    pub(crate) fn new(text: &'de str) -> Self {
        Self { decoder: Decoder::new(text), open: Vec::new(), value: true }
    }

    /// The next token; `None` after the last one, with nothing but white space behind it.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'de>>, Error> {
        if std::mem::take(&mut self.value) {
            return self.value().map(Some);
        }
        let Some(open) = self.open.last_mut() else { return self.decoder.end().map(|()| None) };
        let first = std::mem::take(&mut open.first);
        let token = if open.object {
            match self.decoder.next_key(first)? {
                Some(key) => {
                    self.value = true;
                    return Ok(Some(Token::Key(key)));
                }
                None => Token::Close,
            }
        } else if self.decoder.next_element(first)? {
            return self.value().map(Some);
        } else {
            Token::Close
        };
        self.open.pop();
        Ok(Some(token))
    }

    fn value(&mut self) -> Result<Token<'de>, Error> {
        let byte = self.decoder.peek();
        match byte {
            b'{' | b'[' => {
                let object = byte == b'{';
                self.decoder.open()?;
                self.open.push(Open { object, first: true });
                Ok(Token::Open { object })
            }
            b'"' => self.decoder.string().map(Token::Text),
            _ => self.decoder.raw().map(Token::Bare),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn all(text: &str) -> Result<Vec<Token<'_>>, Error> {
        let mut tokens = Tokens::new(text);
        let mut all = Vec::new();
        while let Some(token) = tokens.next()? {
            all.push(token);
        }
        Ok(all)
    }

    #[test]
    fn a_text_is_read_token_by_token() {
        let expected = [
            Token::Open { object: true },
            Token::Key("a".into()),
            Token::Open { object: false },
            Token::Bare("1e2"),
            Token::Text("x\n".into()),
            Token::Close,
            Token::Key("a".into()),
            Token::Bare("null"),
            Token::Close,
        ];
        assert_eq!(all(r#" {"a": [1e2, "x\n"], "a": null} "#).expect("sound"), expected);
    }

    #[test]
    fn what_serde_json_refuses_is_refused() {
        let texts = [
            "",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "{\"a\":}",
            "{,}",
            "01",
            "tru",
            "\"\\ud800\"",
            "1 2",
            "[}",
            "{]",
            "]",
        ];
        for text in texts {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(all(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_nests_too_deep_is_refused() {
        assert!(all(&"[".repeat(100_000)).is_err());
        assert!(all(&format!("{}{}", "[".repeat(128), "]".repeat(128))).is_ok());
    }
}
