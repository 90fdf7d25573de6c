//! The tables of options name what the macros accept.

use std::collections::BTreeSet;
use std::fs;

/// An attribute as users write it, with its options.
struct Attribute {
    shown: String,
    options: Vec<String>,
}

/// Reads the attributes and their options from the grammar of the macros.
fn attributes() -> Vec<Attribute> {
    let grammar = super::root().join("tool-macros/src/attr/grammar.rs");
    let text = fs::read_to_string(grammar).expect("the grammar");
    let quoted = |text: &str| {
        text.split('"')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let read = |rest: &str| {
        let (shown, rest) = rest.split_once("known: &[")?;
        Some(Attribute {
            shown: quoted(shown).pop()?,
            options: quoted(rest.split_once(']')?.0),
        })
    };
    let found = text.split("AttributeGrammar {").filter_map(read);
    found
        .filter(|attribute| attribute.shown.starts_with("#["))
        .collect()
}

/// Returns the section about an attribute. Its heading names the attribute, or what derives it.
fn section<'a>(page: &'a str, shown: &str) -> &'a str {
    let heading = match shown {
        "#[tool_error]" => "\n## Deriving `ToolError`\n".to_owned(),
        "#[setting]" => "\n## `#[tool_type]`\n".to_owned(),
        _ => format!("\n## `{shown}`\n"),
    };
    let (_, rest) = page
        .split_once(&heading)
        .unwrap_or_else(|| panic!("no section about `{shown}`"));
    rest.split("\n## ").next().unwrap_or_default()
}

/// Returns the first table of options in a text, without the line break after it.
fn table(text: &str) -> &str {
    let start = text.find("| option |").expect("a table of options");
    let table = &text[start..];
    table.split("\n\n").next().unwrap_or_default()
}

/// Replaces the links in a text by their words, as rustdoc cannot follow them to the book.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (before, words) = before.rsplit_once('[').expect("the start of the link");
        let (_, after) = after.split_once(')').expect("the end of the link");
        plain += before;
        plain += words;
        rest = after;
    }
    plain + rest
}

#[test]
fn rustdoc_of_tool_has_the_option_table_of_the_book() {
    let book = fs::read_to_string(super::root().join("docs/book/options.md")).expect("the chapter");
    let of_the_book = without_links(table(section(&book, "#[tool]")));

    let path = super::root().join("tool-core/src/docs/tool.md");
    let page = fs::read_to_string(&path).expect("the docs");
    let (_, options) = page
        .split_once("\n# Options\n")
        .expect("a section of options");
    let written = table(options);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page.replace(written, &of_the_book)).expect("the docs are written");
        return;
    }
    assert_eq!(written, of_the_book, "`just bless` writes this table");
}

#[test]
fn option_tables_name_every_option_of_the_macros() {
    let page = fs::read_to_string(super::root().join("docs/book/options.md")).expect("the chapter");
    let attributes = attributes();
    assert_eq!(attributes.len(), 9, "the grammar was not read");
    for Attribute { shown, options } in attributes {
        let section = section(&page, &shown);
        for option in options {
            let in_a_table = section.contains(&format!("| `{option}` |"));
            let named = in_a_table
                || section.contains(&format!("{}({option})]", shown.trim_end_matches(']')));
            assert!(
                named,
                "`{option}` of `{shown}` is missing in docs/book/options.md"
            );
        }
    }
}

#[test]
fn docs_of_the_macros_name_every_option() {
    for (shown, file) in [
        ("#[tool]", "tool.md"),
        ("#[toolset]", "toolset.md"),
        ("#[prompt]", "prompt.md"),
        ("#[resource]", "resource.md"),
    ] {
        let page = fs::read_to_string(super::root().join("tool-core/src/docs").join(file))
            .expect("the docs");
        let attribute = attributes()
            .into_iter()
            .find(|attribute| attribute.shown == shown)
            .expect("there");
        let named = |option: &str| {
            page.contains(&format!("`{option}")) || page.contains(&format!("| `{option}"))
        };
        let missing = attribute
            .options
            .iter()
            .filter(|option| !named(option))
            .collect::<Vec<_>>();
        assert_eq!(missing, Vec::<&String>::new(), "{file}");
    }
}

/// The options that `#[tool]` reads itself: names and texts, and what only a macro can do.
const OF_THE_MACRO: [&str; 8] = [
    "name",
    "title",
    "description",
    "guide",
    "dynamic",
    "errors",
    "args",
    "crate",
];

#[test]
fn every_option_of_a_call_is_a_method_of_every_tool() {
    let core = super::root().join("tool-core/src/tool/options.rs");
    let core = fs::read_to_string(core).expect("the options");
    let methods = core.lines().filter_map(|line| {
        let line = line.trim();
        let value = line
            .strip_prefix("get ")
            .and_then(|row| row.split_once(": "));
        let flag = line.split_once("() => annotations.");
        Some(value.or(flag)?.0.to_owned())
    });
    let methods = methods.collect::<BTreeSet<_>>();

    let attribute = attributes()
        .into_iter()
        .find(|attribute| attribute.shown == "#[tool]")
        .expect("there");
    let options = attribute.options.into_iter();
    let of_calls = options.filter(|option| !OF_THE_MACRO.contains(&option.as_str()));
    assert_eq!(methods, of_calls.collect::<BTreeSet<_>>());
}
