//! Text for people: colours, lines and tables, as wide as the terminal.

use clap::builder::styling::{AnsiColor, Style};
use std::fmt::Write;
use tool_core::text::escape_invisible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The style of headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// The style of the names of tools and parameters.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// The style of success.
pub(crate) const SUCCESS: Style = AnsiColor::Green.on_default();
/// The style of errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of warnings, and of what needs care.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// The style of asides.
pub(crate) const ASIDE: Style = Style::new().dimmed();

/// The columns that no text falls below, however narrow a terminal says it is.
const MIN_WIDTH: usize = 20;
/// The columns that a cell of several lines has at least. A table without them lists each row's
/// cells one below the other.
const MIN_CELL: usize = 12;
const GAP: usize = 2;

/// The width and the colours of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextLayout {
    /// The columns of a line; `None` for lines of any length.
    pub(crate) width: Option<usize>,
    pub(crate) color: bool,
}

impl TextLayout {
    /// Returns the text in a style, where there are colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn columns(self) -> usize {
        self.width.map_or(usize::MAX, |width| width.max(MIN_WIDTH))
    }

    /// Returns the text with its invisible characters escaped and its lines broken between words,
    /// each line ended. Each line begins with `indent` blanks, and continues with as many more as
    /// it has itself, up to half of the width.
    pub(crate) fn lines(self, text: &str, indent: usize) -> String {
        let width = self.columns();
        let mut out = String::new();
        for line in text.lines() {
            let line = escape_invisible(line.trim_end());
            let blanks = line.chars().take_while(|c| *c == ' ').count();
            let begin = (indent + blanks).min(width / 2);
            for part in wrap(line.trim_start(), width - begin) {
                if !part.is_empty() {
                    out.push_str(&" ".repeat(begin));
                }
                out.push_str(&part);
                out.push('\n');
            }
        }
        out
    }

    /// Returns a message of one line, broken between words and indented from its second line on,
    /// with its severity (`error: `, `warning: `, `note: `) in the severity's colour.
    pub(crate) fn message(self, message: &str) -> String {
        let mut text = String::new();
        for (at, part) in wrap(message, self.columns().saturating_sub(GAP))
            .into_iter()
            .enumerate()
        {
            let indent = if at == 0 { 0 } else { GAP };
            _ = writeln!(text, "{:indent$}{part}", "");
        }
        let severities = [("error", ERROR), ("warning", WARNING), ("note", ASIDE)];
        for (severity, style) in severities {
            if let Some(rest) = text
                .strip_prefix(severity)
                .filter(|rest| rest.starts_with(':'))
            {
                return self.paint(style, severity) + rest;
            }
        }
        text
    }

    /// Formats rows under their headings with aligned columns. If the rows are wider than a line,
    /// cells take several lines, and where that does not fit either, each row becomes a list.
    /// Columns without any text are left out.
    pub(crate) fn table<const N: usize>(
        self,
        columns: [Column; N],
        rows: Vec<[String; N]>,
    ) -> String {
        let rows = rows
            .into_iter()
            .map(|row| row.map(|cell| escape_invisible(&cell)))
            .collect::<Vec<_>>();
        let shown =
            (0..N).filter(|at| rows.is_empty() || rows.iter().any(|row| !row[*at].is_empty()));
        let shown = shown.map(|at| (at, columns[at])).collect::<Vec<_>>();
        let natural = shown.iter().map(|(at, column)| {
            rows.iter()
                .map(|row| row[*at].width())
                .max()
                .unwrap_or_default()
                .max(column.heading.width())
        });
        match self.fit(&shown, natural.collect()) {
            Some(widths) => self.aligned(&shown, &widths, &rows),
            None => self.listed(&shown, &rows),
        }
    }

    /// Returns the widths of the columns in a line; `None` if they do not fit.
    fn fit(self, shown: &[(usize, Column)], natural: Vec<usize>) -> Option<Vec<usize>> {
        let gaps = GAP * shown.len().saturating_sub(1);
        if natural.iter().sum::<usize>() + gaps <= self.columns() {
            return Some(natural);
        }
        let wraps = |at: usize| shown[at].1.wraps;
        let fixed = (0..natural.len())
            .filter(|at| !wraps(*at))
            .map(|at| natural[at])
            .sum::<usize>();
        let mut left = self.columns().checked_sub(fixed + gaps)?;
        // The narrowest first, so that the wider ones share what it leaves.
        let mut open = (0..natural.len())
            .filter(|at| wraps(*at))
            .collect::<Vec<_>>();
        open.sort_by_key(|at| natural[*at]);
        let mut widths = natural;
        let mut count = open.len();
        for at in open {
            let share = left / count;
            if share < MIN_CELL.min(widths[at]) {
                return None;
            }
            widths[at] = widths[at].min(share);
            (left, count) = (left - widths[at], count - 1);
        }
        Some(widths)
    }

    fn aligned<const N: usize>(
        self,
        shown: &[(usize, Column)],
        widths: &[usize],
        rows: &[[String; N]],
    ) -> String {
        let headings = shown
            .iter()
            .map(|(_, column)| (HEADING, vec![column.heading.to_owned()]))
            .collect::<Vec<_>>();
        let mut text = self.row(&headings, widths);
        for row in rows {
            let cells = shown
                .iter()
                .zip(widths)
                .map(|((at, column), width)| (column.style, wrap(&row[*at], *width)));
            text.push_str(&self.row(&cells.collect::<Vec<_>>(), widths));
        }
        text
    }

    /// Formats one row of cells of one or more lines.
    fn row(self, cells: &[(Style, Vec<String>)], widths: &[usize]) -> String {
        let height = cells
            .iter()
            .map(|(_, lines)| lines.len())
            .max()
            .unwrap_or_default();
        let mut text = String::new();
        for line in 0..height {
            let mut blanks = 0;
            for ((style, lines), width) in cells.iter().zip(widths) {
                let part = lines.get(line).map_or("", String::as_str);
                if !part.is_empty() {
                    text.push_str(&" ".repeat(blanks));
                    text.push_str(&self.paint(*style, part));
                    blanks = 0;
                }
                blanks += width.saturating_sub(part.width()) + GAP;
            }
            text.push('\n');
        }
        text
    }

    /// Formats each row as a list: the first cell, and below it the others with their headings.
    fn listed<const N: usize>(self, shown: &[(usize, Column)], rows: &[[String; N]]) -> String {
        let label = shown
            .iter()
            .skip(1)
            .map(|(_, column)| column.heading.width())
            .max()
            .unwrap_or_default();
        let begin = GAP + label + GAP;
        let mut text = String::new();
        for row in rows {
            for (place, (at, column)) in shown.iter().enumerate() {
                let cell = &row[*at];
                if place == 0 {
                    for part in wrap(cell, self.columns()) {
                        text.push_str(&self.paint(column.style, &part));
                        text.push('\n');
                    }
                } else if !cell.is_empty() {
                    let heading = self.paint(HEADING, column.heading);
                    let blanks = " ".repeat(begin - GAP - column.heading.width());
                    _ = write!(text, "{:GAP$}{heading}{blanks}", "");
                    for (line, part) in wrap(cell, self.columns().saturating_sub(begin))
                        .iter()
                        .enumerate()
                    {
                        let indent = if line == 0 { 0 } else { begin };
                        _ = writeln!(text, "{:indent$}{}", "", self.paint(column.style, part));
                    }
                }
            }
        }
        text
    }
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    style: Style,
    wraps: bool,
}

