//! The parsing of guides and the checks of their examples. R-F4

use crate::tool::guide::Guide;
use serde_json::{Value, json};

const FULL: &str = "\
# Knowledge base search

Finds articles. Use it before you answer.
A second line of the same paragraph.

## Parameters

- `query`: what to look for

### Of the parameters

More of them.

## Examples

Plain:

```json
{\"query\": \"refunds\"}
```

```text
{not json}
```

Limited:

~~~JSON
{
  \"query\": \"refunds\",
  \"limit\": 3
}
~~~

## Watch Out

It is slow.

## History

```json
{\"not\": \"an example\"}
```
";

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}}
    })
}

fn with_example(json: &str) -> Guide {
    Guide::parse(&format!(
        "# T\n\nS.\n\n## Examples\n\n```json\n{json}\n```\n"
    ))
}

// R-F4
#[test]
fn the_summary_is_the_first_line_of_text() {
    assert_eq!(
        Guide::parse(FULL).summary(),
        "Finds articles. Use it before you answer."
    );
    assert_eq!(
        Guide::parse("No heading at all.").summary(),
        "No heading at all."
    );
    assert_eq!(Guide::parse("\u{FEFF}# T\r\n\r\nS.\r\n").summary(), "S.");
}

#[test]
fn code_is_not_a_summary() {
    assert_eq!(
        Guide::parse("# T\n\n```\ncode\n```\n\nProse.").summary(),
        "Prose."
    );
}

#[test]
fn a_hash_inside_code_is_not_a_heading() {
    let guide = Guide::parse("# T\n\nS.\n\n## Watch Out\n\n```sh\n# a comment\n```\nEnd.");
    assert_eq!(guide.watch_out(), Some("```sh\n# a comment\n```\nEnd."));
}

#[test]
fn a_section_ends_at_the_next_heading_of_its_level() {
    let guide = Guide::parse(FULL);
    assert_eq!(guide.heading(), Some("Knowledge base search"));
    assert_eq!(
        guide.parameters(),
        Some("- `query`: what to look for\n\n### Of the parameters\n\nMore of them.")
    );
    assert_eq!(guide.watch_out(), Some("It is slow."));
}

// R-F4
#[test]
fn only_json_blocks_under_examples_are_examples() {
    let guide = Guide::parse(FULL);
    let found = guide
        .examples()
        .iter()
        .map(|example| (example.line(), example.json().trim()))
        .collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            (19, "{\"query\": \"refunds\"}"),
            (29, "{\n  \"query\": \"refunds\",\n  \"limit\": 3\n}")
        ]
    );
}

// R-F4
#[test]
fn accepts_valid_examples() {
    assert_eq!(
        Guide::parse(FULL).problems_against(&schema()),
        Vec::<String>::new()
    );
}

// R-F3, R-F4
#[test]
fn reports_every_problem_of_an_example_with_its_line() {
    let problems = with_example(r#"{"limit": 0, "colour": 1}"#).problems_against(&schema());
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems
            .iter()
            .all(|problem| problem.starts_with("guide line 8: example: `/")),
        "{problems:?}"
    );
}

// R-F4
#[test]
fn reports_the_line_of_invalid_json() {
    let problems = with_example("{\n  \"query\": oops\n}").problems_against(&schema());
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("guide line 9: the example is not JSON"),
        "{problems:?}"
    );
}

#[test]
fn refuses_duplicate_keys_in_an_example() {
    let problems = with_example(r#"{"query": "a", "query": "b"}"#).problems_against(&schema());
    assert_eq!(problems, ["guide line 8: example: duplicate key `/query`"]);
}

#[test]
fn reads_an_unclosed_example_to_the_end() {
    let guide = Guide::parse("# T\n\nS.\n\n# Examples\n```json\n{\"query\": \"a\"}");
    assert_eq!(guide.examples()[0].json(), "{\"query\": \"a\"}\n");
}

// R-F3
#[test]
fn reports_an_empty_guide_and_a_missing_summary() {
    assert_eq!(
        Guide::parse(" \n").problems(&schema()),
        ["the guide is empty"]
    );
    assert!(Guide::parse("# Only a heading\n").problems(&schema())[0].contains("no summary"));
}
