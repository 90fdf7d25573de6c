//! Names: what a tool may be called, and how Rust's names turn into them.

/// The longest name a tool may have.
const LONGEST: usize = 64;

/// Whether `name` matches `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && name.len() <= LONGEST && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The form in which two names are compared: providers confuse case, and some turn `-` into `_`.
pub(crate) fn normalised(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// `create_event` -> `CreateEvent`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for word in name.split('_') {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// `GoogleCalendar` -> `google_calendar`, `HTTPClient` -> `http_client`, `Kb2` -> `kb2`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut letters = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(letter) = letters.next() {
        let begins_word = letter.is_uppercase()
            && before.is_some_and(|b| {
                b != '_' && (!b.is_uppercase() || letters.peek().is_some_and(|next| next.is_lowercase()))
            });
        if begins_word {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
        before = Some(letter);
    }
    snake
}

/// The known word nearest to a mistyped one, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_ascii_lowercase();
    let tolerated = 1 + word.len() / 4;
    known
        .iter()
        .map(|candidate| (if is_beginning(&lower, candidate) { 1 } else { distance(&lower, candidate) }, *candidate))
        .filter(|(far, candidate)| *far <= tolerated && *far < candidate.len())
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// `retry` of `retryable`: an abbreviation is no typing mistake, but as near.
fn is_beginning(word: &str, candidate: &str) -> bool {
    word.len() >= 4 && candidate.starts_with(word)
}

/// Insertions, deletions, replacements and swaps of neighbours, row by row.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut before = None;
    for (i, letter) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        let mut other_before = None;
        for (j, &other) in b.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut cost = cell(&row, j) + usize::from(letter != other);
            cost = cost.min(cell(&row, j + 1) + 1).min(cell(&next, j) + 1);
            if before == Some(other) && other_before == Some(letter) && j > 0 {
                cost = cost.min(cell(&above, j - 1) + 1);
            }
            next.push(cost);
            other_before = Some(other);
        }
        above = std::mem::replace(&mut row, next);
        before = Some(letter);
    }
    row.last().copied().unwrap_or_default()
}

/// `a`, `b`, `c`, each in backticks.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The help line under an unknown word.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let all = listed(known.iter().copied());
    match nearest(word, known) {
        Some(near) => format!("help: did you mean `{near}`? expected one of {all}"),
        None => format!("help: expected one of {all}"),
    }
}
