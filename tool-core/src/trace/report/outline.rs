//! The tree on one line.

use super::{Report, SpanNode};
use crate::trace::kind::SpanKind;
use std::fmt::Write;

impl Report {
    /// The tree on one line, without figures: `agent:planner > llm, tool:A > llm, tool:B > http`. S2
    ///
    /// `>` stands before what is inside of a span. A comma stands before the next span inside of the *root*: above,
    /// `agent:planner` has `llm`, `tool:A` and `tool:B` inside of it. Further down, spans have what is inside of them in
    /// parentheses where it is more than one: `agent:planner > tool:A > (llm, http), tool:B`. A semicolon stands before
    /// the next root. Siblings stand in the order in which they started.
    ///
    /// Agents, tools and sections have kind and name; what is asked of a model or a server is `llm` or `http` alone. A
    /// name with anything but letters, digits and `_ - . / :` in it stands in quotes. `dropped`, `open` and `remote`
    /// stand for spans that the report does not have, as [`NodeState`](super::NodeState) names them.
    pub fn outline(&self) -> String {
        let mut line = String::new();
        // Where the list that each is in ends, and whether it is in parentheses.
        let mut lists: Vec<(usize, bool)> = Vec::new();
        for node in self.nodes() {
            while let Some((_, in_parentheses)) = lists.pop_if(|(end, _)| *end <= node.at()) {
                line.push_str(if in_parentheses { ")" } else { "" });
            }
            match node.parent() {
                None => line.push_str(if line.is_empty() { "" } else { "; " }),
                Some(parent) if parent.at() + 1 < node.at() => line.push_str(", "),
                Some(parent) => {
                    let several = parent.depth() > 0 && node.end() < parent.end();
                    line.push_str(if several { " > (" } else { " > " });
                    lists.push((parent.end(), several));
                }
            }
            push_label(&mut line, node);
        }
        line.extend(lists.into_iter().filter(|(_, in_parentheses)| *in_parentheses).map(|_| ')'));
        line
    }
}

fn push_label(line: &mut String, node: SpanNode<'_>) {
    let Some(span) = node.span() else { return line.push_str(node.state().as_str()) };
    line.push_str(span.kind().as_str());
    if matches!(span.kind(), SpanKind::Llm | SpanKind::Http) {
        return;
    }
    line.push(':');
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    if !span.name().is_empty() && span.name().chars().all(is_plain) {
        line.push_str(span.name());
    } else {
        // Text takes what is written to it.
        let _ = write!(line, "{:?}", span.name());
    }
}
