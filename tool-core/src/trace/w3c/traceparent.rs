//! `traceparent`: `00-{trace}-{span}-{flags}`, in lower-case hexadecimal digits. S9

use crate::trace::ids::{SpanId, TraceId};

/// What is read of every version: the length of version 00.
const LENGTH: usize = 55;

/// The bit of the flags that says whether the sender records the trace. The others have no meaning here, and go no
/// further.
const SAMPLED: u8 = 1;

/// Trace, span and whether it is sampled.
pub(super) fn parse(text: &str) -> Option<(TraceId, SpanId, bool)> {
    let version = byte(text.get(0..2)?)?;
    // A later version begins like this one, and then ends or goes on after a dash. ff is none.
    let is_known = match version {
        0 => text.len() == LENGTH,
        0xff => false,
        _ => text.len() == LENGTH || text.get(LENGTH..=LENGTH) == Some("-"),
    };
    let dashes = [2, 35, 52].into_iter().all(|at| text.get(at..=at) == Some("-"));
    if !is_known || !dashes {
        return None;
    }
    let flags = byte(text.get(53..LENGTH)?)?;
    Some((text.get(3..35)?.parse().ok()?, text.get(36..52)?.parse().ok()?, flags & SAMPLED != 0))
}

/// Two lower-case hexadecimal digits.
fn byte(digits: &str) -> Option<u8> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.bytes().all(is_digit).then(|| u8::from_str_radix(digits, 16).ok())?
}

/// In version 00, whatever the version was that it came in.
pub(super) fn write(trace: TraceId, span: SpanId, sampled: bool) -> String {
    format!("00-{trace}-{span}-{:02x}", if sampled { SAMPLED } else { 0 })
}
