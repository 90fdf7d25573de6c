//! Metrics in Prometheus's text format: base units, one series per tool.

use crate::session::circuit_breaker::{CircuitMetrics, CircuitState};
use crate::session::metrics::report::Metrics;
use crate::session::metrics::tool_stats::{Percentiles, ToolMetrics};
use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

impl Metrics {
    /// Writes the metrics in Prometheus's text format, version 0.0.4. Quantiles cover the last
    /// 1,000 responses; sums and counts cover all.
    pub fn prometheus(&self) -> String {
        let mut text = PrometheusText::new();
        text.family(
            "tool_calls_total",
            "counter",
            "Answered calls, including refused ones.",
        );
        for (tool, figures) in &self.tools {
            text.sample("tool_calls_total", &[("tool", tool)], figures.calls);
        }
        text.family(
            "tool_slow_calls_total",
            "counter",
            "Calls that took longer than the policy's soft limit.",
        );
        for (tool, figures) in &self.tools {
            text.sample(
                "tool_slow_calls_total",
                &[("tool", tool)],
                figures.slow_calls,
            );
        }
        text.family(
            "tool_errors_total",
            "counter",
            "Calls that ran and failed, by error type.",
        );
        for (tool, figures) in &self.tools {
            for (kind, count) in &figures.errors {
                text.sample(
                    "tool_errors_total",
                    &[("tool", tool), ("type", kind)],
                    count,
                );
            }
        }
        text.family(
            "tool_refusals_total",
            "counter",
            "Calls that did not run, by error type.",
        );
        for (tool, figures) in &self.tools {
            for (kind, count) in &figures.refusals {
                text.sample(
                    "tool_refusals_total",
                    &[("tool", tool), ("type", kind)],
                    count,
                );
            }
        }
        text.family(
            "tool_retries_total",
            "counter",
            "Automatic retries of calls.",
        );
        for (tool, figures) in &self.tools {
            text.sample("tool_retries_total", &[("tool", tool)], figures.retries);
        }
        self.circuits(&mut text);
        self.summary(
            &mut text,
            "tool_call_duration_seconds",
            "Time from call to response.",
            |tool| (tool.latency.map(seconds), seconds(tool.duration)),
        );
        self.summary(
            &mut text,
            "tool_response_size_characters",
            "Response size in Unicode characters.",
            |tool| {
                (
                    tool.sizes.map(|size| size.to_string()),
                    tool.characters.to_string(),
                )
            },
        );
        let name = "tool_response_tokens_average";
        text.family(
            name,
            "gauge",
            "Mean estimated tokens of the last 1000 responses.",
        );
        for (tool, figures) in &self.tools {
            text.sample(name, &[("tool", tool)], figures.tokens.avg);
        }
        let name = "tool_response_tokens_p95";
        text.family(
            name,
            "gauge",
            "95th percentile of the estimated tokens of the last 1000 responses.",
        );
        for (tool, figures) in &self.tools {
            text.sample(name, &[("tool", tool)], figures.tokens.p95);
        }
        self.gauges(&mut text);
        text.into_string()
    }

    fn circuits(&self, text: &mut PrometheusText) {
        if self.circuits.is_empty() {
            return;
        }
        text.family(
            "tool_circuit_open",
            "gauge",
            "1 for a circuit breaker that lets no call run, or one call as a trial.",
        );
        for circuit in &self.circuits {
            let is_open = circuit.state != CircuitState::Closed;
            text.sample("tool_circuit_open", &labels(circuit), u8::from(is_open));
        }
        text.family(
            "tool_circuit_half_open",
            "gauge",
            "1 for an open circuit breaker whose pause is over, so that one call is a trial.",
        );
        for circuit in &self.circuits {
            let is_half_open = circuit.state == CircuitState::HalfOpen;
            let value = u8::from(is_half_open);
            text.sample("tool_circuit_half_open", &labels(circuit), value);
        }
        text.family(
            "tool_circuit_opened_total",
            "counter",
            "How often a circuit breaker has opened.",
        );
        for circuit in &self.circuits {
            text.sample(
                "tool_circuit_opened_total",
                &labels(circuit),
                circuit.opened,
            );
        }
        text.family(
            "tool_circuit_refusals_total",
            "counter",
            "Calls that a circuit breaker has refused.",
        );
        for circuit in &self.circuits {
            text.sample(
                "tool_circuit_refusals_total",
                &labels(circuit),
                circuit.refused,
            );
        }
    }

