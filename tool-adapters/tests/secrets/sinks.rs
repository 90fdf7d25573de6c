//! The sinks, and the texts that must not be in them.

use base64::Engine;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

/// The secret texts, and their descriptions.
pub(crate) struct Canaries(Vec<(&'static str, Vec<Vec<u8>>)>);

impl Canaries {
    /// Each as it is, in hex, in base64, and as JSON and URLs escape it.
    pub(crate) fn new(secrets: &[(&'static str, &[u8])]) -> Self {
        let forms = |secret: &[u8]| {
            let base64 = [
                base64::engine::general_purpose::STANDARD_NO_PAD,
                base64::engine::general_purpose::URL_SAFE_NO_PAD,
            ];
            let mut forms = vec![
                secret.to_vec(),
                hex(secret).into_bytes(),
                hex(secret).to_uppercase().into_bytes(),
            ];
            forms.extend(base64.map(|base64| base64.encode(secret).into_bytes()));
            forms.extend(
                String::from_utf8(secret.to_vec())
                    .ok()
                    .map(|text| format!("{text:?}").trim_matches('"').into()),
            );
            forms
        };
        Self(
            secrets
                .iter()
                .map(|(name, secret)| (*name, forms(secret)))
                .collect(),
        )
    }

    /// Returns those that are in the text.
    pub(crate) fn found(&self, bytes: &[u8]) -> Vec<&'static str> {
        let contains = |form: &Vec<u8>| bytes.windows(form.len()).any(|window| window == form);
        self.0
            .iter()
            .filter(|(_, forms)| forms.iter().any(contains))
            .map(|(name, _)| *name)
            .collect()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    tool_core::text::hex(bytes)
}

/// The content of the sinks.
#[derive(Default)]
pub(crate) struct Sinks(BTreeMap<String, Vec<u8>>);

impl Sinks {
    pub(crate) fn add(&mut self, sink: &str, content: impl AsRef<[u8]>) {
        self.0
            .entry(sink.to_owned())
            .or_default()
            .extend_from_slice(content.as_ref());
    }

    /// `Debug`, as it is and over several lines.
    pub(crate) fn debug(&mut self, sink: &str, value: &dyn std::fmt::Debug) {
        self.add(
            &format!("Debug of {sink}"),
            format!("{value:?}\n{value:#?}\n"),
        );
    }

    /// An error: `Debug`, `Display` and what it comes from.
    pub(crate) fn error(&mut self, sink: &str, error: &(dyn std::error::Error + 'static)) {
        self.add(
            &format!("Debug of {sink}"),
            format!("{error:?}\n{error:#?}\n"),
        );
        self.add(
            &format!("Display of {sink}"),
            format!("{error}\n{error:#}\n"),
        );
        if let Some(source) = error.source() {
            self.error(sink, source);
        }
    }

    /// All files of a folder, as they are on the disk.
    pub(crate) fn files(&mut self, sink: &str, folder: &Path) {
        for file in std::fs::read_dir(folder).expect("a folder") {
            let path = file.expect("a file").path();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            self.add(
                &format!("{sink}: {name}"),
                std::fs::read(&path).expect("readable"),
            );
        }
    }

    /// Sink by sink what was found, and how many sinks and bytes were looked through.
    pub(crate) fn scan(
        &self,
        canaries: &Canaries,
    ) -> (Vec<(String, Vec<&'static str>)>, usize, usize) {
        let found = self
            .0
            .iter()
            .map(|(sink, bytes)| (sink.clone(), canaries.found(bytes)));
        let found = found.filter(|(_, found)| !found.is_empty()).collect();
        (found, self.0.len(), self.0.values().map(Vec::len).sum())
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

/// Everything that the process logs, of all threads.
pub(crate) struct Log;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl Log {
    pub(crate) fn listen() {
        static ONCE: OnceLock<()> = OnceLock::new();
        ONCE.get_or_init(|| {
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_ansi(false);
            tracing::subscriber::set_global_default(subscriber.with_writer(Log).finish())
                .expect("the first");
        });
    }

    pub(crate) fn bytes() -> Vec<u8> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}