impl Column {
    /// Creates a column whose cells take one line.
    pub(crate) const fn new(heading: &'static str) -> Self {
        Self {
            heading,
            style: Style::new(),
            wraps: false,
        }
    }

    /// Lets cells take several lines where the terminal is narrow.
    pub(crate) const fn wraps(self) -> Self {
        Self {
            wraps: true,
            ..self
        }
    }

    /// Sets the style of the cells.
    pub(crate) const fn style(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

/// Breaks a line between words. A word that is wider than a line continues on the next one.
fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_whitespace() {
        if used > 0 && used + 1 + word.width() > width {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        if used > 0 {
            current.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or_default();
            if used > 0 && used + wide > width {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(c);
            used += wide;
        }
    }
    lines.push(current);
    lines
}

/// Returns the beginning of a text that fits the columns.
pub(crate) fn cut(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or_default();
        used > width
    });
    end.map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COLUMNS: [Column; 3] = [
        Column::new("NAME").style(NAME),
        Column::new("NOTE"),
        Column::new("TEXT").wraps(),
    ];

    fn rows() -> Vec<[String; 3]> {
        vec![
            [
                "a".to_owned(),
                String::new(),
                "One line of a few words.".to_owned(),
            ],
            ["bcd".to_owned(), String::new(), "short".to_owned()],
        ]
    }

    fn plain(width: usize) -> TextLayout {
        TextLayout {
            width: Some(width),
            color: false,
        }
    }

    #[test]
    fn leaves_out_columns_without_text() {
        let text = TextLayout::default().table(COLUMNS, rows());
        assert_eq!(
            text,
            "NAME  TEXT\na     One line of a few words.\nbcd   short\n"
        );
    }

    #[test]
    fn breaks_cells_between_words_on_a_narrow_terminal() {
        let text = plain(20).table(COLUMNS, rows());
        assert_eq!(
            text,
            "NAME  TEXT\na     One line of a\n      few words.\nbcd   short\n"
        );
    }

    #[test]
    fn lists_the_cells_where_no_table_fits() {
        let long = [
            "a_name_of_many_letters".to_owned(),
            "yes".to_owned(),
            "One line of a few words.".to_owned(),
        ];
        let text = plain(24).table(COLUMNS, vec![long]);
        assert_eq!(
            text,
            "a_name_of_many_letters\n  NOTE  yes\n  TEXT  One line of a\n        few words.\n"
        );
    }

    #[test]
    fn aligns_wide_characters_by_their_columns() {
        let row = |name: &str, text: &str| [name.to_owned(), "x".to_owned(), text.to_owned()];
        let text = TextLayout::default().table(COLUMNS, vec![row("検索", "a"), row("ab", "b")]);
        assert_eq!(text, "NAME  NOTE  TEXT\n検索  x     a\nab    x     b\n");
    }

    #[test]
    fn colours_cells_and_leaves_blanks_plain() {
        let layout = TextLayout {
            width: None,
            color: true,
        };
        let text = layout.table(
            [COLUMNS[0], COLUMNS[2]],
            vec![["a".to_owned(), "b".to_owned()]],
        );
        assert_eq!(
            text,
            "\u{1b}[1mNAME\u{1b}[0m  \u{1b}[1mTEXT\u{1b}[0m\n\u{1b}[36ma\u{1b}[0m     b\n"
        );
        assert_eq!(
            layout.message("error: bad"),
            "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: bad\n"
        );
    }

    #[test]
    fn leading_blanks_take_half_of_a_line_at_most() {
        let text = format!("{}a few words", " ".repeat(70_000));
        let expected = "          a few\n          words\n";
        assert_eq!(plain(20).lines(&text, 2), expected);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(texts in prop::collection::vec("\\PC{0,60}", 3..12), width in 20_usize..100) {
            let rows = texts.chunks_exact(3).map(|row| [row[0].clone(), row[1].clone(), row[2].clone()]).collect::<Vec<_>>();
            let columns = COLUMNS.map(Column::wraps);
            for line in plain(width).table(columns, rows).lines().chain(plain(width).lines(&texts[0], 2).lines()) {
                prop_assert!(line.width() <= width, "{line:?}");
            }
        }
    }
}
