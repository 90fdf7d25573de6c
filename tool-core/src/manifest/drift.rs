//! What differs between a manifest that was written down and the tools as they are.

use super::entry::NO_CONTENT;
use super::{Manifest, ManifestError, ManifestTool, version};
use crate::canonical::canonical;
use serde_json::Value;
use std::collections::BTreeSet;

/// The places that are told of one tool; who wants to see more compares the files.
const SHOWN: usize = 8;

impl Manifest {
    /// What differs in content from the `written` one: tools added, removed and changed, and in which of their members.
    ///
    /// Commit, time and places in the source are no content. Provider schemas count where this manifest has some.
    pub fn drift_from(&self, written: &Self) -> Vec<ManifestError> {
        let ids = |manifest: &Self| manifest.tools.iter().map(|tool| tool.tool_id.clone()).collect::<BTreeSet<_>>();
        let all = ids(self).into_iter().chain(ids(written)).collect::<BTreeSet<_>>();
        let mut found = all.iter().filter_map(|id| tool_drift(id, self.tool(id), written.tool(id))).collect::<Vec<_>>();
        let own = version(&written.tools);
        if found.is_empty() && written.version != own {
            let stated = written.version.escape_debug();
            found.push(ManifestError::new(format!(
                "it says that its version is {stated}, and by its content it is {own}"
            )));
        }
        found
    }
}

fn tool_drift(id: &str, now: Option<&ManifestTool>, written: Option<&ManifestTool>) -> Option<ManifestError> {
    let (now, written) = match (now, written) {
        (Some(_), None) => return Some(ManifestError::of_tool(id, "added")),
        (None, Some(_)) => return Some(ManifestError::of_tool(id, "removed")),
        (None, None) => return None,
        (Some(now), Some(written)) => (now, written),
    };
    let counted = |member: &str| match member {
        "providerSchemas" => !now.provider_schemas.is_empty(),
        member => !NO_CONTENT.contains(&member),
    };
    let (now, written) = (members(now, counted), members(written, counted));
    let mut places = Vec::new();
    differences(&now, &written, "", &mut places);
    let more = places.len().saturating_sub(SHOWN);
    places.truncate(SHOWN);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    (!places.is_empty()).then(|| ManifestError::of_tool(id, format!("changed: {}", places.join("; "))))
}

fn members(tool: &ManifestTool, counted: impl Fn(&str) -> bool) -> Value {
    let mut value = tool.to_value();
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| counted(name));
    }
    value
}

/// The places where two values differ, as deep as both are objects.
fn differences(now: &Value, written: &Value, at: &str, places: &mut Vec<String>) {
    if let (Value::Object(now), Value::Object(written)) = (now, written) {
        for name in now.keys().chain(written.keys()).collect::<BTreeSet<_>>() {
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let at = if at.is_empty() { escaped } else { format!("{at}/{escaped}") };
            match (now.get(name), written.get(name)) {
                (Some(now), Some(written)) => differences(now, written, &at, places),
                (Some(now), None) => places.push(format!("`{at}` is {}, and was absent", shown(now))),
                (_, written) => {
                    let written = written.map(shown).unwrap_or_default();
                    places.push(format!("`{at}` is absent, and was {written}"));
                }
            }
        }
    } else if canonical(now) != canonical(written) {
        places.push(format!("`{at}` is {}, and was {}", shown(now), shown(written)));
    }
}

/// On one line and short.
fn shown(value: &Value) -> String {
    crate::text::truncate(&value.to_string(), 60)
}
