//! JSON pointers (RFC 6901), as answers and logs show them.

use crate::text::prefix;

/// The maximum length of a displayed pointer in bytes. Its keys come from a model.
const MAX_BYTES: usize = 256;

/// Returns `/` and the key as a reference token of a JSON pointer.
pub(crate) fn pointer_token(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Cuts a displayed pointer, with a mark at its end.
pub(crate) fn cut_pointer(pointer: &str) -> String {
    const MARK: &str = "...";
    if pointer.len() <= MAX_BYTES {
        return pointer.to_owned();
    }
    format!("{}{MARK}", prefix(pointer, MAX_BYTES - MARK.len()))
}

/// The way to a value inside another one. Each step borrows the step before, so that a walk builds
/// no text until a problem is found.
#[derive(Clone, Copy)]
pub(crate) struct Path<'p> {
    before: Option<&'p Path<'p>>,
    step: Step<'p>,
    length: usize,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The whole value.
    pub(crate) const ROOT: Path<'static> = Path {
        before: None,
        step: Step::Index(0),
        length: 0,
    };

    /// Returns the path of a member.
    pub(crate) fn key(&'p self, key: &'p str) -> Self {
        Self {
            before: Some(self),
            step: Step::Key(key),
            length: self.length + 1,
        }
    }

    /// Returns the path of an item.
    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self {
            before: Some(self),
            step: Step::Index(index),
            length: self.length + 1,
        }
    }

    /// Returns the number of steps.
    pub(crate) fn depth(&self) -> usize {
        self.length
    }

    /// Returns the pointer, cut for display. It is empty for the whole value.
    pub(crate) fn pointer(&self) -> String {
        let mut steps = Vec::with_capacity(self.length);
        let mut at = self;
        while let Some(before) = at.before {
            steps.push(at.step);
            at = before;
        }
        let mut text = String::new();
        for step in steps.into_iter().rev() {
            if text.len() > MAX_BYTES {
                break;
            }
            text += &match step {
                // A longer key is cut in any case.
                Step::Key(key) => pointer_token(prefix(key, 2 * MAX_BYTES)),
                Step::Index(index) => pointer_token(&index.to_string()),
            };
        }
        cut_pointer(&text)
    }
}
