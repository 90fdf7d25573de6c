//! Doc comments, split into the description for the model, the list of parameters and the description of the result.

use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use crate::attr::grammar::ungrouped;

/// Sections that are left out of the description, as they are written for readers of the code.
const DROPPED: &[&str] = &["errors", "example", "examples", "panics", "safety"];

/// A doc comment, section by section.
#[derive(Default)]
pub(crate) struct DocComment {
    pub(crate) description: String,
    /// The expression of `#[doc = include_str!("..")]`.
    pub(crate) expr: Option<Expr>,
    pub(crate) arguments: Vec<DocArgument>,
    pub(crate) returns: String,
}

/// One item of an `# Arguments` list.
pub(crate) struct DocArgument {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) span: Span,
}

struct Line {
    text: String,
    span: Span,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Description,
    Arguments,
    Returns,
    Dropped,
}

/// Reads the doc attributes and splits them into sections.
pub(crate) fn read(attrs: &[Attribute]) -> DocComment {
    let mut docs = DocComment::default();
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attr.meta else { continue };
        match ungrouped(&meta.value) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => push_lines(&mut lines, &text.value(), text.span()),
            other => docs.expr = Some(other.clone()),
        }
    }
    split(&mut docs, lines);
    docs
}

/// Reads the doc comment of a parameter as one text.
pub(crate) fn text(attrs: &[Attribute]) -> String {
    read(attrs).description
}

fn push_lines(lines: &mut Vec<Line>, text: &str, span: Span) {
    if !text.contains('\n') {
        lines.push(Line { text: text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned(), span });
        return;
    }
    // The lines of a block comment may begin with stars.
    let starred =
        text.lines().skip(1).map(str::trim_start).filter(|line| !line.is_empty()).all(|line| line.starts_with('*'));
    for line in text.lines() {
        let line = line.trim();
        let line = if starred { line.strip_prefix('*').unwrap_or(line) } else { line };
        lines.push(Line { text: line.strip_prefix(' ').unwrap_or(line).to_owned(), span });
    }
}

fn split(docs: &mut DocComment, lines: Vec<Line>) {
    let (mut section, mut depth, mut fenced) = (Section::Description, 0, false);
    let (mut description, mut returns) = (Vec::new(), Vec::new());
    for line in lines {
        if line.text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if let Some((level, title)) = heading(&line.text).filter(|_| !fenced)
            && (section == Section::Description || level <= depth)
        {
            (section, depth) = (section_of(&title), level);
            if section != Section::Description {
                continue;
            }
        }
        match section {
            Section::Description => description.push(line.text),
            Section::Returns => returns.push(line.text),
            Section::Arguments => push_argument(&mut docs.arguments, &line),
            Section::Dropped => {}
        }
    }
    description.join("\n").trim().clone_into(&mut docs.description);
    returns.join("\n").trim().clone_into(&mut docs.returns);
}

/// Parses a heading: `## Title` gives 2 and `title`.
fn heading(line: &str) -> Option<(usize, String)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (level > 0 && rest.starts_with(' ')).then(|| (level, rest.trim().trim_end_matches(':').to_lowercase()))
}

fn section_of(title: &str) -> Section {
    match title {
        "arguments" | "parameters" | "args" => Section::Arguments,
        "returns" => Section::Returns,
        other if DROPPED.contains(&other) => Section::Dropped,
        _ => Section::Description,
    }
}

/// Adds a line of the list: ``* `title` - Event title``, `- title: Event title`, or the continuation of an item.
fn push_argument(arguments: &mut Vec<DocArgument>, line: &Line) {
    let text = line.text.trim();
    let item = text.strip_prefix("* ").or_else(|| text.strip_prefix("- "));
    // The lines of a nested list continue the item above it.
    let nested = line.text.starts_with("  ") && !arguments.is_empty();
    if let Some((name, text)) = item.filter(|_| !nested).and_then(name_and_text) {
        arguments.push(DocArgument { name, text, span: line.span });
    } else if let Some(last) = arguments.last_mut().filter(|_| !text.is_empty()) {
        last.text.push(' ');
        last.text.push_str(text);
    }
}

fn name_and_text(item: &str) -> Option<(String, String)> {
    let quoted = item.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    let (name, rest) = quoted.unwrap_or_else(|| {
        let end = item.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '#')).unwrap_or(item.len());
        item.split_at(end)
    });
    let text = rest.trim_start().trim_start_matches([':', '-', '–', '—']).trim_start();
    let is_item = !name.is_empty() && (text.len() < rest.trim_start().len() || rest.trim().is_empty());
    is_item.then(|| (name.trim_start_matches("r#").to_owned(), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn read_lines(lines: &[&str]) -> DocComment {
        let attrs: Vec<Attribute> = lines.iter().map(|line| parse_quote!(#[doc = #line])).collect();
        read(&attrs)
    }

    #[test]
    fn separates_the_description_from_other_sections() {
        let docs = read_lines(&[
            " Add an event.",
            "",
            " It is added at once.",
            "",
            " # Arguments",
            "",
            " * `title` - Its title,",
            "   in plain text",
            " - start_time: When it starts",
            " + not an item",
            "",
            " # Returns",
            " The event.",
            "",
            " # Errors",
            " When it is busy.",
            " ## Also",
            " When it is late.",
            " # Notes",
            " Kept.",
        ]);
        assert_eq!(docs.description, "Add an event.\n\nIt is added at once.\n\n# Notes\nKept.");
        assert_eq!(docs.returns, "The event.");
        let arguments: Vec<_> = docs.arguments.iter().map(|item| (item.name.as_str(), item.text.as_str())).collect();
        assert_eq!(arguments, [("title", "Its title, in plain text"), ("start_time", "When it starts + not an item")]);
    }

    #[test]
    fn ignores_headings_in_code_blocks() {
        let docs = read_lines(&[" Run.", " ```", " # Errors", " ```", " More."]);
        assert_eq!(docs.description, "Run.\n```\n# Errors\n```\nMore.");
    }

    #[test]
    fn block_comments_lose_their_stars() {
        assert_eq!(read_lines(&["\n * Add an event.\n *\n * At once.\n "]).description, "Add an event.\n\nAt once.");
    }

    #[test]
    fn keeps_a_doc_macro_as_an_expression() {
        let docs = read(&[parse_quote!(#[doc = include_str!("a.md")])]);
        assert!(docs.expr.is_some());
    }

    #[test]
    fn reads_docs_around_other_attributes() {
        let docs = read(&[parse_quote!(#[doc = " A."]), parse_quote!(#[inline]), parse_quote!(#[doc = " B."])]);
        assert_eq!(docs.description, "A.\nB.");
    }
}
