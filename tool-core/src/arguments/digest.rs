//! The hash: blocks of 16 bytes taken into two lanes of 64 bits, each by one multiplication with what is secret.
//!
//! What is hashed is a row of blocks from which the value could be read back, so that different values are different
//! rows. A text is its whole blocks, and a last one that ends in a byte which no text contains. Everything else is a
//! payload under a mark, and its highest byte is another that no text contains.

use crate::json::string::special;
use crate::schema::Canonical;
use crate::schema::nullable::{Null, allows_null};
use crate::schema::numbers::exact;
use crate::schema::parameter::Parameter as Row;
use crate::schema::validator::Validator;
use serde_json::{Deserializer, Map, Number, Value, json};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Ends the last block of a text.
const END: u64 = 0xFF;
/// The highest byte of a block that is no text's.
const MARKED: u64 = 0xFE << 56;

/// What stands in a block beside the payload.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Mark {
    Null,
    True,
    False,
    Positive,
    Negative,
    PositiveWide,
    NegativeWide,
    Float,
    Digits,
    Open,
    Close,
    Object,
    Decoded,
    Opaque,
}

/// Two lanes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lanes {
    pub(crate) a: u64,
    pub(crate) b: u64,
}

impl Lanes {
    /// Hashes of entries are added up, so that their order does not matter.
    #[inline]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { a: self.a.wrapping_add(other.a), b: self.b.wrapping_add(other.b) }
    }

    #[inline]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { a: self.a.wrapping_sub(other.a), b: self.b.wrapping_sub(other.b) }
    }
}

/// What this process drew by lot.
pub(crate) struct Keys {
    /// Where the hash of an entry begins.
    pub(crate) entry: Lanes,
    /// Where the hash of the whole begins.
    whole: Lanes,
    block: [u64; 2],
    first: [u64; 2],
    second: [u64; 2],
}

/// The keys of this process.
#[inline]
pub(crate) fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(Keys::draw)
}

