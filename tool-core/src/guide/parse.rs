//! Reads a guide line by line. Markdown has more to it; a guide needs headings and fences.

use super::GuideExample;

/// What a guide says, by its parts.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) heading: Option<String>,
    pub(super) summary: String,
    pub(super) parameters: Option<String>,
    pub(super) watch_out: Option<String>,
    pub(super) examples: Vec<GuideExample>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Parameters,
    Examples,
    WatchOut,
}

/// A code block that is open.
struct Fence {
    mark: char,
    length: usize,
    /// Where an example's lines go.
    example: Option<GuideExample>,
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// The section being read, and how deep its heading is.
    section: Option<(Section, usize)>,
    fence: Option<Fence>,
}

pub(super) fn parse(text: &str) -> Parsed {
    let mut reader = Reader::default();
    // Some editors put a byte order mark first.
    for (at, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
        reader.line(line, at + 1);
    }
    // A block that nobody closed ends with the text.
    reader.close();
    let Parsed { parameters, watch_out, .. } = &mut reader.parsed;
    for section in [parameters, watch_out].into_iter().flatten() {
        *section = section.trim().to_owned();
    }
    reader.parsed
}

impl Reader {
    fn line(&mut self, line: &str, number: usize) {
        if self.fence.is_some() {
            self.fenced(line);
        } else if let Some(fence) = self.opened(line, number) {
            self.fence = Some(fence);
        } else if let Some((level, title)) = heading(line) {
            self.heading(line, level, title);
            return;
        } else if self.parsed.summary.is_empty() {
            line.trim().clone_into(&mut self.parsed.summary);
        }
        self.keep(line);
    }

    fn heading(&mut self, line: &str, level: usize, title: &str) {
        if self.parsed.heading.is_none() && !title.is_empty() {
            self.parsed.heading = Some(title.to_owned());
        }
        if let Some(section) = section(title) {
            self.section = Some((section, level));
        } else if self.section.is_some_and(|(_, above)| level <= above) {
            self.section = None;
        } else {
            // A heading below the section's own is part of it.
            self.keep(line);
        }
    }

    /// Adds a line to the section that it stands in.
    fn keep(&mut self, line: &str) {
        let kept = match self.section {
            Some((Section::Parameters, _)) => &mut self.parsed.parameters,
            Some((Section::WatchOut, _)) => &mut self.parsed.watch_out,
            _ => return,
        };
        let kept = kept.get_or_insert_default();
        kept.push_str(line);
        kept.push('\n');
    }

    /// The code block that the line opens.
    fn opened(&self, line: &str, number: usize) -> Option<Fence> {
        let (mark, length, info) = fence(line)?;
        let language = info.split_whitespace().next().unwrap_or_default();
        let wanted = self.section.is_some_and(|(section, _)| section == Section::Examples);
        let example = wanted && language.eq_ignore_ascii_case("json");
        let example = example.then(|| GuideExample { json: String::new(), line: number + 1 });
        Some(Fence { mark, length, example })
    }

    fn fenced(&mut self, line: &str) {
        let Some(open) = &mut self.fence else { return };
        match fence(line) {
            Some((mark, length, "")) if mark == open.mark && length >= open.length => self.close(),
            _ => {
                if let Some(example) = &mut open.example {
                    example.json.push_str(line);
                    example.json.push('\n');
                }
            }
        }
    }

    fn close(&mut self) {
        self.parsed.examples.extend(self.fence.take().and_then(|fence| fence.example));
    }
}

/// The level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let title = text.get(level..)?;
    let sound = (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    sound.then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

fn section(title: &str) -> Option<Section> {
    let title = title.trim_end_matches(':').to_lowercase();
    match title.as_str() {
        "parameters" => Some(Section::Parameters),
        "examples" | "example" => Some(Section::Examples),
        "watch out" => Some(Section::WatchOut),
        _ => None,
    }
}

/// The mark of a fence, how often it stands there, and what follows it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim();
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    // Code inside a line may begin with as many marks, and then ends with them on the same line.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then(|| (mark, length, info.trim()))
}
