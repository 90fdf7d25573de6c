//! Values that are nearly another one.

use crate::arguments::tests::equality::spelled::{Dice, Json, NAMES};

/// Changes one place of the value, so that it is another value; false where there is no such place.
pub(crate) fn mutate(value: &mut Json, dice: &mut Dice) -> bool {
    let before = value.clone();
    for _ in 0..4 {
        let place = dice.below(size(value));
        if at(value, place, &mut |node| change(node, dice)) {
            // Such as two equal items that change places.
            if !equal(value, &before) {
                return true;
            }
            *value = before.clone();
        }
    }
    false
}

fn size(value: &Json) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Json::Object(members) => {
            1 + members
                .iter()
                .map(|(_, member)| size(member))
                .sum::<usize>()
        }
        _ => 1,
    }
}

/// Goes to the node of a number, counted from the root on.
fn at(value: &mut Json, place: usize, change: &mut dyn FnMut(&mut Json) -> bool) -> bool {
    if place == 0 {
        return change(value);
    }
    let mut left = place - 1;
    let children: Vec<&mut Json> = match value {
        Json::Array(items) => items.iter_mut().collect(),
        Json::Object(members) => members.iter_mut().map(|(_, member)| member).collect(),
        _ => Vec::new(),
    };
    for child in children {
        let nodes = size(child);
        if left < nodes {
            return at(child, left, change);
        }
        left -= nodes;
    }
    false
}

/// Equality without any of the code under test.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            let known = |name: &String, value: &Json| {
                b.iter()
                    .any(|(other, there)| other == name && equal(value, there))
            };
            a.len() == b.len() && a.iter().all(|(name, value)| known(name, value))
        }
        (a, b) => a == b,
    }
}

fn change(node: &mut Json, dice: &mut Dice) -> bool {
    match node {
        Json::Null => {
            *node = dice
                .pick(&[
                    Json::Bool(false),
                    text("null"),
                    text(""),
                    Json::Object(vec![]),
                    zero(),
                ])
                .clone();
        }
        Json::Bool(value) => {
            let other = [
                Json::Bool(!*value),
                text(&value.to_string()),
                Json::Null,
                zero(),
            ];
            *node = dice.pick(&other).clone();
        }
        Json::Number(digits) => *node = number(digits, dice),
        Json::Text(text) => *node = other_text(text, dice),
        Json::Array(items) => return array(items, dice),
        Json::Object(members) => return object(members, dice),
    }
    true
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn zero() -> Json {
    Json::Number("0".to_owned())
}

/// One digit, one more digit, another sign, or a text of the same digits.
fn number(digits: &str, dice: &mut Dice) -> Json {
    let last = digits
        .chars()
        .last()
        .and_then(|digit| digit.to_digit(10))
        .unwrap_or(0);
    let head = &digits[..digits.len() - 1];
    let flipped = match digits.strip_prefix('-') {
        Some(rest) => rest.to_owned(),
        None if digits == "0" => "1".to_owned(),
        None => format!("-{digits}"),
    };
    // No zero at the end of a fraction, so that each has one shortest spelling.
    let step = if digits.contains('.') && last == 9 {
        8
    } else {
        (last + 1) % 10
    };
    match dice.below(6) {
        0 => text(digits),
        1 if digits != "0" => Json::Number(format!("{digits}1")),
        2 => Json::Number(flipped),
        3 => Json::Array(vec![Json::Number(digits.to_owned())]),
        _ if head == "-" && step == 0 => zero(),
        _ => Json::Number(format!("{head}{step}")),
    }
}

fn other_text(before: &str, dice: &mut Dice) -> Json {
    let mut characters: Vec<char> = before.chars().collect();
    let place = dice.below(characters.len());
    match dice.below(7) {
        0 => characters.push('\0'),
        1 => characters.insert(place, ' '),
        2 if !characters.is_empty() => _ = characters.remove(place),
        3 if !characters.is_empty() => {
            characters[place] = char::from_u32(u32::from(characters[place]) ^ 1).unwrap_or('?');
        }
        4 if characters.len() > 1 => characters.swap(0, place),
        5 if before
            .parse::<u32>()
            .is_ok_and(|number| number.to_string() == before) =>
        {
            return Json::Number(before.to_owned());
        }
        6 => return Json::Array(vec![text(before)]),
        _ => characters.push('"'),
    }
    Json::Text(characters.into_iter().collect())
}

fn array(items: &mut Vec<Json>, dice: &mut Dice) -> bool {
    let first = dice.below(items.len());
    let second = dice.below(items.len());
    match dice.below(6) {
        0 => items.push(Json::Null),
        1 if !items.is_empty() => _ = items.remove(first),
        2 if !items.is_empty() => items.swap(first, second),
        3 if !items.is_empty() => items.insert(first, items[first].clone()),
        // `[[1],2]` and `[[1,2]]`.
        4 if items.len() > 1 => {
            let last = items.pop().unwrap_or(Json::Null);
            match items.last_mut() {
                Some(Json::Array(inner)) => inner.push(last),
                Some(Json::Text(text)) if matches!(&last, Json::Text(_)) => {
                    if let Json::Text(last) = last {
                        text.push_str(&last);
                    }
                }
                _ => items.push(Json::Array(vec![last])),
            }
        }
        5 => items.insert(0, Json::Object(vec![])),
        _ => return false,
    }
    true
}

fn object(members: &mut Vec<(String, Json)>, dice: &mut Dice) -> bool {
    let first = dice.below(members.len());
    let second = dice.below(members.len());
    let free = *dice.pick(NAMES);
    let is_free = members.iter().all(|(name, _)| name != free);
    match dice.below(7) {
        0 if is_free => members.push((free.to_owned(), Json::Null)),
        1 if !members.is_empty() => _ = members.remove(first),
        2 if is_free && !members.is_empty() => free.clone_into(&mut members[first].0),
        // Values that change places.
        3 if first != second => {
            let value = members[first].1.clone();
            members[first].1 = std::mem::replace(&mut members[second].1, value);
        }
        // `{"a":{"b":1}}` and `{"a":{},"b":1}`.
        4 if !members.is_empty() => {
            let Json::Object(inner) = &mut members[first].1 else {
                return false;
            };
            let Some((name, value)) = inner.pop() else {
                return false;
            };
            if members.iter().any(|(there, _)| *there == name) {
                return false;
            }
            members.push((name, value));
        }
        // `{"a":1,"b":{}}` and `{"b":{"a":1}}`.
        5 if first != second => {
            let (name, value) = members[first].clone();
            let Json::Object(inner) = &mut members[second].1 else {
                return false;
            };
            if inner.iter().any(|(there, _)| *there == name) {
                return false;
            }
            inner.push((name, value));
            members.remove(first);
        }
        // A character that goes from the key to the value.
        6 if !members.is_empty() => {
            let (name, Json::Text(value)) = members[first].clone() else {
                return false;
            };
            let mut shorter = name.clone();
            let Some(last) = shorter.pop() else {
                return false;
            };
            if members.iter().any(|(there, _)| *there == shorter) {
                return false;
            }
            members[first] = (shorter, Json::Text(format!("{last}{value}")));
        }
        _ => return false,
    }
    true
}