/// Both halves of the product, one upon the other.
#[inline]
fn folded(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    #[expect(clippy::cast_possible_truncation)]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

impl Keys {
    /// From the keys by which the standard library keeps its maps safe, which come from the operating system.
    fn draw() -> Self {
        let random = RandomState::new();
        let pair = |at: u64| [random.hash_one(at), random.hash_one(at + 1)];
        let lanes = |[a, b]: [u64; 2]| Lanes { a, b };
        Self { entry: lanes(pair(0)), whole: lanes(pair(2)), block: pair(4), first: pair(6), second: pair(8) }
    }

    #[inline]
    pub(crate) fn block(&self, lanes: Lanes, low: u64, high: u64) -> Lanes {
        let [key_a, key_b] = self.block;
        Lanes { a: folded(low ^ lanes.a, high ^ key_a), b: folded(low ^ key_b, high ^ lanes.b) }
    }

    #[inline]
    pub(crate) fn marked(&self, lanes: Lanes, payload: u64, mark: Mark) -> Lanes {
        self.block(lanes, payload, MARKED | mark as u64)
    }

    /// Two words under one mark.
    #[inline]
    pub(crate) fn marked_pair(&self, lanes: Lanes, low: u64, high: u64, mark: Mark) -> Lanes {
        self.marked(self.marked(lanes, low, mark), high, mark)
    }

    /// Takes in a block of a text up to its first quote, backslash or control character; beside the lanes where that
    /// is.
    #[expect(clippy::inline_always, reason = "it stands in the one loop that counts")]
    #[inline(always)]
    pub(crate) fn text_block(&self, lanes: Lanes, chunk: &[u8; 16]) -> (Lanes, Option<usize>) {
        let [low, high] = words(*chunk);
        let in_low = special(low);
        if in_low != 0 {
            let (low, length) = last(low, in_low);
            return (self.block(lanes, low, 0), Some(length));
        }
        let in_high = special(high);
        if in_high != 0 {
            let (high, length) = last(high, in_high);
            return (self.block(lanes, low, high), Some(8 + length));
        }
        (self.block(lanes, low, high), None)
    }

    /// Takes in a text as [`Keys::text_block`] does, whatever is in it.
    pub(crate) fn text(&self, mut lanes: Lanes, text: &str) -> Lanes {
        let (chunks, rest) = text.as_bytes().as_chunks::<16>();
        for chunk in chunks {
            let [low, high] = words(*chunk);
            lanes = self.block(lanes, low, high);
        }
        let mut last = [0; 16];
        for (place, byte) in last.iter_mut().zip(rest.iter().chain([&0xFF])) {
            *place = *byte;
        }
        let [low, high] = words(last);
        self.block(lanes, low, high)
    }

    /// Takes in a name of which nothing is sought, from both of its ends.
    #[inline]
    fn name(&self, mut lanes: Lanes, name: &str) -> Lanes {
        let bytes = name.as_bytes();
        let mut rest = bytes;
        while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
            let [low, high] = words(*chunk);
            lanes = self.block(lanes, low, high);
            rest = after;
        }
        let (low, high) = match (rest.first_chunk(), rest.last_chunk()) {
            (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
            _ => match (rest.first_chunk(), rest.last_chunk()) {
                (Some(head), Some(tail)) => (u32::from_le_bytes(*head).into(), u32::from_le_bytes(*tail).into()),
                _ => (rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
            },
        };
        self.block(self.block(lanes, low, high), bytes.len() as u64, 0)
    }

    /// The hash of an entry, such that sums of them tell nothing.
    #[inline]
    pub(crate) fn finished(&self, lanes: Lanes) -> Lanes {
        let each = |[a, b]: [u64; 2]| folded(lanes.a ^ a, lanes.b ^ b);
        Lanes { a: each(self.first), b: each(self.second) }
    }

    /// The hash of arguments with these entries.
    #[inline]
    pub(crate) fn decoded(&self, tool: &str, sum: Lanes) -> u128 {
        let lanes = self.name(self.whole, tool);
        self.number(self.marked_pair(lanes, sum.a, sum.b, Mark::Decoded))
    }

    /// The hash of a text that is not decoded.
    pub(crate) fn opaque(&self, tool: &str, text: &str) -> u128 {
        let lanes = self.marked(self.name(self.whole, tool), 0, Mark::Opaque);
        self.number(self.text(lanes, text))
    }

    #[inline]
    fn number(&self, lanes: Lanes) -> u128 {
        let Lanes { a, b } = self.finished(lanes);
        u128::from(a) << 64 | u128::from(b)
    }
}

#[inline]
fn words(chunk: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(chunk);
    #[expect(clippy::cast_possible_truncation)]
    [both as u64, (both >> 64) as u64]
}

/// The bytes before the first that is marked in its high bit, the end behind them, and how many they are.
#[inline]
fn last(word: u64, marks: u64) -> (u64, usize) {
    let one = (marks & marks.wrapping_neg()) >> 7;
    let last = word & (one - 1) | one.wrapping_mul(END);
    (last, (marks.trailing_zeros() / 8) as usize)
}

// ---- Numbers that are more than a few digits, by the value that a decoder holds of them.

/// What a number's text comes to: one form for each number, as in the canonical text.
enum Form<'a> {
    Whole(i128),
    Float(f64),
    /// Of a whole number that no type here holds.
    Digits(&'a str),
}

/// Takes in the number that a text spells.
pub(crate) fn hash(keys: &Keys, lanes: Lanes, text: &str) -> Lanes {
    match form(text) {
        Form::Whole(value) => whole(keys, lanes, value),
        Form::Float(value) => keys.marked(lanes, value.to_bits(), Mark::Float),
        Form::Digits(digits) => keys.text(keys.marked(lanes, 0, Mark::Digits), digits),
    }
}

fn form(text: &str) -> Form<'_> {
    let plain = !text.contains(['.', 'e', 'E']);
    // A whole float counts as an integer only above the least of the type.
    if let Some(value) = text.parse().ok().filter(|value| plain && *value != i128::MIN) {
        return Form::Whole(value);
    }
    let float: f64 = text.parse().unwrap_or(f64::NAN);
    if plain && format!("{float:.0}") != text {
        return Form::Digits(text);
    }
    match Number::from_f64(float).as_ref().and_then(exact) {
        Some(value) => Form::Whole(value),
        None => Form::Float(float),
    }
}

fn whole(keys: &Keys, lanes: Lanes, value: i128) -> Lanes {
    let size = value.unsigned_abs();
    let [short, wide] =
        if value < 0 { [Mark::Negative, Mark::NegativeWide] } else { [Mark::Positive, Mark::PositiveWide] };
    match u64::try_from(size) {
        Ok(size) => keys.marked(lanes, size, short),
        #[expect(clippy::cast_possible_truncation)]
        Err(_) => keys.marked_pair(lanes, size as u64, (size >> 64) as u64, wide),
    }
}

// ---- One pass over a text that was decoded before, and so is known to be JSON without a key that repeats.
//
// Of any other text it makes nothing, or something; it always ends. One function does nearly all, because what is
// read next fits into registers there, and a call would cost as much as a short string does.

/// Objects lie less deep in one another in any text that is decoded.
const DEPTH: u8 = 200;

/// A key that was read.
struct Key<'t> {
    /// What its entry begins with.
    lanes: Lanes,
    /// Which parameter it is, if it is one.
    parameter: Option<(usize, &'t Slot)>,
    /// The place behind it.
    end: usize,
}

pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    keys: &'a Keys,
    table: &'a Table,
}

