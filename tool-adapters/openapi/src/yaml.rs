//! Documents in YAML, with the bounds of documents in JSON: their size, their depth, and what their
//! aliases add.

use crate::refusal::MAX_DOCUMENT;
use serde_json::Value;
use std::thread;
use tool_core::text::truncate;

/// Maximum number of levels, as for JSON.
const MAX_DEPTH: usize = 128;

/// Maximum number of values and keys, with those of aliases. JSON of the maximum size may have as
/// many.
const MAX_NODES: usize = MAX_DOCUMENT / 8;

/// Maximum number of values that aliases repeat.
const MAX_REPEATED: usize = 200_000;

/// The stack of the thread that parses. A level takes more of it than the threads of a runtime have
/// for all levels.
const STACK: usize = 64 << 20;

/// Parses one YAML document as JSON.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    thread::scope(|scope| {
        let parser = thread::Builder::new()
            .name("yaml".to_owned())
            .stack_size(STACK);
        let parser = parser
            .spawn_scoped(scope, || parse_here(text))
            .map_err(|error| error.to_string())?;
        parser
            .join()
            .unwrap_or_else(|_| Err("text that the parser of YAML cannot read".to_owned()))
    })
}

fn parse_here(text: &str) -> Result<Value, String> {
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_documents: 1,
        max_events: 3 * MAX_NODES,
        max_nodes: MAX_NODES,
        max_total_scalar_bytes: MAX_DOCUMENT,
        max_recorded_anchor_events: MAX_REPEATED,
        max_recorded_anchor_bytes: MAX_DOCUMENT / 4,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPEATED },
        // `country: no` is Norway, as YAML 1.2 has it.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| truncate(&error.to_string(), 500))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fmt::Write;

    #[test]
    fn yaml_means_what_its_json_means() {
        let text = "
            # A comment.
            openapi: 3.0.3
            info: {title: \"A: B\", version: '1'}
            x: [1, 2.5, true, null, no, 2020-01-01, 1e3]
            responses:
              200: &ok {description: fine}
              404: *ok
            text: |
              two
              lines
        ";
        let expected = json!({
            "openapi": "3.0.3",
            "info": {"title": "A: B", "version": "1"},
            "x": [1, 2.5, true, null, "no", "2020-01-01", 1000.0],
            "responses": {"200": {"description": "fine"}, "404": {"description": "fine"}},
            "text": "two\nlines\n",
        });
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn problems_have_a_line_and_a_column() {
        let problem = parse("a: 1\nb: [1, 2\nc: }").expect_err("no YAML");
        assert!(problem.contains("line 3"), "{problem}");
    }

    #[test]
    fn aliases_repeat_a_bounded_number_of_values() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            writeln!(text, "a{level}: &a{level} [{items}]").expect("a string takes it");
        }
        parse(&text).expect_err("10^12 values");
        let long = "y".repeat(1 << 20);
        let text = format!("a: &a {long}\nb: [{}]", vec!["*a"; 100_000].join(", "));
        parse(&text).expect_err("100 GB");
    }

    #[test]
    fn yaml_that_nests_too_deep_is_refused() {
        parse(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).expect_err("too deep");
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        parse(&nested(MAX_DEPTH)).expect("as deep as JSON");
        parse(&nested(MAX_DEPTH + 1)).expect_err("too deep");
        let mut deep = String::new();
        for level in 0..10_000 {
            writeln!(deep, "{}a:", " ".repeat(level)).expect("a string takes it");
        }
        parse(&deep).expect_err("too deep");
    }
}
