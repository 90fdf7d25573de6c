//! Names of tools: which are allowed, and which collide.

/// What is wrong with a macro tool's name, if anything: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
pub(crate) fn check_name(name: &str) -> Option<String> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    (!first || !rest || name.len() > 64).then(|| {
        format!(
            "invalid tool name `{}`: names are 1-64 of `A-Z a-z 0-9 _ -` and begin with a letter or `_`",
            name.escape_debug()
        )
    })
}

/// What is wrong with a raw tool's name, if anything: `^[A-Za-z0-9_.:/-]{1,128}$`.
pub(crate) fn check_raw_name(name: &str) -> Option<String> {
    let sound = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte));
    (!sound || name.is_empty() || name.len() > 128)
        .then(|| format!("invalid raw tool name `{}`: names are 1-128 of `A-Z a-z 0-9 _ . : / -`", name.escape_debug()))
}

/// The form in which two names are the same to a provider or to a reader.
pub(crate) fn normalised(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '-' | '.' | ':' | '/' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}