impl<'a> Scanner<'a> {
    #[inline]
    pub(crate) fn new(text: &'a str, keys: &'a Keys, table: &'a Table) -> Self {
        Self { text: text.as_bytes(), keys, table }
    }

    /// The sum of the hashes of the entries, those of the defaults among them.
    #[inline]
    pub(crate) fn arguments(&self) -> Option<Lanes> {
        let (byte, at) = self.peek(0);
        if byte != b'{' {
            return None;
        }
        let (sum, at) = self.object(at + 1, self.table, DEPTH)?;
        let (_, at) = self.peek(at);
        (at >= self.text.len()).then_some(sum)
    }

    /// The sum of the hashes of the entries of an object that was entered, and the place behind it.
    fn object(&self, at: usize, table: &Table, depth: u8) -> Option<(Lanes, usize)> {
        let keys = self.keys;
        let mut sum = table.defaults();
        let mut guess = 0;
        let (mut byte, mut at) = self.peek(at);
        while byte == b'"' {
            let key = self.key(table, guess, at)?;
            let mut lanes = key.lanes;
            (byte, at) = self.peek(key.end);
            if byte != b':' {
                return None;
            }
            (byte, at) = self.peek(at + 1);
            let mut absent = false;
            if let Some((index, slot)) = key.parameter {
                guess = index + 1;
                absent = slot.null_is_absent && byte == b'n';
                sum = if absent { sum } else { sum.minus(slot.default) };
            }
            (lanes, at) = self.value(lanes, byte, at, depth)?;
            sum = if absent { sum } else { sum.plus(keys.finished(lanes)) };
            (byte, at) = self.peek(at);
            if byte == b',' {
                (byte, at) = self.peek(at + 1);
            }
        }
        (byte == b'}').then_some((sum, at + 1))
    }

