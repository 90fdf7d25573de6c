//! `tracestate`: what other tracing systems have added, of which nothing is for us. It is passed on as it came, or, where
//! it is not what W3C Trace Context says, dropped whole. S9

use super::{MOST_BYTES, members};

/// The most members that W3C Trace Context allows.
const MOST: usize = 32;

/// The list without the space around its members; `None` where there is none, or where it breaks a rule.
pub(in crate::trace) fn parse(text: &str) -> Option<String> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut keys = Vec::new();
    let mut list = String::new();
    for member in members(text) {
        let (key, value) = member.split_once('=')?;
        if keys.len() == MOST || keys.contains(&key) || !is_key(key) || !is_value(value) {
            return None;
        }
        keys.push(key);
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(member);
    }
    (!list.is_empty()).then_some(list)
}

/// `vendor`, or `tenant@vendor`.
fn is_key(key: &str) -> bool {
    let begins = |part: &str, digit: bool| {
        part.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || (digit && first.is_ascii_digit()))
    };
    let goes_on = |part: &str, most: usize| {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/');
        part.len() <= most && part.bytes().all(fits)
    };
    match key.split_once('@') {
        None => begins(key, false) && goes_on(key, 256),
        Some((tenant, vendor)) => {
            begins(tenant, true) && goes_on(tenant, 241) && begins(vendor, false) && goes_on(vendor, 14)
        }
    }
}

/// Printable, without what separates members, keys and values. Space at its end went with the space around the member.
fn is_value(value: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(fits)
}
