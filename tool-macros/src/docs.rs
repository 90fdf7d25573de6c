//! Doc comments, split into the description for the model, the list of parameters and the
//! description of the result.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue};

use crate::attr::cfg_attr::Conditional;
use crate::attr::grammar::ungrouped;

/// Sections that are left out of the description, as they are written for readers of the code.
const DROPPED: &[&str] = &["errors", "example", "examples", "panics", "safety"];

/// A doc comment, section by section.
#[derive(Default)]
pub(crate) struct DocComment {
    pub(crate) description: DocText,
    pub(crate) arguments: Vec<DocArgument>,
    pub(crate) returns: DocText,
}

/// One item of an `# Arguments` list.
pub(crate) struct DocArgument {
    pub(crate) name: String,
    pub(crate) text: DocText,
    pub(crate) span: Span,
}

/// A text of doc comments: its lines, and the macros between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DocText(Vec<DocPart>);

/// A line of a doc comment, or the text of a macro.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DocPart {
    pub(crate) content: DocContent,
    /// The condition of the `cfg_attr` around the part.
    pub(crate) condition: Option<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DocContent {
    Line(String),
    /// A macro such as `include_str!(..)`, whose text only the compiler knows.
    Macro(Box<Expr>),
    /// A macro below a section that is left out. Its text is left out too, unless it begins a
    /// section of its own.
    OwnSection(Box<Expr>),
}

/// The predicate of a `cfg_attr`.
#[derive(Clone, Debug)]
pub(crate) struct Condition(pub(crate) TokenStream);

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl DocText {
    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(DocPart::is_blank)
    }

    /// Returns the text if it is made of lines alone, joined by `separator`.
    pub(crate) fn literal(&self, separator: &str) -> Option<String> {
        let lines: Option<Vec<&str>> = self.0.iter().map(DocPart::line).collect();
        Some(lines?.join(separator).trim().to_owned())
    }

    /// Returns the parts without the blank lines at both ends.
    pub(crate) fn parts(&self) -> &[DocPart] {
        let Some(first) = self.0.iter().position(|part| !part.is_blank()) else {
            return &[];
        };
        let last = self
            .0
            .iter()
            .rposition(|part| !part.is_blank())
            .unwrap_or(first);
        self.0.get(first..=last).unwrap_or_default()
    }

    fn push(&mut self, content: DocContent, condition: Option<Condition>) {
        self.0.push(DocPart { content, condition });
    }
}

impl DocPart {
    /// Returns the line if it is always there.
    fn line(&self) -> Option<&str> {
        match (&self.content, &self.condition) {
            (DocContent::Line(line), None) => Some(line),
            _ => None,
        }
    }

    fn is_blank(&self) -> bool {
        matches!(&self.content, DocContent::Line(line) if line.trim().is_empty())
    }
}

/// A value of `#[doc = ..]`.
struct DocValue {
    value: Expr,
    condition: Option<Condition>,
}

/// Reads the doc attributes and splits them into sections.
pub(crate) fn read(attrs: &[Attribute]) -> DocComment {
    let mut splitter = Splitter::default();
    for DocValue { value, condition } in values(attrs) {
        match ungrouped(&value) {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => {
                for line in lines(&text.value()) {
                    splitter.line(line, condition.as_ref(), text.span());
                }
            }
            other => splitter.push_macro(other, condition),
        }
    }
    splitter.docs
}

/// Returns whether the attribute is a `cfg_attr` around docs and nothing else.
pub(crate) fn is_conditional_doc(attr: &Attribute) -> bool {
    let Some(conditional) = Conditional::of(&attr.meta) else {
        return false;
    };
    let is_doc = |meta: &Meta| matches!(meta, Meta::NameValue(meta) if meta.path.is_ident("doc"));
    !conditional.metas.is_empty() && conditional.metas.iter().all(is_doc)
}

/// Lists the values of the doc attributes, in order.
fn values(attrs: &[Attribute]) -> Vec<DocValue> {
    let mut values = Vec::new();
    for attr in attrs {
        add_values(&attr.meta, None, &mut values);
    }
    values
}

