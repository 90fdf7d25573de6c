//! The articles of the hotel: Markdown files. The first heading is the title, and the file name is the id.

use std::fs;
use std::path::Path;

/// The folder of the articles. New files are found at the next start.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/concierge/articles");

/// One article.
pub(crate) struct Article {
    pub(crate) id: String,
    pub(crate) title: String,
    /// The text below the title.
    pub(crate) body: String,
}

/// Reads all articles of a folder, by id. An error names the file.
pub(crate) fn read(folder: &Path) -> Result<Vec<Article>, String> {
    let listed = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let files = listed.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = files.into_iter().map(|file| file.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths
        .iter()
        .map(|path| article(path).map_err(|problem| format!("{}: {problem}", path.display())))
        .collect()
}

fn article(path: &Path) -> Result<Article, String> {
    let id = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    parse(id, &text).ok_or_else(|| "an article begins with a heading, `# Title`".to_owned())
}

/// Parses an article. `None` without a title.
pub(crate) fn parse(id: String, text: &str) -> Option<Article> {
    let (heading, body) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
    let title = heading.strip_prefix('#')?.trim_start_matches('#').trim();
    (!title.is_empty()).then(|| Article {
        id,
        title: title.to_owned(),
        body: body.trim().to_owned(),
    })
}
