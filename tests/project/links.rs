//! The links of the README, the book and the other pages, and the book's list of chapters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the pages: those in the project's folder, and all below `docs`.
fn pages() -> Vec<PathBuf> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let (mut found, mut folders) = (entries(&super::root()), vec![super::root().join("docs")]);
    while let Some(folder) = folders.pop() {
        let (below, files) = entries(&folder)
            .into_iter()
            .partition(|path: &PathBuf| path.is_dir());
        folders.extend::<Vec<PathBuf>>(below);
        found.extend::<Vec<PathBuf>>(files);
    }
    found.retain(is_page);
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// Returns the markdown files of a folder.
fn pages_of(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the lines outside of code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, String)> {
    let (mut fence, mut lines) = (None, Vec::new());
    for (at, line) in text.lines().enumerate() {
        let ticks = line
            .trim_start()
            .chars()
            .take_while(|letter| *letter == '`')
            .count();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            None => lines.push((at + 1, line.to_owned())),
            Some(open) if ticks >= open && line.trim().len() == ticks => fence = None,
            Some(_) => {}
        }
    }
    lines
}

/// Returns the line without the code in it, in which brackets are no links.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Returns the targets of the links of a line: `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let inline = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let mut found = inline
        .map(|(target, _)| target.to_owned())
        .collect::<Vec<_>>();
    if let Some((name, target)) = line.split_once("]: ")
        && name.starts_with('[')
    {
        found.push(target.trim().to_owned());
    }
    found
}

/// Returns the anchors of a page, which both the repository's host and mdBook make of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times = BTreeMap::<String, u32>::new();
    let headings = prose(text)
        .into_iter()
        .filter(|(_, line)| line.trim_start_matches('#').starts_with(' '));
    let names = headings
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter })
                .collect::<String>()
        });
    let mut found = BTreeSet::new();
    for name in names {
        let count = times.entry(name.clone()).or_default();
        found.insert(if *count == 0 {
            name
        } else {
            format!("{name}-{count}")
        });
        *count += 1;
    }
    found
}

/// Describes a link that leads nowhere.
fn problem(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        page.to_owned()
    } else {
        page.parent().expect("a folder").join(file)
    };
    if !path.exists() {
        return Some(format!("`{target}`: there is no such file"));
    }
    let known = anchor.is_empty() || anchors(&read(&path)).contains(anchor);
    (!known).then(|| format!("`{target}`: the page has no such heading"))
}

#[test]
fn every_link_of_the_pages_resolves() {
    let (mut links, mut broken) = (0, Vec::new());
    for page in pages() {
        for (number, line) in prose(&read(&page)) {
            for target in targets(&line) {
                links += 1;
                broken.extend(
                    problem(&page, &target)
                        .map(|problem| format!("{}:{number}: {problem}", page.display())),
                );
            }
        }
    }
    assert!(links > 100, "only {links} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Files outside of the book are not part of what mdBook builds, so a chapter names them without a link.
#[test]
fn chapters_link_to_nothing_outside_of_the_book() {
    let outside = pages_of(&super::root().join("docs/book")).flat_map(|page| {
        let links = prose(&read(&page))
            .into_iter()
            .flat_map(|(_, line)| targets(&line));
        links
            .filter(|target| target.contains("../"))
            .map(move |target| format!("{}: {target}", page.display()))
    });
    assert_eq!(outside.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_chapter_is_in_the_summary() {
    let book = super::root().join("docs/book");
    let listed = prose(&read(&book.join("SUMMARY.md")))
        .iter()
        .flat_map(|(_, line)| targets(line))
        .collect::<Vec<_>>();
    let distinct = listed.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(listed.len(), distinct.len(), "a chapter is listed twice");
    let name = |path: PathBuf| {
        path.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    let mut chapters = pages_of(&book).map(name).collect::<BTreeSet<_>>();
    chapters.remove("SUMMARY.md");
    assert_eq!(distinct, chapters);
}

#[test]
fn every_chapter_has_its_doc_tests() {
    let library = read(&super::root().join("tests/src/lib.rs"));
    let chapters = library
        .split("chapters! {")
        .nth(1)
        .expect("a list")
        .split_whitespace()
        .collect::<Vec<_>>();
    let missing = pages_of(&super::root().join("docs/book")).filter(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        read(path).contains("```rust") && !chapters.contains(&&*name)
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn links_and_headings_are_read_outside_of_code() {
    let text = "# `#[arg]` and more\n[a](b.md#c), `[no](link)`\n```text\n# None\n[no](link)\n```\n## Twice\n## Twice\n[d]: e.md\n";
    let found = prose(text)
        .iter()
        .flat_map(|(_, line)| targets(line))
        .collect::<Vec<_>>();
    assert_eq!(found, ["b.md#c", "e.md"]);
    assert_eq!(
        anchors(text).into_iter().collect::<Vec<_>>(),
        ["arg-and-more", "twice", "twice-1"]
    );
    let page = super::root().join("README.md");
    assert!(
        problem(&page, "no-such-file.md").is_some()
            && problem(&page, "ARCHITECTURE.md#no-such-heading").is_some()
    );
    assert!(problem(&page, "ARCHITECTURE.md#invariants").is_none());
}