fn add_values(meta: &Meta, condition: Option<&Condition>, values: &mut Vec<DocValue>) {
    if let Meta::NameValue(MetaNameValue { path, value, .. }) = meta {
        if path.is_ident("doc") {
            values.push(DocValue {
                value: value.clone(),
                condition: condition.cloned(),
            });
        }
        return;
    }
    let Some(conditional) = Conditional::of(meta) else {
        return;
    };
    let inner = match condition {
        Some(Condition(outer)) => {
            let inner = &conditional.predicate;
            Condition(quote!(all(#outer, #inner)))
        }
        None => Condition(conditional.predicate),
    };
    for meta in &conditional.metas {
        add_values(meta, Some(&inner), values);
    }
}

/// Splits the value of a doc attribute into lines, without the stars before the text and the
/// indentation that all lines have.
fn lines(text: &str) -> Vec<String> {
    if !text.contains('\n') {
        return vec![text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned()];
    }
    // The lines of a block comment may begin with stars.
    let starred = text
        .lines()
        .skip(1)
        .map(str::trim_start)
        .filter(|line| !line.is_empty())
        .all(|line| line.starts_with('*'));
    let without_star = |line| {
        if starred {
            let text = str::trim_start(line);
            text.strip_prefix('*').unwrap_or(text)
        } else {
            line
        }
    };

    let lines = text.lines().map(|line| without_star(line).trim_end());
    let lines = lines.collect::<Vec<_>>();
    // The first line follows the quote or the `/**`, and has no indentation of its own.
    let common = lines
        .iter()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or(0);
    let unindented = lines.iter().enumerate().map(|(number, line)| {
        let text = if number == 0 {
            line.trim_start()
        } else {
            line.get(common..).unwrap_or_default()
        };
        text.to_owned()
    });
    unindented.collect()
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Section {
    #[default]
    Description,
    Arguments,
    Returns,
    Dropped,
}

/// Puts each line and each macro into the section in which it stands.
#[derive(Default)]
struct Splitter {
    docs: DocComment,
    section: Section,
    /// The level of the section's heading.
    depth: usize,
    in_code: bool,
}

impl Splitter {
    fn line(&mut self, line: String, condition: Option<&Condition>, span: Span) {
        if line.trim_start().starts_with("```") {
            self.in_code = !self.in_code;
        }
        if let Some(Heading { level, title }) = Heading::of(&line).filter(|_| !self.in_code)
            && (self.section == Section::Description || level <= self.depth)
        {
            self.section = section_of(&title);
            self.depth = level;
            if self.section != Section::Description {
                return;
            }
        }
        match self.section {
            Section::Description => self
                .docs
                .description
                .push(DocContent::Line(line), condition.cloned()),
            Section::Returns => self
                .docs
                .returns
                .push(DocContent::Line(line), condition.cloned()),
            Section::Arguments => push_argument(&mut self.docs.arguments, &line, condition, span),
            Section::Dropped => {}
        }
    }

    /// Adds a macro. In the list of parameters it is no item, and belongs to the description.
    fn push_macro(&mut self, expr: &Expr, condition: Option<Condition>) {
        let expr = Box::new(expr.clone());
        match self.section {
            Section::Description | Section::Arguments => {
                self.docs
                    .description
                    .push(DocContent::Macro(expr), condition);
            }
            Section::Returns => self.docs.returns.push(DocContent::Macro(expr), condition),
            Section::Dropped if self.in_code => {}
            Section::Dropped => self
                .docs
                .description
                .push(DocContent::OwnSection(expr), condition),
        }
    }
}

/// `## Title`, with the title in lower case.
struct Heading {
    level: usize,
    title: String,
}

impl Heading {
    fn of(line: &str) -> Option<Self> {
        let rest = line.trim_start_matches('#');
        let level = line.len() - rest.len();
        let title = || rest.trim().trim_end_matches(':').to_lowercase();
        (level > 0 && rest.starts_with(' ')).then(|| Self {
            level,
            title: title(),
        })
    }
}

fn section_of(title: &str) -> Section {
    match title {
        "arguments" | "parameters" | "args" => Section::Arguments,
        "returns" => Section::Returns,
        other if DROPPED.contains(&other) => Section::Dropped,
        _ => Section::Description,
    }
}

/// Adds a line of the list: ``* `title` - Event title``, `- title: Event title`, or the
/// continuation of an item.
fn push_argument(
    arguments: &mut Vec<DocArgument>,
    line: &str,
    condition: Option<&Condition>,
    span: Span,
) {
    let text = line.trim();
    let item = text.strip_prefix("* ").or_else(|| text.strip_prefix("- "));
    // The lines of a nested list continue the item above it.
    let nested = line.starts_with("  ") && !arguments.is_empty();
    if let Some((name, text)) = item.filter(|_| !nested).and_then(name_and_text) {
        let content = DocContent::Line(text);
        // Two conditional items may describe one parameter.
        let known = arguments
            .iter_mut()
            .find(|known| condition.is_some() && known.name == name);
        if let Some(known) = known {
            known.text.push(content, condition.cloned());
        } else {
            let text = DocText(vec![DocPart {
                content,
                condition: condition.cloned(),
            }]);
            arguments.push(DocArgument { name, text, span });
        }
    } else if let Some(last) = arguments.last_mut().filter(|_| !text.is_empty()) {
        last.text
            .push(DocContent::Line(text.to_owned()), condition.cloned());
    }
}

fn name_and_text(item: &str) -> Option<(String, String)> {
    let quoted = item.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    let (name, rest) = quoted.unwrap_or_else(|| {
        let end = item
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '#'))
            .unwrap_or(item.len());
        item.split_at(end)
    });
    let text = rest
        .trim_start()
        .trim_start_matches([':', '-', '–', '—'])
        .trim_start();
    let is_item =
        !name.is_empty() && (text.len() < rest.trim_start().len() || rest.trim().is_empty());
    is_item.then(|| (name.trim_start_matches("r#").to_owned(), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn read_lines(lines: &[&str]) -> DocComment {
        let attrs: Vec<Attribute> = lines
            .iter()
            .map(|line| parse_quote!(#[doc = #line]))
            .collect();
        read(&attrs)
    }

    fn literal(text: &DocText) -> String {
        text.literal("\n").expect("the text has no macro")
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
        assert_eq!(
            literal(&docs.description),
            "Add an event.\n\nIt is added at once.\n\n# Notes\nKept."
        );
        assert_eq!(literal(&docs.returns), "The event.");
        assert_eq!(
            described(&docs),
            [
                "title: Its title,\nin plain text",
                "start_time: When it starts\n+ not an item"
            ]
        );
    }

    #[test]
    fn ignores_headings_in_code_blocks() {
        let docs = read_lines(&[" Run.", " ```", " # Errors", " ```", " More."]);
        assert_eq!(
            literal(&docs.description),
            "Run.\n```\n# Errors\n```\nMore."
        );
    }

    #[test]
    fn block_comments_lose_their_stars() {
        let docs = read_lines(&["\n * Add an event.\n *\n * At once.\n "]);
        assert_eq!(literal(&docs.description), "Add an event.\n\nAt once.");
    }

    /// Lists the parameters that a doc comment describes.
    fn described(docs: &DocComment) -> Vec<String> {
        let each = docs
            .arguments
            .iter()
            .map(|item| format!("{}: {}", item.name, literal(&item.text)));
        each.collect()
    }

    #[test]
    fn nested_lists_of_block_comments_are_no_parameters() {
        let starred =
            "\n * Add.\n *\n * # Arguments\n *\n * * `kind` - One of\n *   - work: Paid\n ";
        let indented = "Add.\n\n    # Arguments\n    - `kind` - One of\n      - work: Paid\n    ";
        for text in [starred, indented] {
            assert_eq!(
                described(&read_lines(&[text])),
                ["kind: One of\n- work: Paid"]
            );
        }
    }

    #[test]
    fn block_comments_keep_the_indentation_of_code() {
        let docs = read_lines(&["\n    Run:\n    ```\n    if a {\n      b\n    }\n    ```\n"]);
        assert_eq!(literal(&docs.description), "Run:\n```\nif a {\n  b\n}\n```");
    }

    /// Writes the parts of a text, macros as they are written and conditions before `:`.
    fn shown(text: &DocText) -> Vec<String> {
        let part = |part: &DocPart| {
            let content = match &part.content {
                DocContent::Line(line) => line.clone(),
                DocContent::Macro(expr) => quote!(#expr).to_string(),
                DocContent::OwnSection(expr) => format!("own section {}", quote!(#expr)),
            };
            match &part.condition {
                Some(Condition(condition)) => format!("{condition}: {content}"),
                None => content,
            }
        };
        text.parts().iter().map(part).collect()
    }

    #[test]
    fn keeps_lines_and_macros_in_order() {
        let docs = read(&[
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = a!()]),
            parse_quote!(#[doc = " B."]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = c!()]),
            parse_quote!(#[doc = ""]),
        ]);
        assert_eq!(shown(&docs.description), ["a ! ()", "B.", "", "c ! ()"]);
    }

    #[test]
    fn a_macro_belongs_to_the_section_in_which_it_stands() {
        let docs = read(&[
            parse_quote!(#[doc = "A."]),
            parse_quote!(#[doc = "# Arguments"]),
            parse_quote!(#[doc = "* `x` - X"]),
            parse_quote!(#[doc = of_the_description!()]),
            parse_quote!(#[doc = "* `y` - Y"]),
            parse_quote!(#[doc = "# Returns"]),
            parse_quote!(#[doc = of_the_result!()]),
            parse_quote!(#[doc = "# Examples"]),
            parse_quote!(#[doc = "```"]),
            parse_quote!(#[doc = code!()]),
            parse_quote!(#[doc = "```"]),
            parse_quote!(#[doc = more!()]),
        ]);
        assert_eq!(
            shown(&docs.description),
            ["A.", "of_the_description ! ()", "own section more ! ()"]
        );
        assert_eq!(shown(&docs.returns), ["of_the_result ! ()"]);
        let names = docs.arguments.iter().map(|item| item.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn a_condition_stays_with_its_docs() {
        let docs = read(&[
            parse_quote!(#[doc = "A."]),
            parse_quote!(#[cfg_attr(unix, doc = "B.", inline, cfg_attr(not(test), doc = c!()))]),
            parse_quote!(#[cfg_attr(unix, inline, doc(hidden))]),
            parse_quote!(#[doc = "# Arguments"]),
            parse_quote!(#[cfg_attr(unix, doc = "* `x` - X")]),
            parse_quote!(#[cfg_attr(windows, doc = "* `x` - Y")]),
        ]);
        assert_eq!(
            shown(&docs.description),
            ["A.", "unix: B.", "all (unix , not (test)): c ! ()"]
        );
        let argument = docs.arguments.first().expect("an item");
        assert_eq!(shown(&argument.text), ["unix: X", "windows: Y"]);
        assert_eq!(docs.arguments.len(), 1);
    }

    #[test]
    fn an_attribute_with_docs_alone_is_a_conditional_doc() {
        assert!(is_conditional_doc(
            &parse_quote!(#[cfg_attr(unix, doc = "A", doc = b!())])
        ));
        assert!(!is_conditional_doc(
            &parse_quote!(#[cfg_attr(unix, doc = "A", cold)])
        ));
        assert!(!is_conditional_doc(&parse_quote!(#[cfg_attr(unix)])));
        assert!(!is_conditional_doc(&parse_quote!(#[cfg(unix)])));
    }

    #[test]
    fn reads_docs_around_other_attributes() {
        let docs = read(&[
            parse_quote!(#[doc = " A."]),
            parse_quote!(#[inline]),
            parse_quote!(#[doc = " B."]),
        ]);
        assert_eq!(literal(&docs.description), "A.\nB.");
    }
}