    /// The key in a place.
    #[inline]
    fn key<'t>(&self, table: &'t Table, guess: usize, at: usize) -> Option<Key<'t>> {
        if let (Some(slot), Some(chunk)) = (table.get(guess), self.text.get(at + 1..).and_then(<[u8]>::first_chunk))
            && slot.spelling.begins(chunk)
        {
            let end = at + 1 + slot.spelling.length;
            return Some(Key { lanes: slot.parameter, parameter: Some((guess, slot)), end });
        }
        let (lanes, end) = self.key_of_any_spelling(at)?;
        let parameter = table.find(lanes);
        Some(Key { lanes: parameter.map_or(lanes, |(_, slot)| slot.parameter), parameter, end })
    }

    #[inline(never)]
    fn key_of_any_spelling(&self, at: usize) -> Option<(Lanes, usize)> {
        self.string(self.keys.entry, at)
    }

    /// Takes in the value that begins with a byte in a place. An array is taken in item by item, without its commas.
    #[inline]
    fn value(&self, mut lanes: Lanes, mut byte: u8, mut at: usize, depth: u8) -> Option<(Lanes, usize)> {
        let mut inside = 0_usize;
        loop {
            (lanes, at) = match byte {
                b'"' => self.string(lanes, at)?,
                b'-' | b'0'..=b'9' => self.number(lanes, at),
                b'[' => {
                    inside += 1;
                    (self.keys.marked(lanes, 0, Mark::Open), at + 1)
                }
                b']' => {
                    inside = inside.checked_sub(1)?;
                    (self.keys.marked(lanes, 0, Mark::Close), at + 1)
                }
                b'{' => {
                    let (sum, at) = self.object(at + 1, Table::NONE, depth.checked_sub(1)?)?;
                    (self.keys.marked_pair(lanes, sum.a, sum.b, Mark::Object), at)
                }
                b't' => (self.keys.marked(lanes, 0, Mark::True), at + 4),
                b'f' => (self.keys.marked(lanes, 0, Mark::False), at + 5),
                b'n' => (self.keys.marked(lanes, 0, Mark::Null), at + 4),
                _ => return None,
            };
            if inside == 0 {
                return Some((lanes, at));
            }
            (byte, at) = self.peek(at);
            if byte == b',' {
                (byte, at) = self.peek(at + 1);
            }
        }
    }

    /// The string whose opening quote is in a place.
    #[expect(clippy::inline_always, reason = "a call costs as much as a short string")]
    #[inline(always)]
    fn string(&self, before: Lanes, start: usize) -> Option<(Lanes, usize)> {
        let mut lanes = before;
        let mut rest = self.text.get(start + 1..)?;
        while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
            let (with, stop) = self.keys.text_block(lanes, chunk);
            lanes = with;
            if let Some(length) = stop {
                return self.closed(lanes, self.text.len() - rest.len() + length, before, start);
            }
            rest = after;
        }
        let (lanes, length) = self.keys.text_block(lanes, &self.pad(rest));
        self.closed(lanes, self.text.len() - rest.len() + length?, before, start)
    }

    /// A string whose end is in a place, unless that is something else there.
    #[inline]
    fn closed(&self, lanes: Lanes, end: usize, before: Lanes, start: usize) -> Option<(Lanes, usize)> {
        if self.text.get(end) == Some(&b'"') { Some((lanes, end + 1)) } else { self.escaped(before, start) }
    }

    /// What is left of the text, and quotes behind it.
    #[inline]
    fn pad(&self, rest: &[u8]) -> [u8; 16] {
        const QUOTES: u128 = u128::from_le_bytes([b'"'; 16]);
        let Some(last) = self.text.last_chunk::<16>().filter(|_| !rest.is_empty()) else { return pad_short(rest) };
        let gone = 8 * (16 - rest.len());
        (u128::from_le_bytes(*last) >> gone | QUOTES << (128 - gone)).to_le_bytes()
    }

    /// A string with an escape, decoded first. Those of a text that is not JSON have no end, or are none.
    #[cold]
    fn escaped(&self, before: Lanes, start: usize) -> Option<(Lanes, usize)> {
        let mut strings = Deserializer::from_slice(self.text.get(start..)?).into_iter::<String>();
        let string = strings.next()?.ok()?;
        Some((self.keys.text(before, &string), start + strings.byte_offset()))
    }

    /// The number that begins in a place.
    #[inline]
    fn number(&self, lanes: Lanes, start: usize) -> (Lanes, usize) {
        let negative = self.byte(start) == b'-';
        let first = start + usize::from(negative);
        let (mut at, mut value) = (first, 0_u64);
        let after = loop {
            let byte = self.byte(at);
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break byte;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        };
        // So many digits cannot overflow.
        if matches!(after, b'.' | b'e' | b'E') || at - first > 19 {
            return self.other_number(lanes, start);
        }
        let mark = if negative && value != 0 { Mark::Negative } else { Mark::Positive };
        (self.keys.marked(lanes, value, mark), at)
    }

    #[inline(never)]
    fn other_number(&self, lanes: Lanes, start: usize) -> (Lanes, usize) {
        let rest = self.text.get(start..).unwrap_or_default();
        let ends = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let token = rest.iter().position(ends).and_then(|end| rest.get(..end)).unwrap_or(rest);
        let text = str::from_utf8(token).unwrap_or_default();
        (hash(self.keys, lanes, text), start + token.len())
    }

    /// The byte in a place, or 0 at the end of the text.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The next byte that is no white space, and its place; 0 at the end of the text.
    #[inline]
    fn peek(&self, at: usize) -> (u8, usize) {
        let byte = self.byte(at);
        if byte > b' ' { (byte, at) } else { self.peek_after_space(at) }
    }

    #[cold]
    fn peek_after_space(&self, mut at: usize) -> (u8, usize) {
        while matches!(self.byte(at), b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
        }
        (self.byte(at), at)
    }
}

