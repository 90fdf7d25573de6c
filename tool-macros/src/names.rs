//! Rules for the names of tools, conversions between spellings, and suggestions for mistyped words.

/// The longest name of a tool, in bytes.
const MAX_LENGTH: usize = 64;

/// Returns whether `name` matches `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well
        && name.len() <= MAX_LENGTH
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Normalises a name for comparison. Some providers ignore case, and some turn `-` into `_`.
pub(crate) fn normalised(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Converts `create_event` to `CreateEvent`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for word in name.split('_') {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// Converts `GoogleCalendar` to `google_calendar`, `HTTPClient` to `http_client` and `Kb2` to
/// `kb2`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut letters = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(letter) = letters.next() {
        let begins_word = letter.is_uppercase()
            && before.is_some_and(|b| {
                b != '_'
                    && (!b.is_uppercase() || letters.peek().is_some_and(|next| next.is_lowercase()))
            });
        if begins_word {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
        before = Some(letter);
    }
    snake
}

/// Returns the known word nearest to a mistyped one, if one is near.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_ascii_lowercase();
    let tolerated = 1 + word.len() / 4;
    known
        .iter()
        .map(|candidate| {
            (
                if is_abbreviation(&lower, candidate) {
                    1
                } else {
                    distance(&lower, candidate)
                },
                *candidate,
            )
        })
        .filter(|(far, candidate)| *far <= tolerated && *far < candidate.len())
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// Returns whether the word abbreviates the candidate, as `retry` does `retryable`.
fn is_abbreviation(word: &str, candidate: &str) -> bool {
    word.len() >= 4 && candidate.starts_with(word)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours between two words.
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

/// Lists the words, each in backticks.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words
        .into_iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Writes the help line for an unknown word.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let all = listed(known.iter().copied());
    match nearest(word, known) {
        Some(near) => format!("help: did you mean `{near}`? expected one of {all}"),
        None => format!("help: expected one of {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_have_1_to_64_characters_and_no_leading_digit() {
        for good in ["a", "_", "get_weather", "Get-Weather9", &"x".repeat(64)] {
            assert!(is_tool_name(good), "{good}");
        }
        for bad in [
            "",
            "9a",
            "-a",
            "get weather",
            "größe",
            "a.b",
            "a/b",
            &"x".repeat(65),
        ] {
            assert!(!is_tool_name(bad), "{bad}");
        }
    }

    #[test]
    fn normalised_names_ignore_case_and_dashes() {
        assert_eq!(normalised("Get-It"), normalised("get_it"));
        assert_ne!(normalised("getit"), normalised("get_it"));
    }

    #[test]
    fn argument_structs_are_named_in_camel_case() {
        assert_eq!(camel_case("create_event"), "CreateEvent");
        assert_eq!(camel_case("_get_2d__map"), "Get2dMap");
        assert_eq!(camel_case("getThing"), "GetThing");
    }

    #[test]
    fn toolsets_are_named_in_snake_case() {
        assert_eq!(snake_case("GoogleCalendar"), "google_calendar");
        assert_eq!(snake_case("HTTPClient"), "http_client");
        assert_eq!(snake_case("Kb2Search"), "kb2_search");
        assert_eq!(snake_case("already_snake"), "already_snake");
    }

    #[test]
    fn suggests_the_nearest_word_if_one_is_near() {
        let known = ["name", "title", "timeout", "modes"];
        assert_eq!(nearest("nam", &known), Some("name"));
        assert_eq!(nearest("Timeuot", &known), Some("timeout"));
        assert_eq!(nearest("time", &known), Some("timeout"));
        assert_eq!(nearest("blue", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
