//! Another process: this test program, told by an environment variable to play a part. The test harness talks on its
//! standard output, so the part speaks on a stream of its own, which stands where standard output did.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool_core::trace::{self, Collector, SpanRecord, SpanSink};

/// Where the other process writes its spans: that it is set makes it the other process.
const SPANS: &str = "TOOL_ADAPTERS_SPANS";

/// The process that plays the part of this test, with the file for its spans.
pub(crate) fn command(part: &str, spans: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$0" "$@" 3>&1 >&2"#]);
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", part, "--nocapture", "--test-threads=1"]);
    command.env(SPANS, spans);
    command
}

/// In the other process: has its spans written. `None` in this one.
pub(crate) fn plays() -> Option<()> {
    let file = std::env::var_os(SPANS).map(PathBuf::from)?;
    Collector::builder().sink(Writes(file)).build().install();
    trace::start();
    Some(())
}

/// What stands where standard output did.
pub(crate) fn output() -> File {
    File::options().write(true).open("/dev/fd/3").expect("the stream")
}

/// Writes each span on a line: label, trace, span, parent, customer.
struct Writes(PathBuf);

impl SpanSink for Writes {
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
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("written");
    }
}

/// The spans that the other process has written.
pub(crate) fn spans(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}
