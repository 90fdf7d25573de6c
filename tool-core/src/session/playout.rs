//! The state of the playout: true while the user is hearing something.

use std::sync::OnceLock;
use tokio::sync::watch;

/// Tells whether the user is hearing something. Created when a transport first plays audio.
#[derive(Default)]
pub(crate) struct Playout(OnceLock<watch::Sender<bool>>);

impl Playout {
    /// Sets whether something is playing.
    pub(crate) fn set(&self, playing: bool) {
        self.0
            .get_or_init(|| watch::Sender::new(false))
            .send_replace(playing);
    }

    pub(crate) fn is_playing(&self) -> bool {
        self.0.get().is_some_and(|playing| *playing.borrow())
    }

    /// Waits until nothing is playing.
    pub(crate) async fn finished(&self) {
        if let Some(playing) = self.0.get() {
            // The sender lives as long as the session.
            let _ = playing.subscribe().wait_for(|playing| !playing).await;
        }
    }
}