#[cold]
fn pad_short(rest: &[u8]) -> [u8; 16] {
    let mut chunk = [b'"'; 16];
    for (place, byte) in chunk.iter_mut().zip(rest) {
        *place = *byte;
    }
    chunk
}

// ---- The parameters of a tool, hashed once.

/// What the scanner looks up.
#[derive(Default)]
pub(crate) struct Table {
    /// By name and by alias, the names first and in the order of the signature, in which models send them.
    slots: Vec<Slot>,
    /// The sum of the entries of all defaults.
    defaults: Lanes,
}

/// One name.
pub(crate) struct Slot {
    pub(crate) spelling: Spelling,
    /// The hash of the name.
    name: Lanes,
    /// The hash of the name of the parameter that it names.
    pub(crate) parameter: Lanes,
    /// The entry of the default; zero if there is none.
    pub(crate) default: Lanes,
    pub(crate) null_is_absent: bool,
}

impl Table {
    /// Of objects inside the arguments: their keys are what they are.
    pub(crate) const NONE: &'static Self = &Self { slots: Vec::new(), defaults: Lanes { a: 0, b: 0 } };

    pub(crate) fn new(parameters: &[Parameter]) -> Self {
        let keys = keys();
        let mut table = Self::default();
        let mut aliases = Vec::new();
        for parameter in parameters {
            let name = keys.text(keys.entry, &parameter.name);
            let default = parameter.default.as_ref().and_then(|default| entry(keys, &parameter.name, default));
            let default = default.unwrap_or_default();
            table.defaults = table.defaults.plus(default);
            let slot = |text: &str| Slot {
                spelling: Spelling::of(text),
                name: keys.text(keys.entry, text),
                parameter: name,
                default,
                null_is_absent: parameter.null_is_absent,
            };
            aliases.extend(parameter.aliases.iter().copied().map(slot));
            table.slots.push(slot(&parameter.name));
        }
        table.slots.append(&mut aliases);
        table
    }

    #[inline]
    pub(crate) fn defaults(&self) -> Lanes {
        self.defaults
    }

    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Slot> {
        self.slots.get(place)
    }

    /// The parameter of a name.
    pub(crate) fn find(&self, name: Lanes) -> Option<(usize, &Slot)> {
        self.slots.iter().enumerate().find(|(_, slot)| slot.name == name)
    }
}

/// An object with one entry is the sum of it.
fn entry(keys: &Keys, name: &str, default: &Value) -> Option<Lanes> {
    let alone = Value::Object(Map::from_iter([(name.to_owned(), default.clone())])).to_string();
    Scanner::new(&alone, keys, Table::NONE).arguments()
}

/// A name and its closing quote as they stand in a text without escapes, to be recognised without hashing.
pub(crate) struct Spelling {
    words: [u64; 3],
    masks: [u64; 3],
    pub(crate) length: usize,
}

impl Spelling {
    /// Of a name that is too long or needs escapes: what begins no key.
    const NONE: Self = Self { words: [u64::MAX; 3], masks: [0; 3], length: 0 };

