//! The same figures as Prometheus reads them: the text format, base units, a series a tool.

use crate::session::metrics::{Metrics, Percentiles, ToolMetrics};
use std::fmt::Write as _;
use std::time::Duration;

impl Metrics {
    /// The metrics in Prometheus's text format, version 0.0.4. Quantiles are of the last 1,000 answers, sums and counts
    /// of all.
    pub fn prometheus(&self) -> String {
        let mut text = PrometheusText::default();
        text.family("tool_calls_total", "counter", "Calls that were answered, refused ones too.");
        for (tool, figures) in &self.tools {
            text.line("tool_calls_total", &[("tool", tool)], figures.calls);
        }
        text.family("tool_errors_total", "counter", "Calls that were answered with an error, by its type.");
        for (tool, figures) in &self.tools {
            for (kind, count) in &figures.errors {
                text.line("tool_errors_total", &[("tool", tool), ("type", kind)], count);
            }
        }
        let help = "From a call to its answer.";
        self.summary(&mut text, "tool_call_duration_seconds", help, |tool| {
            (tool.latency.map(seconds), seconds(tool.duration))
        });
        let help = "The size of results in Unicode characters.";
        self.summary(&mut text, "tool_response_size_characters", help, |tool| {
            (tool.sizes.map(|size| size.to_string()), tool.characters.to_string())
        });
        text.family("tool_response_tokens_average", "gauge", "About what the last 1000 results cost a model to read.");
        for (tool, figures) in &self.tools {
            text.line("tool_response_tokens_average", &[("tool", tool)], figures.tokens.avg);
        }
        text.family(
            "tool_response_tokens_p95",
            "gauge",
            "What 95 in a hundred of the last 1000 results do not exceed.",
        );
        for (tool, figures) in &self.tools {
            text.line("tool_response_tokens_p95", &[("tool", tool)], figures.tokens.p95);
        }
        self.gauges(&mut text);
        text.0
    }

    fn gauges(&self, text: &mut PrometheusText) {
        let (context, loops) = (&self.context, &self.loops);
        let gauges = [
            ("tool_context_session_init_tokens", "What a session begins with.", context.session_init_tokens),
            ("tool_context_system_prompt_tokens", "The system prompt.", context.system_prompt_tokens),
            ("tool_context_tool_decl_tokens", "The declarations of the tools.", context.tool_decl_tokens),
            ("tool_context_peak_tokens", "The most that a model had before it.", context.peak_tokens),
            ("tool_sessions_active", "Sessions that are open in this process.", loops.active_sessions),
            ("tool_turns_tracked", "Turns of which the history is kept.", loops.total_turns_tracked),
        ];
        for (name, help, value) in gauges {
            text.family(name, "gauge", help);
            text.line(name, &[], value);
        }
    }

    /// A summary of every tool: its quantiles, and their sum.
    fn summary(
        &self,
        text: &mut PrometheusText,
        name: &str,
        help: &str,
        of: impl Fn(&ToolMetrics) -> (Percentiles<String>, String),
    ) {
        text.family(name, "summary", help);
        for (tool, figures) in &self.tools {
            let (Percentiles { p50, p95, p99 }, sum) = of(figures);
            for (quantile, value) in [("0.5", p50), ("0.95", p95), ("0.99", p99)] {
                text.line(name, &[("tool", tool), ("quantile", quantile)], value);
            }
            text.line(&format!("{name}_sum"), &[("tool", tool)], sum);
            text.line(&format!("{name}_count"), &[("tool", tool)], figures.calls);
        }
    }
}

/// Whole microseconds as seconds, exactly.
fn seconds(duration: Duration) -> String {
    format!("{}.{:06}", duration.as_secs(), duration.subsec_micros())
}

/// Lines of the text format. Shared with the adapters, which add families of their own.
#[doc(hidden)]
#[derive(Default)]
pub struct PrometheusText(pub String);

impl PrometheusText {
    /// Begins a family.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample of it.
    pub fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

/// A label's value: what the format needs escaped, and no control character.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            // The format has no escape for the others.
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    // THREATS: control characters
    #[test]
    fn a_label_is_one_whatever_is_in_it() {
        let mut text = PrometheusText::default();
        text.line("a", &[("x", "q\"\\\n\u{1b}[31m"), ("y", "é")], 1.5);
        assert_eq!(text.0, "a{x=\"q\\\"\\\\\\n\u{fffd}[31m\",y=\"é\"} 1.5\n");
    }

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds(Duration::from_micros(1)), "0.000001");
        assert_eq!(seconds(Duration::from_micros(61_000_100)), "61.000100");
    }
}
