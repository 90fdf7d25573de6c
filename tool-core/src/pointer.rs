//! JSON pointers (RFC 6901), and the escapes that they have in a URI.

/// A pointer to `name` below `pointer`.
pub fn child(pointer: &str, name: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + name.len() + 1);
    joined.push_str(pointer);
    joined.push('/');
    for letter in name.chars() {
        match letter {
            '~' => joined.push_str("~0"),
            '/' => joined.push_str("~1"),
            other => joined.push(other),
        }
    }
    joined
}

/// The text behind the percent escapes of a URI fragment; nothing where they are broken.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
