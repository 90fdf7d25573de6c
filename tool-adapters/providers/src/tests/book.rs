//! The tables of the book's page that compares providers. `UPDATE=1 cargo test` writes them anew.

use crate::Provider;
use crate::accepted_parts::PartKind;
use crate::setting_places::Setting;
use crate::spec::{Endpoint, Server};
use crate::tests::{settings, user_parts};
use std::fmt::Write as _;
use std::path::Path;

/// A table of the page.
struct BookTable {
    /// The heading above the table.
    heading: &'static str,
    columns: Vec<String>,
    rows: Vec<BookRow>,
}

/// A row of one provider, or of several in a row with the same cells.
struct BookRow {
    providers: Vec<String>,
    cells: Vec<String>,
}

impl BookTable {
    /// Makes a table of the providers that have cells.
    fn new(
        heading: &'static str,
        columns: &[&str],
        cells_of: fn(Provider) -> Option<Vec<String>>,
    ) -> Self {
        let mut rows = Vec::<BookRow>::new();
        for provider in Provider::ALL {
            let Some(cells) = cells_of(provider) else {
                continue;
            };
            let name = format!("`{provider:?}`");
            match rows.last_mut() {
                Some(row) if row.cells == cells => row.providers.push(name),
                _ => rows.push(BookRow {
                    providers: vec![name],
                    cells,
                }),
            }
        }
        Self {
            heading,
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows,
        }
    }

    fn text(&self) -> String {
        let columns = self.columns.join(" | ");
        let mut text = format!("| `Provider` | {columns} |\n|---|");
        text += &"---|".repeat(self.columns.len());
        for row in &self.rows {
            let cells = row.cells.join(" | ");
            let _ = write!(text, "\n| {} | {cells} |", row.providers.join(", "));
        }
        text
    }

    /// Returns the page with this table below its heading.
    fn put_into(&self, page: &str) -> String {
        let heading = format!("\n## {}\n", self.heading);
        let (before, section) = page.split_once(&heading).expect("the heading");
        let (prose, table) = section.split_once("\n|").expect("a table");
        let after = table
            .split_once("\n\n")
            .map_or("\n".to_owned(), |(_, after)| format!("\n\n{after}"));
        format!("{before}{heading}{prose}\n{}{after}", self.text())
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

/// Returns the variables in the order in which they are read.
fn variables(names: &[&str]) -> String {
    let names = names.iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(" or ")
}

/// Returns the cells about the tools of a request.
#[expect(clippy::unnecessary_wraps, reason = "each table has such a function")]
fn tool_cells(provider: Provider) -> Option<Vec<String>> {
    let spec = provider.spec();
    let rule = spec.tool_names;
    let mut names = format!("1–{} of `A-Z a-z 0-9 _", rule.max_length);
    for letter in rule.punctuation.chars() {
        names.push(' ');
        names.push(letter);
    }
    names.push('`');
    if !rule.any_first {
        names += ", first a letter or `_`";
    }
    let strict = spec.strict.is_some().then(|| "yes".to_owned());
    Some(vec![
        format!("`{provider}`"),
        names,
        or_dash(spec.max_tools.map(|most| most.to_string())),
        or_dash(strict),
    ])
}

fn base_url_cell(server: &Server) -> String {
    let mut cell = format!("`{}`", server.base_url);
    if !server.region_env.is_empty() {
        cell += " by ";
        cell += &variables(server.region_env);
    }
    if !server.base_url_env.is_empty() {
        cell += ", ";
        cell += &variables(server.base_url_env);
    }
    cell
}

fn key_cell(server: &Server) -> String {
    let header = match server.key_header {
        ("authorization", "Bearer ") => "bearer".to_owned(),
        (name, _) => format!("`{name}`"),
    };
    let none = if server.key_required { "" } else { "none, or " };
    format!("{none}{header}, {}", variables(server.key_env))
}

/// Returns the cells about the requests of a provider that is asked over HTTP.
fn request_cells(provider: Provider) -> Option<Vec<String>> {
    let Endpoint::Http(http) = provider.spec().endpoint else {
        return None;
    };
    let path = (http.path)("MODEL", true).join("/");
    Some(vec![
        base_url_cell(&http.server),
        format!("`/{path}`"),
        key_cell(&http.server),
    ])
}

fn tables() -> [BookTable; 4] {
    let settings = Setting::ALL.map(|setting| format!("`{}`", setting.name()));
    let settings = settings.each_ref().map(String::as_str);
    let files = PartKind::ALL.map(|kind| match kind {
        PartKind::Image => "images",
        PartKind::Sound => "sounds",
        PartKind::Video => "videos",
        PartKind::Document => "documents",
    });
    [
        BookTable::new(
            "Tools",
            &["name", "names of tools", "most tools", "strict tools"],
            tool_cells,
        ),
        BookTable::new(
            "Requests over HTTP",
            &[
                "base URL, and the variable that overrides it",
                "path",
                "API key",
            ],
            request_cells,
        ),
        BookTable::new("Settings", &settings, settings::book_cells),
        BookTable::new("Images and files", &files, user_parts::book_cells),
    ]
}

// M14
#[test]
fn the_book_compares_all_providers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/provider_tables.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut expected = page.clone();
    for table in tables() {
        expected = table.put_into(&expected);
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).expect("a writable file");
    } else {
        assert!(
            page == expected,
            "`UPDATE=1 cargo test` writes the tables of {}",
            path.display()
        );
    }
}
