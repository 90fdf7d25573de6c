//! Whether what a guide shows works.

use super::{Guide, GuideExample};
use crate::arguments::{Validator, validate};
use crate::json;
use serde_json::Value;

impl Guide {
    /// Everything that is wrong with the guide of a tool with these parameters. R-F3
    pub(crate) fn problems(&self, schema: &Value) -> Vec<String> {
        if self.text().trim().is_empty() {
            return vec!["its guide is empty".to_owned()];
        }
        let silent = self.summary().is_empty();
        let silent = silent.then(|| "its guide has no summary; say in a sentence what the tool is for".to_owned());
        silent.into_iter().chain(self.problems_against(schema)).collect()
    }
}

pub(super) fn examples(examples: &[GuideExample], schema: &Value) -> Vec<String> {
    let validator = Validator::for_tool(schema.clone());
    examples.iter().flat_map(|example| problems(example, &validator)).collect()
}

fn problems(example: &GuideExample, validator: &Validator) -> Vec<String> {
    let line = example.line;
    let parsed = match json::parse(&example.json) {
        Ok(parsed) => parsed,
        Err(error) => {
            let line = line + error.line.saturating_sub(1);
            return vec![format!("guide line {line}: the example is not JSON: {}", error.message)];
        }
    };
    let twice = parsed.duplicates.iter().map(|key| format!("guide line {line}: example: `{key}` stands twice"));
    let refused = validate(validator, &parsed.value);
    let refused = refused.iter().map(|problem| format!("guide line {line}: example: {problem}"));
    twice.chain(refused).collect()
}
