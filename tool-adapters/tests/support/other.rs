//! Another process: this test program with an environment variable set. The test harness writes to standard output, so
//! the original standard output is kept as another file descriptor.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool_core::trace::{self, Collector, SpanRecord, SpanSink};

/// The file for the spans of the other process.
const SPANS: &str = "TOOL_ADAPTERS_SPANS";

/// Returns the command for the other process that runs this test.
pub(crate) fn command(part: &str, spans: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$0" "$@" 3>&1 >&2"#]);
    command.arg(std::env::current_exe().expect("this program"));
    command.args([
        "--ignored",
        "--exact",
        part,
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(SPANS, spans);
    command
}

/// Starts writing spans. The other process calls it.
pub(crate) fn start() {
    let file = std::env::var_os(SPANS)
        .map(PathBuf::from)
        .expect("this is the other process");
    Collector::builder()
        .sink(SpanWriter(file))
        .build()
        .install();
    trace::start();
}

/// Opens the original standard output.
pub(crate) fn output() -> File {
    File::options()
        .write(true)
        .open("/dev/fd/3")
        .expect("the stream")
}

/// Writes each span as a line: label, trace, span, parent, customer.
struct SpanWriter(PathBuf);

impl SpanSink for SpanWriter {
    fn ended(&self, span: &SpanRecord) {
        use std::io::Write;

        let parent = span.parent().map(|id| id.to_string()).unwrap_or_default();
        let line = format!(
            "{} {} {} {parent} {}\n",
            span.label(),
            span.trace_id(),
            span.span_id(),
            span.customer_id().unwrap_or_default()
        );
        let file = File::options().create(true).append(true).open(&self.0);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("written");
    }
}

/// Returns the spans of the other process.
pub(crate) fn spans(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .map(|line| line.split(' ').map(str::to_owned).collect())
        .collect()
}
