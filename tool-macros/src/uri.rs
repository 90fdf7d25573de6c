//! URI templates in attributes, by the rules of `tool_core::tool::UriTemplate`.

/// The maximum length of a template, in bytes.
const MAX_BYTES: usize = 2_048;

/// Returns the names of a template's variables, or its problem.
pub(crate) fn variables(text: &str) -> Result<Vec<String>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!(
            "it has {} bytes, and at most {MAX_BYTES} are allowed",
            text.len()
        ));
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(
            "it contains a space or a control character, which is written as `%20`".to_owned(),
        );
    }
    let (start, mut rest) = text.split_at(text.find('{').unwrap_or(text.len()));
    let scheme = start.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if !is_scheme {
        return Err("it begins with no scheme, such as `notes://`".to_owned());
    }
    let mut names = Vec::<String>::new();
    let mut literal = start;
    loop {
        if literal.contains('}') {
            return Err("a `}` has no `{` before it".to_owned());
        }
        let Some(inner) = rest.strip_prefix('{') else {
            return Ok(names);
        };
        let (expression, after) = inner.split_once('}').ok_or("a `{` is not closed")?;
        let name = expression.strip_prefix('+').unwrap_or(expression);
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
        if !is_name || name.is_empty() {
            return Err(format!(
                "`{{{expression}}}` is not a variable: write `{{name}}`, or `{{+name}}` for slashes"
            ));
        }
        if names.iter().any(|known| known == name) {
            return Err(format!("the variable `{name}` occurs twice"));
        }
        names.push(name.to_owned());
        (literal, rest) = after.split_at(after.find('{').unwrap_or(after.len()));
        if literal.is_empty() && !rest.is_empty() {
            return Err(format!(
                "no text separates the variable `{name}` from the next one"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn names_the_variables_in_order() {
        assert_eq!(
            variables("a://{x}/{+y}.md"),
            Ok(vec!["x".to_owned(), "y".to_owned()])
        );
        assert_eq!(variables("a:b"), Ok(Vec::new()));
    }

    #[test]
    fn refuses_what_is_no_template() {
        let cases = [
            "{x}",
            "a",
            "a:{x",
            "a:x}",
            "a:{x}}",
            "a:{}",
            "a:{?q}",
            "a:{x,y}",
            "a:{x}{y}",
            "a:{x}/{x}",
            "a: b",
        ];
        for text in cases {
            assert!(variables(text).is_err(), "{text}");
        }
    }
}
