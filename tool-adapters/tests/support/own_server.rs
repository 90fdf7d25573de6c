//! Servers that a script of the gate starts for a test.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Servers that end with this process, which closes the input of the script that has started them.
pub(crate) struct OwnServer {
    pub(crate) url: String,
    _process: Child,
}

impl OwnServer {
    /// Runs a script of `.ci`, which prints a URL once its servers answer. Returns what it said if they do not.
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Result<Self, String> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci");
        let mut process = Command::new(scripts.join(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut url = String::new();
        let output = process.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut url)
            .map_err(|error| error.to_string())?;
        if url.is_empty() {
            let mut reason = String::new();
            let errors = process.stderr.take().expect("its errors");
            _ = BufReader::new(errors).read_to_string(&mut reason);
            return Err(format!("{script} {arguments:?}: {}", reason.trim()));
        }
        Ok(Self {
            url: url.trim().to_owned(),
            _process: process,
        })
    }
}
