//! Whether a result tells the model nothing: searches that found nothing are counted. R-L2

/// Whether the JSON of a result is empty: `null`, a blank text, `[]`, `{}`, or an object with a collection among its
/// members, all of them empty, where the other members are `null`, blank, `false` or zero.
///
/// The first member that says otherwise decides, so that a result is hardly ever read to its end.
pub(crate) fn is_empty(data: &str) -> bool {
    let mut reader = Reader { rest: data };
    let empty = match reader.peek() {
        None => true,
        Some('{') => reader.object(),
        Some('[') => reader.pair('[', ']'),
        Some('"') => reader.blank(),
        Some(_) => reader.word("null"),
    };
    empty && reader.peek().is_none()
}

/// What is left to read. A method goes past what it names; where something else stands, it answers false.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Skips white space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t', '\r']);
        self.rest.chars().next()
    }

    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take(&mut self, character: char) -> bool {
        let found = self.peek() == Some(character);
        self.rest = self.rest.strip_prefix(character).unwrap_or(self.rest);
        found
    }

    /// An array or an object without anything in it.
    fn pair(&mut self, open: char, close: char) -> bool {
        self.take(open) && self.take(close)
    }

    fn object(&mut self) -> bool {
        let mut collections = 0;
        if !self.take('{') {
            return false;
        }
        if self.take('}') {
            return true;
        }
        loop {
            if !(self.peek() == Some('"') && self.key() && self.take(':')) {
                return false;
            }
            let says_nothing = match self.peek() {
                Some('[') => {
                    collections += 1;
                    self.pair('[', ']')
                }
                Some('{') => {
                    collections += 1;
                    self.pair('{', '}')
                }
                Some('"') => self.blank(),
                Some('n') => self.word("null"),
                Some('f') => self.word("false"),
                _ => self.zero(),
            };
            if !says_nothing {
                return false;
            }
            if !self.take(',') {
                return collections > 0 && self.take('}');
            }
        }
    }

    /// Whatever the string says.
    fn key(&mut self) -> bool {
        let mut bytes = self.rest.bytes().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return true;
                }
                b'\\' => drop(bytes.next()),
                _ => {}
            }
        }
        false
    }

    /// A string of white space.
    fn blank(&mut self) -> bool {
        let mut characters = self.rest.chars();
        characters.next();
        loop {
            let white = match characters.next() {
                Some('"') => {
                    self.rest = characters.as_str();
                    return true;
                }
                Some('\\') => match characters.next() {
                    Some('n' | 't' | 'r' | 'f') => true,
                    Some('u') => {
                        let unit = characters.as_str().get(..4).unwrap_or_default();
                        characters = characters.as_str().get(4..).unwrap_or_default().chars();
                        let named = u32::from_str_radix(unit, 16).ok().and_then(char::from_u32);
                        named.is_some_and(char::is_whitespace)
                    }
                    _ => false,
                },
                Some(character) => character.is_whitespace(),
                None => false,
            };
            if !white {
                return false;
            }
        }
    }

    /// A number that is zero, however it is written.
    fn zero(&mut self) -> bool {
        let end = self.rest.find([',', '}', ' ', '\n', '\t', '\r']).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        let digits = number.split(['e', 'E']).next().unwrap_or_default();
        digits.contains('0') && digits.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'))
    }
}
