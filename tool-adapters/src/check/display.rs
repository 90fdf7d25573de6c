//! Findings as text for people.

use super::{Check, Cost, Finding, Severity};
use crate::provider::Provider;
use std::fmt;

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        if !self.findings.is_empty() && !self.costs.is_empty() {
            writeln!(f)?;
        }
        let width = self.costs.iter().map(|cost| cost.provider.name().len()).max().unwrap_or_default();
        for cost in &self.costs {
            writeln!(f, "{:width$}  {cost}", cost.provider.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity)?;
        if let Some(tool) = &self.tool {
            write!(f, "{}: ", tool.escape_debug())?;
        }
        f.write_str(&self.message)?;
        match &*self.providers {
            [] => Ok(()),
            all if all.len() == Provider::ALL.len() => f.write_str(" (all providers)"),
            some => write!(f, " ({})", some.iter().map(|provider| provider.name()).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.tools.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        write!(f, "{count:5} {tools:5} {:8} tokens", self.tokens)?;
        match self.tools.iter().max_by_key(|tool| tool.tokens) {
            Some(dearest) if count > 1 => {
                write!(f, ", the most for {} ({})", dearest.tool.escape_debug(), dearest.tokens)
            }
            _ => Ok(()),
        }
    }
}
