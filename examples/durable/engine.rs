//! What the play needs of an engine.

use std::error::Error;
use std::path::Path;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// An engine for durable execution, and how this program finds it from its other processes.
pub(crate) trait DurableEngine: Sized + Send + 'static {
    /// The name of the engine on the command line.
    const NAME: &'static str;

    /// Fails if the engine cannot be started here.
    fn is_there(may_install: bool) -> Result<(), Failure>;

    /// Starts the engine, with its data in a folder if it has a server of its own.
    async fn start(folder: &Path) -> Result<Self, Failure>;

    /// Returns where a worker finds the engine, or the engine its worker: an argument of [`serve`](Self::serve).
    fn worker_place(&self) -> &str;

    /// Returns where a person finds the engine: an argument of [`approve`](Self::approve).
    fn person_place(&self) -> &str;

    /// Waits until a worker that was started takes messages.
    async fn worker_serves(&mut self) -> Result<(), Failure>;

    /// Sends a message to the conversation. The future returns the text of the reply, which may take days.
    fn message(
        &self,
        text: &str,
    ) -> impl Future<Output = Result<String, Failure>> + Send + use<Self>;

    /// Serves conversations until the process is killed.
    async fn serve(folder: &Path, place: &str) -> Result<(), Failure>;

    /// Approves the first call of the user that waits for a person.
    async fn approve(folder: &Path, place: &str) -> Result<(), Failure>;
}
