//! The `WWW-Authenticate` header of a refusal (RFC 6750, RFC 9728).

use std::iter::Peekable;
use std::str::Chars;

/// The parameters of a server's `Bearer` challenge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) is_insufficient_scope: bool,
}

impl Challenge {
    /// Reads a header, which may have the challenges of other schemes too.
    pub(crate) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut is_bearer = false;
        let mut rest = header.chars().peekable();
        loop {
            while rest.next_if(|c| *c == ',' || c.is_whitespace()).is_some() {}
            let word = take(&mut rest, |c| {
                !matches!(c, ',' | '=' | '"') && !c.is_whitespace()
            });
            if word.is_empty() {
                // A character that belongs to no word and no value.
                if rest.next().is_none() {
                    return challenge;
                }
                continue;
            }
            while rest.next_if(|c| c.is_whitespace()).is_some() {}
            if rest.next_if_eq(&'=').is_none() {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                continue;
            }
            while rest.next_if(|c| c.is_whitespace()).is_some() {}
            let value = value(&mut rest);
            if is_bearer {
                challenge.set(&word.to_ascii_lowercase(), value);
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        match name {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scopes = value.split_whitespace().map(str::to_owned).collect(),
            "error" => self.is_insufficient_scope = value == "insufficient_scope",
            _ => {}
        }
    }
}

fn take(rest: &mut Peekable<Chars<'_>>, is_part: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| rest.next_if(|c| is_part(*c))).collect()
}

fn value(rest: &mut Peekable<Chars<'_>>) -> String {
    if rest.next_if_eq(&'"').is_none() {
        return take(rest, |c| c != ',' && !c.is_whitespace());
    }
    let mut value = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => value.extend(rest.next()),
            c => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_of_all_forms_are_read() {
        let expected = Challenge {
            resource_metadata: Some("https://mcp.example/.well-known/x".to_owned()),
            scopes: vec!["a".to_owned(), "b".to_owned()],
            is_insufficient_scope: true,
        };
        for header in [
            r#"Bearer resource_metadata="https://mcp.example/.well-known/x", scope="a b", error="insufficient_scope""#,
            r#"bearer error=insufficient_scope,scope="a  b",resource_metadata = https://mcp.example/.well-known/x"#,
            r#"Basic realm="a, Bearer scope=\"evil\"", Bearer scope="a b", Error="insufficient_scope", resource_metadata="https://mcp.example/.well-known/x""#,
            r#"Bearer realm="x\"y", scope="a b", error="insufficient_scope", resource_metadata="https://mcp.example/.well-known/x", DPoP scope="c""#,
        ] {
            assert_eq!(Challenge::parse(header), expected, "{header}");
        }
        for header in [
            "",
            "Bearer",
            "Basic realm=\"x\"",
            "=",
            "\"",
            "Bearer =,=\"",
            "DPoP scope=\"a\"",
        ] {
            assert_eq!(Challenge::parse(header), Challenge::default(), "{header}");
        }
    }
}
