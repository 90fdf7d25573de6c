//! Doc comments with macros in them, joined while the program is compiled.

/// Returns the number of bytes in the parts together.
#[must_use]
pub const fn joined_length(parts: &[&str]) -> usize {
    let mut length = 0;
    let mut index = 0;
    while index < parts.len() {
        length += parts[index].len();
        index += 1;
    }
    length
}

/// Returns the bytes of all parts.
///
/// # Panics
///
/// Panics if the parts do not have `N` bytes. In generated code this is a compile error.
#[must_use]
pub const fn joined_bytes<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut rest: &mut [u8] = &mut bytes;
    let mut index = 0;
    while index < parts.len() {
        let part = parts[index].as_bytes();
        let (place, after) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = after;
        index += 1;
    }
    bytes
}

/// Returns the text of joined bytes.
///
/// # Panics
///
/// Panics if the bytes are not those of whole texts. In generated code this is a compile error.
#[must_use]
pub const fn joined_text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("whole texts were joined"),
    }
}

/// Returns a text that begins with a heading, and nothing of any other.
///
/// It stands below a section that is left out, which ends at the next heading.
#[must_use]
pub const fn own_section(text: &str) -> &str {
    match text.trim_ascii_start().as_bytes() {
        [b'#', ..] => text,
        _ => "",
    }
}

/// Joins constant texts, without the space at both ends.
#[doc(hidden)]
#[macro_export]
macro_rules! __joined {
    ($($part:expr),+) => {
        $crate::__joined_parts!($($part),+).trim_ascii()
    };
}

/// Joins constant texts.
#[doc(hidden)]
#[macro_export]
macro_rules! __joined_parts {
    ($($part:expr),+) => {{
        const __TOOL_PARTS: &[&str] = &[$($part),+];
        const __TOOL_BYTES: &[u8] =
            &$crate::__private::joined_bytes::<{ $crate::__private::joined_length(__TOOL_PARTS) }>(__TOOL_PARTS);
        $crate::__private::joined_text(__TOOL_BYTES)
    }};
}

#[cfg(test)]
mod tests {
    use super::own_section;

    #[test]
    fn joins_constants_of_any_kind() {
        const WORD: &str = "größe";
        const JOINED: &str = __joined!("\n", WORD, "\n", concat!("a", 1), "\n\n");
        assert_eq!(JOINED, "größe\na1");
    }

    #[test]
    fn joins_nothing() {
        const JOINED: &str = __joined!("", "");
        assert_eq!(JOINED, "");
    }

    #[test]
    fn only_a_heading_begins_a_section_of_its_own() {
        assert_eq!(own_section("\n# Syntax\nText"), "\n# Syntax\nText");
        assert_eq!(own_section("Text\n# Syntax"), "");
    }
}
