//! The recorded answers.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use tool_adapters::Provider;

/// A recorded answer of a model: the bytes of its body.
pub(crate) struct Recording {
    pub(crate) provider: Provider,
    pub(crate) name: String,
    pub(crate) body: Vec<u8>,
}

impl Recording {
    /// Returns the recordings of the project, and those of the folder that `STREAMS` names. The name of a file begins with
    /// its provider: `openai-chat--weather.body`.
    pub(crate) fn all() -> Vec<Self> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/recorded");
        let folders = [Some(own), env::var_os("STREAMS").map(PathBuf::from)];
        let mut recordings = Vec::new();
        for folder in folders.into_iter().flatten() {
            let entries = fs::read_dir(&folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let mut paths = entries
                .map(|entry| entry.expect("an entry").path())
                .collect::<Vec<_>>();
            paths.sort();
            recordings.extend(paths.iter().map(|path| Self::read(path)));
        }
        recordings
    }

    fn read(path: &Path) -> Self {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let (provider, _) = name
            .split_once("--")
            .unwrap_or_else(|| panic!("{name}: expected PROVIDER--NAME.body"));
        let provider = provider
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let body = fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self {
            provider,
            name,
            body,
        }
    }
}

/// Returns true if every event of every recording is to be damaged, and false for a sample.
pub(crate) fn every_event() -> bool {
    env::var_os("STREAMS_EVERY_EVENT").is_some()
}
