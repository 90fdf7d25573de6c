//! Which form a client wants.

use axum::http::{HeaderMap, header};

/// Whether the client would rather have JSON than text. Who does not say, such as a browser, has text.
pub(super) fn prefers_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = accepted.flat_map(|value| value.split(',')).filter_map(range).collect::<Vec<_>>();
    let weight = |kind: &str, name: &str| {
        // The closest range counts, whatever stands beside it.
        let closest = ranges.iter().filter_map(|range| Some((range.closeness(kind, name)?, range.weight)));
        closest
            .max_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)))
            .map_or(0.0, |(_, weight)| weight)
    };
    weight("application", "json") > weight("text", "plain")
}

struct Range<'a> {
    kind: &'a str,
    name: &'a str,
    weight: f32,
}

fn range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, name) = parts.next()?.split_once('/')?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = weight.map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
    Some(Range { kind, name, weight })
}

impl Range<'_> {
    /// How closely it speaks of a type; `None` where it does not.
    fn closeness(&self, kind: &str, name: &str) -> Option<u8> {
        match (self.kind, self.name) {
            ("*", "*") => Some(0),
            (kinds, "*") if kinds.eq_ignore_ascii_case(kind) => Some(1),
            (kinds, names) if kinds.eq_ignore_ascii_case(kind) && names.eq_ignore_ascii_case(name) => Some(2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().expect("a header"));
        prefers_json(&headers)
    }

    // R-M3
    #[test]
    fn json_is_for_those_who_ask_for_it() {
        for accept in [
            "application/json",
            "Application/JSON;q=0.2",
            "text/plain;q=0.5, application/json",
            "application/*",
            "*/*;q=0.1, application/json",
        ] {
            assert!(prefers(accept), "{accept}");
        }
        assert!(!prefers_json(&HeaderMap::new()));
        for accept in [
            "*/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/json;q=0",
            "text/plain, application/json",
            "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/json;q=x",
            "json",
        ] {
            assert!(!prefers(accept), "{accept}");
        }
    }
}
