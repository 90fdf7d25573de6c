//! Doc comments: the description that a model reads, the parameter list, and what a call returns.

use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Sections that are for Rust's readers, not the model's.
const DROPPED: &[&str] = &["errors", "example", "examples", "panics", "safety"];

#[derive(Default)]
pub(crate) struct Docs {
    pub(crate) description: String,
    /// The text is not written here but made by a macro (`#[doc = include_str!("..")]`).
    pub(crate) made: Option<Expr>,
    pub(crate) arguments: Vec<Described>,
    pub(crate) returns: String,
}

/// One item of an `# Arguments` list.
pub(crate) struct Described {
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

/// Everything that the doc attributes say, sections apart.
pub(crate) fn read(attrs: &[Attribute]) -> Docs {
    let mut docs = Docs::default();
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attr.meta else { continue };
        match super::attr::ungrouped(&meta.value) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => push_lines(&mut lines, &text.value(), text.span()),
            other => docs.made = Some(other.clone()),
        }
    }
    split(&mut docs, lines);
    docs
}

/// The doc comment whole, for a parameter or a field.
pub(crate) fn text(attrs: &[Attribute]) -> String {
    read(attrs).description
}

fn push_lines(lines: &mut Vec<Line>, text: &str, span: Span) {
    if !text.contains('\n') {
        lines.push(Line { text: text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned(), span });
        return;
    }
    // A block comment: its lines may begin with stars.
    let starred =
        text.lines().skip(1).map(str::trim_start).filter(|line| !line.is_empty()).all(|line| line.starts_with('*'));
    for line in text.lines() {
        let line = line.trim();
        let line = if starred { line.strip_prefix('*').unwrap_or(line) } else { line };
        lines.push(Line { text: line.strip_prefix(' ').unwrap_or(line).to_owned(), span });
    }
}

fn split(docs: &mut Docs, lines: Vec<Line>) {
    let (mut section, mut depth, mut fenced) = (Section::Description, 0, false);
    let (mut description, mut returns) = (Vec::new(), Vec::new());
    for line in lines {
        if line.text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if let Some((level, title)) = heading(&line.text).filter(|_| !fenced)
            && (section == Section::Description || level <= depth)
        {
            (section, depth) = (named(&title), level);
            if section != Section::Description {
                continue;
            }
        }
        match section {
            Section::Description => description.push(line.text),
            Section::Returns => returns.push(line.text),
            Section::Arguments => argument(&mut docs.arguments, &line),
            Section::Dropped => {}
        }
    }
    description.join("\n").trim().clone_into(&mut docs.description);
    returns.join("\n").trim().clone_into(&mut docs.returns);
}

/// `## Title` -> (2, `title`).
fn heading(line: &str) -> Option<(usize, String)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (level > 0 && rest.starts_with(' ')).then(|| (level, rest.trim().trim_end_matches(':').to_lowercase()))
}

fn named(title: &str) -> Section {
    match title {
        "arguments" | "parameters" | "args" => Section::Arguments,
        "returns" => Section::Returns,
        other if DROPPED.contains(&other) => Section::Dropped,
        _ => Section::Description,
    }
}

/// ``* `title` - Event title``, `- title: Event title`, or the continuation of such a line.
fn argument(arguments: &mut Vec<Described>, line: &Line) {
    let text = line.text.trim();
    let item = text.strip_prefix("* ").or_else(|| text.strip_prefix("- "));
    // A nested list belongs to the item above it.
    let nested = line.text.starts_with("  ") && !arguments.is_empty();
    if let Some((name, text)) = item.filter(|_| !nested).and_then(name_and_text) {
        arguments.push(Described { name, text, span: line.span });
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
