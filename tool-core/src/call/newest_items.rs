//! A queue of bounded size, which drops its oldest items.

use std::collections::VecDeque;

/// The newest items, up to a number of items and of bytes. The newest item is kept whatever its
/// size.
pub(crate) struct NewestItems<T> {
    items: VecDeque<T>,
    /// The size of all items.
    bytes: usize,
    limits: QueueLimits,
    /// Returns the size of an item.
    size: fn(&T) -> usize,
}

pub(crate) struct QueueLimits {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

impl<T> NewestItems<T> {
    pub(crate) fn new(limits: QueueLimits, size: fn(&T) -> usize) -> Self {
        Self {
            items: VecDeque::new(),
            bytes: 0,
            limits,
            size,
        }
    }

    pub(crate) fn push(&mut self, item: T) {
        self.bytes += (self.size)(&item);
        self.items.push_back(item);
        while self.items.len() > self.limits.items
            || (self.bytes > self.limits.bytes && self.items.len() > 1)
        {
            let Some(oldest) = self.items.pop_front() else {
                return;
            };
            self.bytes -= (self.size)(&oldest);
        }
    }

    /// Removes and returns all items, oldest first.
    pub(crate) fn take(&mut self) -> Vec<T> {
        self.bytes = 0;
        std::mem::take(&mut self.items).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(texts: &[&'static str]) -> Vec<&'static str> {
        let mut queue =
            NewestItems::new(QueueLimits { items: 3, bytes: 6 }, |text: &&str| text.len());
        for text in texts {
            queue.push(text);
        }
        queue.take()
    }

    #[test]
    fn keeps_the_newest_items_of_either_limit() {
        assert_eq!(kept(&["a", "b", "c", "d"]), ["b", "c", "d"]);
        assert_eq!(kept(&["aaa", "bbb", "c"]), ["bbb", "c"]);
    }

    #[test]
    fn keeps_one_item_of_any_size() {
        assert_eq!(
            kept(&["a", "more than six", ""]),
            ["more than six", ""][1..]
        );
        assert_eq!(kept(&["a", "more than six"]), ["more than six"]);
    }
}
