//! A bounded queue of messages for one task. It takes no memory before its first message, and most
//! calls have none.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// The messages that wait for a task.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    messages: VecDeque<T>,
    /// The task that waits for the next message.
    waiting: Option<Waker>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self {
            messages: VecDeque::new(),
            waiting: None,
        }
    }
}

impl<T> Mailbox<T> {
    /// Adds a message. Returns false if as many wait as may.
    pub(crate) fn push(&mut self, message: T, capacity: usize) -> bool {
        let has_room = self.messages.len() < capacity;
        if has_room {
            self.messages.push_back(message);
            self.waiting.take().into_iter().for_each(Waker::wake);
        }
        has_room
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        self.messages.pop_front()
    }

    /// Returns the number of messages that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.messages.len()
    }

    /// Waits until there is a message.
    pub(crate) fn poll_arrived(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.messages.is_empty() {
            return Poll::Ready(());
        }
        if !self
            .waiting
            .as_ref()
            .is_some_and(|waiting| waiting.will_wake(cx.waker()))
        {
            self.waiting = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Waits for the next message.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        if let Some(message) = self.pop() {
            return Poll::Ready(message);
        }
        _ = self.poll_arrived(cx);
        Poll::Pending
    }
}
