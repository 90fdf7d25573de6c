//! Credentials in the texts of a server, which may repeat a request.

use crate::encode::{escape, escape_cookie};
use serde_json::Value;
use tool_core::Secret;

/// Replaces a credential.
const KEY: &str = "[key]";

/// Shorter texts are words that an answer may have of itself.
const MIN_SECRET: usize = 6;

/// The credentials of a call, in the notations that a request has.
#[derive(Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    pub(crate) fn add(&mut self, secret: &Secret) {
        let text = secret.expose();
        let quoted = Value::from(text).to_string();
        let user_and_password = text
            .split_once(':')
            .map(|(_, password)| password.to_owned());
        let notations = [
            text.to_owned(),
            escape(text),
            escape_cookie(text),
            quoted.trim_matches('"').to_owned(),
        ];
        for notation in notations.into_iter().chain(user_and_password) {
            if notation.len() >= MIN_SECRET
                && !self.0.iter().any(|known| known.expose() == notation)
            {
                self.0.push(notation.into());
            }
        }
        // A server may repeat what follows the scheme of a header.
        for scheme in ["Basic ", "Bearer "] {
            if let Some(token) = text.strip_prefix(scheme) {
                self.add(&token.to_owned().into());
            }
        }
        // A part of one may be another.
        self.0
            .sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.expose(), KEY)
        })
    }

    /// Replaces the credentials in all texts and names of an answer.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        let has_secret = |text: &str| self.0.iter().any(|secret| text.contains(secret.expose()));
        match value {
            Value::String(text) if has_secret(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                if members.keys().any(|name| has_secret(name)) {
                    let renamed = std::mem::take(members).into_iter();
                    members.extend(renamed.map(|(name, value)| (self.redact(&name), value)));
                }
                members
                    .values_mut()
                    .for_each(|member| self.redact_value(member));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replaces_credentials_in_every_notation() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("ab c\"d/e+f"));
        secrets.add(&Secret::from("user:pass-word"));
        let text = r#"ab c"d/e+f ab%20c%22d%2Fe%2Bf ab c\"d/e+f pass-word user:pass-word"#;
        assert_eq!(secrets.redact(text), "[key] [key] [key] [key] [key]");
        let mut value = json!({"x": ["=pass-word"], "pass-word": 1});
        secrets.redact_value(&mut value);
        assert_eq!(value, json!({"x": ["=[key]"], "[key]": 1}));
    }
    #[test]
    fn replaces_a_key_as_a_cookie_has_it() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("key a/b=c"));
        assert_eq!(secrets.redact("sid=key%20a/b=c"), "sid=[key]");
    }
}