    fn gauges(&self, text: &mut PrometheusText) {
        let context = &self.context;
        let loops = &self.loops;
        let gauges = [
            (
                "tool_context_session_init_tokens",
                "Tokens at the start of a session.",
                context.session_init_tokens,
            ),
            (
                "tool_context_system_prompt_tokens",
                "Tokens of the system prompt.",
                context.system_prompt_tokens,
            ),
            (
                "tool_context_tool_decl_tokens",
                "Tokens of the tool declarations.",
                context.tool_decl_tokens,
            ),
            (
                "tool_context_peak_tokens",
                "Largest context reported by a provider.",
                context.peak_tokens,
            ),
            (
                "tool_sessions_active",
                "Open sessions in this process.",
                loops.active_sessions,
            ),
            (
                "tool_turns_tracked",
                "Turns whose history is kept.",
                loops.total_turns_tracked,
            ),
        ];
        for (name, help, value) in gauges {
            text.family(name, "gauge", help);
            text.sample(name, &[], value);
        }
    }

    /// Writes a summary of every tool: its quantiles, sum and count.
    fn summary(
        &self,
        text: &mut PrometheusText,
        name: &str,
        help: &str,
        figures: impl Fn(&ToolMetrics) -> (Percentiles<String>, String),
    ) {
        text.family(name, "summary", help);
        for (tool, metrics) in &self.tools {
            let (Percentiles { p50, p95, p99 }, sum) = figures(metrics);
            for (quantile, value) in [("0.5", p50), ("0.95", p95), ("0.99", p99)] {
                text.sample(name, &[("tool", tool), ("quantile", quantile)], value);
            }
            text.sample(&format!("{name}_sum"), &[("tool", tool)], sum);
            text.sample(
                &format!("{name}_count"),
                &[("tool", tool)],
                metrics.responses(),
            );
        }
    }
}

fn labels(circuit: &CircuitMetrics) -> [(&'static str, &str); 2] {
    [("scope", circuit.scope), ("name", &circuit.name)]
}

/// Formats a duration in seconds, exact to the microsecond.
fn seconds(duration: Duration) -> String {
    format!("{}.{:06}", duration.as_secs(), duration.subsec_micros())
}

/// A writer for Prometheus's text format, which escapes label values.
///
/// ```
/// use tool_core::session::PrometheusText;
///
/// let mut text = PrometheusText::new();
/// text.family("jobs_total", "counter", "Finished jobs.");
/// text.sample("jobs_total", &[("queue", "\"fast\"")], 3);
/// assert_eq!(
///     text.into_string(),
///     "# HELP jobs_total Finished jobs.\n# TYPE jobs_total counter\njobs_total{queue=\"\\\"fast\\\"\"} 3\n"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct PrometheusText(String);

impl PrometheusText {
    /// Creates an empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a metric family of a type: `counter`, `gauge` or `summary`.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a `String` does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample with its labels. Control characters in label values become U+FFFD, as the
    /// format cannot escape them.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.0.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        let _ = writeln!(
            self.0,
            "{} {value}",
            if labels.is_empty() { "" } else { "}" }
        );
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }
}

fn escaped(value: &str) -> String {
    let escaped = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    escaped.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // T2
    #[test]
    fn escapes_label_values() {
        let mut text = PrometheusText::new();
        text.sample("a", &[("x", "q\"\\\n\u{1b}[31m"), ("y", "é")], 1.5);
        assert_eq!(
            text.into_string(),
            "a{x=\"q\\\"\\\\\\n\u{fffd}[31m\",y=\"é\"} 1.5\n"
        );
    }

    #[test]
    fn formats_seconds_exactly() {
        assert_eq!(seconds(Duration::from_micros(1)), "0.000001");
        assert_eq!(seconds(Duration::from_micros(61_000_100)), "61.000100");
    }
}
