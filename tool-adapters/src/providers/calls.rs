//! Calls that come in pieces.

use crate::providers::codec::Out;
use crate::providers::event::{Event, ProtocolError};
use crate::providers::framing::MOST;
use crate::providers::ids::Wire;
use serde::de::IgnoredAny;
use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use tool_core::ToolCall;

/// So many are looked through one by one.
const FEW: usize = 8;

/// The calls of a message, by what the provider tells their pieces apart by. Those that are not told one by one are
/// told in the order in which they began.
///
/// A call is started, which gives it its id, when its name is known and its first arguments are there: before that, a
/// name may still come in pieces, and the provider's id may come late.
#[derive(Debug)]
pub(crate) struct Calls<K> {
    all: Vec<Call<K>>,
    /// The latest call of each key, once there are more than a [`FEW`].
    latest: HashMap<K, usize>,
    /// All before it are told.
    told: usize,
}

/// A call, as far as it has come.
#[derive(Debug)]
pub(crate) struct Call<K> {
    key: K,
    /// The provider's id and the name; either is empty where it has not come.
    pub(crate) wire: Wire,
    /// The arguments so far; empty again when it is told.
    pub(crate) arguments: String,
    /// Whether it is told: it takes nothing more.
    pub(crate) told: bool,
    /// Ours, once it is started.
    id: Option<String>,
    too_large: bool,
}

impl<K> Default for Calls<K> {
    fn default() -> Self {
        Self { all: Vec::new(), latest: HashMap::new(), told: 0 }
    }
}

impl<K: Clone + Eq + Hash + Display> Calls<K> {
    /// A call begins. One of the same key that is open stays open, and gets no more pieces.
    pub(crate) fn begin(&mut self, key: K, wire: Wire) {
        match self.all.len() {
            0..FEW => {}
            FEW => self
                .latest
                .extend((0..).zip(&self.all).map(|(at, call)| (call.key.clone(), at)).chain([(key.clone(), FEW)])),
            at => _ = self.latest.insert(key.clone(), at),
        }
        let arguments = String::new();
        self.all.push(Call { key, wire, arguments, told: false, id: None, too_large: false });
    }

    /// The latest call of a key.
    pub(crate) fn latest(&self, key: &K) -> Option<&Call<K>> {
        self.all.get(self.place(key)?)
    }

    /// Says the id, the name or more of the name of a call that began without. What is known already stays.
    pub(crate) fn identify(&mut self, key: &K, id: &str, name: &str) {
        let Some(call) = self.find(key).filter(|call| call.id.is_none()) else { return };
        if call.wire.id.is_empty() {
            id.clone_into(&mut call.wire.id);
        }
        if call.wire.name != name && call.arguments.is_empty() || call.wire.name.is_empty() {
            call.wire.name.push_str(name);
        }
    }

    /// A piece of the arguments. One that nothing has begun begins a call, whose name has to come.
    pub(crate) fn append(&mut self, key: &K, piece: &str, out: &mut Out<'_>) {
        if piece.is_empty() {
            return;
        }
        if self.place(key).is_none() {
            self.begin(key.clone(), Wire::default());
        }
        if let Some(call) = self.find(key).filter(|call| !call.told) {
            call.append(piece, out);
        }
    }

    /// The arguments as they are in the end: where the pieces say something else, they do not count. What is left out is
    /// what the pieces said.
    pub(crate) fn set(&mut self, key: &K, arguments: &str, out: &mut Out<'_>) {
        let new = |call: &&mut Call<K>| !call.told && !arguments.is_empty() && call.arguments != arguments;
        let Some(call) = self.find(key).filter(new) else { return };
        match arguments.strip_prefix(&*call.arguments) {
            Some(rest) => call.append(rest, out),
            None => arguments.clone_into(&mut call.arguments),
        }
    }

    /// The call is whole: it is told.
    pub(crate) fn whole(&mut self, key: &K, out: &mut Out<'_>) {
        if let Some(call) = self.find(key) {
            call.tell(out);
        }
    }

    /// All that are open are whole.
    pub(crate) fn all_whole(&mut self, out: &mut Out<'_>) {
        for call in self.all.iter_mut().skip(self.told) {
            call.tell(out);
        }
        self.told = self.all.len();
    }

    /// The message was cut off. What is whole by its own text is told; the rest too, each after the error that says so.
    pub(crate) fn cut(&mut self, out: &mut Out<'_>) {
        for call in self.all.iter_mut().skip(self.told) {
            call.cut(out);
        }
        self.told = self.all.len();
    }

    /// The same for one call.
    pub(crate) fn cut_one(&mut self, key: &K, out: &mut Out<'_>) {
        if let Some(call) = self.find(key) {
            call.cut(out);
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn find(&mut self, key: &K) -> Option<&mut Call<K>> {
        let at = self.place(key)?;
        self.all.get_mut(at)
    }

    fn place(&self, key: &K) -> Option<usize> {
        match self.all.len() {
            0..=FEW => self.all.iter().rposition(|call| call.key == *key),
            _ => self.latest.get(key).copied(),
        }
    }
}

impl<K: Display> Call<K> {
    fn append(&mut self, piece: &str, out: &mut Out<'_>) {
        if self.too_large {
            return;
        }
        if self.arguments.len() + piece.len() > MOST {
            self.too_large = true;
            return out.error(ProtocolError::TooLarge { most: MOST });
        }
        if self.wire.name.is_empty() {
            return self.arguments.push_str(piece);
        }
        // What came before the name is told with it.
        self.start(out);
        self.arguments.push_str(piece);
        self.delta(piece.to_owned(), out);
    }

    /// Starts it, unless it is; `false` where it is nothing that can be answered.
    fn start(&mut self, out: &mut Out<'_>) -> bool {
        if self.id.is_some() {
            return true;
        }
        if self.wire.id.is_empty() && self.wire.name.is_empty() {
            return false;
        }
        let id = out.assign(self.wire.clone());
        out.push(Event::CallStarted { id: id.clone(), name: self.wire.name.clone() });
        self.id = Some(id);
        if !self.arguments.is_empty() {
            self.delta(self.arguments.clone(), out);
        }
        true
    }

    fn delta(&self, delta: String, out: &mut Out<'_>) {
        let id = self.id.clone().unwrap_or_default();
        out.push(Event::Arguments { id, delta });
    }

    fn cut(&mut self, out: &mut Out<'_>) {
        if !self.told && !is_object(&self.arguments) && self.start(out) {
            out.error(ProtocolError::Truncated { call_id: self.id.clone() });
            // No text at all would be taken for `{}`, and would run.
            if self.arguments.trim_ascii().is_empty() {
                "{".clone_into(&mut self.arguments);
            }
        }
        self.tell(out);
    }

    fn tell(&mut self, out: &mut Out<'_>) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        if !self.start(out) {
            return out.error(ProtocolError::Orphan { key: self.key.to_string() });
        }
        let id = self.id.as_deref().unwrap_or_default();
        out.push(Event::Call(ToolCall::new(id, &*self.wire.name, std::mem::take(&mut self.arguments))));
    }
}

/// Whether a text is one whole JSON object. One that is still growing is mostly known by its last character, so that it
/// is not read from its beginning with each piece.
pub(crate) fn is_object(text: &str) -> bool {
    let trimmed = text.trim_ascii();
    trimmed.starts_with('{') && trimmed.ends_with('}') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
