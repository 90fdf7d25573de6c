//! The name that was probably meant.

/// The known name nearest to `name`: equal but for case and separators, a beginning of one another, or a few letters
/// off. Of equally near ones the first.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in known {
        let Some(distance) = distance(&wanted, &plain(candidate)) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

fn plain(name: &str) -> Vec<char> {
    // A name of a thousand letters is nobody's slip, and comparing it would cost its square.
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).take(80).collect()
}

/// How far apart the names are, or nothing where they are too far to suggest.
fn distance(left: &[char], right: &[char]) -> Option<usize> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let edits = edits(left, right);
    if edits <= 1.max(long.len() / 3) && edits < short.len() {
        return Some(edits);
    }
    // `start` for `start_time`: worse than any slip of the pen, better than nothing.
    (short.len() >= 3 && (long.starts_with(short) || long.ends_with(short))).then_some(edits.max(4))
}

/// Insertions, deletions, replacements and swaps of neighbours.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut before_l = None;
    for (row, l) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut before_r = None;
        for (column, r) in right.iter().enumerate() {
            let at = |cells: &[usize], position: usize| cells.get(position).copied().unwrap_or(usize::MAX - 1);
            let mut cost = (at(&last, column) + usize::from(l != r))
                .min(at(&last, column + 1).saturating_add(1))
                .min(at(&current, column).saturating_add(1));
            if before_l == Some(r) && before_r == Some(l) && column > 0 {
                cost = cost.min(at(&before_last, column - 1).saturating_add(1));
            }
            current.push(cost);
            before_r = Some(r);
        }
        before_last = std::mem::replace(&mut last, current);
        before_l = Some(l);
    }
    last.last().copied().unwrap_or(0)
}
