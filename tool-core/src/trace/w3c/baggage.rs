//! `baggage`: `run_id` and `customer_id`. The members of others are neither read nor passed on. S9

use super::{members, trim};
use crate::trace::distributed::is_fit;
use std::fmt::Write;

const RUN: &str = "run_id";
const CUSTOMER: &str = "customer_id";

/// The run and the customer. A member that is malformed is none, and so is one that is said twice and differently.
pub(super) fn parse(text: &str) -> (Option<String>, Option<String>) {
    (value(text, RUN), value(text, CUSTOMER))
}

fn value(text: &str, wanted: &str) -> Option<String> {
    let mut found = members(text).filter_map(|member| {
        // What follows a semicolon are properties of the member.
        let (member, _) = member.split_once(';').unwrap_or((member, ""));
        let (key, value) = member.split_once('=')?;
        (trim(key) == wanted).then(|| decoded(trim(value)))
    });
    let first = found.next()?;
    (found.all(|other| other == first) && is_fit(&first)).then_some(first)
}

/// Percent-decoded. What is no UTF-8 becomes U+FFFD, as W3C Baggage wants it.
fn decoded(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)?.try_into().ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped: Option<(u8, u8)> = digit(tail.first()).zip(digit(tail.get(1)));
        match escaped {
            Some((high, low)) if *first == b'%' => {
                bytes.push(high << 4 | low);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The header's value; empty where there is neither.
pub(super) fn write(run: Option<&str>, customer: Option<&str>) -> String {
    let mut list = String::new();
    for (key, value) in [(RUN, run), (CUSTOMER, customer)] {
        let Some(value) = value.filter(|value| is_fit(value)) else { continue };
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(key);
        list.push('=');
        encode(value, &mut list);
    }
    list
}

/// Percent-encoded, except what every reader takes for itself: some take a plus for a space.
fn encode(value: &str, list: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/@".contains(&byte) {
            list.push(char::from(byte));
        } else {
            // A string takes whatever is written to it.
            let _ = write!(list, "%{byte:02X}");
        }
    }
}