    fn of(name: &str) -> Self {
        let quoted = Value::from(name).to_string();
        let bytes = quoted.as_bytes().get(1..).unwrap_or_default();
        if bytes.len() > 24 || quoted.contains('\\') {
            return Self::NONE;
        }
        let (mut chunk, mut mask) = ([0; 24], [0; 24]);
        for ((place, mask), byte) in chunk.iter_mut().zip(&mut mask).zip(bytes) {
            (*place, *mask) = (*byte, 0xFF);
        }
        Self { words: spelling_words(&chunk), masks: spelling_words(&mask), length: bytes.len() }
    }

    /// Whether a text begins with it, whose first bytes these are.
    #[inline]
    pub(crate) fn begins(&self, chunk: &[u8; 24]) -> bool {
        let ([a, b, c], [mask_a, mask_b, mask_c]) = (spelling_words(chunk), self.masks);
        self.words == [a & mask_a, b & mask_b, c & mask_c]
    }
}

#[inline]
fn spelling_words(chunk: &[u8; 24]) -> [u64; 3] {
    let mut words = chunk.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

// ---- What calls are made equal by: the names of a tool's parameters and what their absence means.

/// The parameters of a tool, and the defaults that a flattened type adds.
pub(crate) struct Parameters {
    pub(crate) all: Vec<Parameter>,
    pub(crate) table: Table,
}

/// One of them.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) null_is_absent: bool,
    /// What its absence means, where that is a value.
    pub(crate) default: Option<Value>,
}

impl Parameters {
    /// Those of a signature.
    pub(crate) fn declared(rows: &[Row], schema: &Canonical) -> Self {
        let all = declared(rows, schema);
        Self { table: Table::new(&all), all }
    }

    /// Those of a schema that was given at run time.
    pub(crate) fn published(schema: &Value) -> Self {
        let all = published(schema);
        Self { table: Table::new(&all), all }
    }
}

/// Those of a signature. Instance and computed defaults stand in the schema as well as literal ones.
fn declared(rows: &[Row], schema: &Canonical) -> Vec<Parameter> {
    let named = rows.iter().enumerate().filter(|(_, row)| !row.flatten);
    let parameter = |(index, row): (usize, &Row)| {
        let null_is_absent = schema.nulls.get(index) == Some(&Null::Absent);
        let default = schema.value.get("properties").and_then(|all| all.get(row.name)?.get("default"));
        Parameter {
            name: row.name.to_owned(),
            aliases: row.aliases,
            null_is_absent,
            // A default that would count as absent again is none.
            default: default.filter(|default| !(null_is_absent && default.is_null())).cloned(),
        }
    };
    let mut all = named.map(parameter).collect::<Vec<_>>();
    if rows.iter().any(|row| row.flatten) {
        // What a flattened type adds is known by the schema only.
        let more = published(&schema.value);
        let more = more.into_iter().filter(|one| one.default.as_ref().is_some_and(|default| !default.is_null()));
        let more = more.filter(|one| rows.iter().all(|row| row.flatten || row.name != one.name));
        all.extend(more.collect::<Vec<_>>());
    }
    all
}

/// Those of a schema that was given at run time, which may hold a default that it would not accept.
fn published(schema: &Value) -> Vec<Parameter> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let parameter = |(name, property): (&String, &Value)| {
        let default = property.get("default").filter(|default| accepts(schema, property, default))?;
        let default = Some(default.clone());
        Some(Parameter { name: name.clone(), aliases: &[], null_is_absent: false, default })
    };
    properties.filter_map(parameter).collect()
}

fn accepts(root: &Value, property: &Value, default: &Value) -> bool {
    if default.is_null() && !allows_null(property, root) {
        return false;
    }
    let mut alone = Map::new();
    for keyword in ["$schema", "$defs", "definitions"] {
        if let Some(there) = root.get(keyword) {
            alone.insert(keyword.to_owned(), there.clone());
        }
    }
    alone.insert("allOf".to_owned(), json!([property]));
    Validator::new(Value::Object(alone)).is_valid(default)
}
