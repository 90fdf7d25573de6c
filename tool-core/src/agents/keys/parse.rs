//! Keys as text.

use super::{Key, KeyError, Keyring};
use crate::agents::seal::{self, KEY};
use secrecy::{ExposeSecret, SecretBox};
use zeroize::Zeroizing;

impl Keyring {
    /// The keys in a text, or all that is wrong with it. No error shows any of the text but the ids.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (mut keys, mut problems) = (Vec::<Key>::new(), Vec::new());
        let entries = text.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split(','));
        for (number, entry) in (1..).zip(entries.map(str::trim).filter(|entry| !entry.is_empty())) {
            match key(entry) {
                Ok(key) if keys.iter().any(|known| known.id == key.id) => {
                    problems.push(format!("key {number}: the id `{}` is used twice", key.id));
                }
                Ok(key) => {
                    let same = |known: &&Key| known.bytes.expose_secret() == key.bytes.expose_secret();
                    if let Some(known) = keys.iter().find(same) {
                        problems.push(format!("key {number}: `{}` is the same key as `{}`", key.id, known.id));
                    }
                    keys.push(key);
                }
                Err(why) => problems.push(format!("key {number}: {why}")),
            }
        }
        match (keys.is_empty(), problems.is_empty()) {
            (_, false) => Err(KeyError::Malformed(problems)),
            (true, true) => Err(KeyError::Malformed(vec!["there is no key in it".into()])),
            (false, true) => Ok(Self(keys.into())),
        }
    }

    /// A new key as a line of text. Keep it like a password: whoever has it opens all secrets.
    pub fn generate(id: &str) -> Result<Zeroizing<String>, KeyError> {
        check_id(id).map_err(|why| KeyError::Malformed(vec![why]))?;
        let bytes = seal::random::<KEY>()?;
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        // Long enough from the beginning: a text that grows leaves its beginnings behind.
        let mut line = Zeroizing::new(String::with_capacity(id.len() + 1 + 2 * KEY));
        line.push_str(id);
        line.push(':');
        line.extend(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)));
        Ok(line)
    }
}

fn key(entry: &str) -> Result<Key, String> {
    let (id, digits) = entry.split_once(':').ok_or("it is not of the form `id:64 hex digits`")?;
    let (id, digits) = (id.trim(), digits.trim());
    check_id(id)?;
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != KEY || !rest.is_empty() {
        return Err(format!(
            "`{id}` has {} characters after the colon; a key has 64 hex digits",
            digits.chars().count()
        ));
    }
    let mut sound = true;
    // On the heap from the beginning: a key that moves leaves itself behind.
    let bytes = SecretBox::<[u8; KEY]>::init_with_mut(|bytes| {
        for ([high, low], byte) in pairs.iter().zip(bytes) {
            match digit(*high).zip(digit(*low)) {
                Some((high, low)) => *byte = high << 4 | low,
                None => sound = false,
            }
        }
    });
    if !sound {
        return Err(format!("`{id}` is not 64 hex digits"));
    }
    if bytes.expose_secret().iter().all(|byte| *byte == 0) {
        return Err(format!("`{id}` is all zeros, which is no key; `Keyring::generate` makes one"));
    }
    Ok(Key { id: id.to_owned(), check: seal::check(bytes.expose_secret(), id), bytes })
}

fn digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn check_id(id: &str) -> Result<(), String> {
    let known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    // What does not look like an id may be the key itself, so it is not shown.
    if !(1..=64).contains(&id.len()) || !id.chars().all(known) {
        return Err("its id is not 1 to 64 of `A-Z a-z 0-9 - _ .`".into());
    }
    if id.len() == 2 * KEY && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("its id looks like a key; the id stands before the colon".into());
    }
    Ok(())
}
