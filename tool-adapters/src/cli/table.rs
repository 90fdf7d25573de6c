//! Tables for a terminal.

use crate::plain::plain;
use std::fmt::Write;

/// The rows under their headings, each column as wide as it has to be.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let rows = std::iter::once(headings.map(str::to_owned)).chain(rows.iter().cloned());
    let rows = rows.map(|row| row.map(|cell| plain(&cell).into_owned())).collect::<Vec<_>>();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a string never fails.
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
