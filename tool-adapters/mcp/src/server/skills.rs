//! The guides of tools as skills, by the extension `io.modelcontextprotocol/skills`. A skill has
//! one file, which is a resource.

use crate::server::pages::{CacheHints, Page, PageRequest};
use crate::server::prompts::{guide_title, guided_tools};
use crate::server::session::McpResult;
use rmcp::ErrorData;
use rmcp::model::{
    GetSkillResult, ListSkillsResult, Resource, ResourceContents, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};
use serde_json::json;
use std::collections::HashSet;
use tool_core::text::truncate;
use tool_core::{Session, ToolDefinition};

/// The scheme of the URIs of guides.
pub(crate) const SCHEME: &str = "skill://";

/// The type of guides.
const MARKDOWN: &str = "text/markdown";

/// The letters of a name, without the number that follows it where tools have like names.
const MAX_NAME: usize = 58;

/// The characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

/// The guide of a tool as a skill.
pub(crate) struct GuideSkill {
    name: String,
    tool: ToolDefinition,
}

/// Returns the skills of the tools that a session sees.
pub(crate) fn all(session: &Session) -> impl Iterator<Item = GuideSkill> {
    let mut used = HashSet::new();
    guided_tools(session).into_iter().filter_map(move |tool| {
        let wanted = skill_name(tool.name());
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let name = std::iter::once(wanted.clone())
            .chain(numbered)
            .find(|name| used.insert(name.clone()))?;
        Some(GuideSkill { name, tool })
    })
}

/// Returns the skill whose file has this URI.
pub(crate) fn find(session: &Session, uri: &str) -> Option<GuideSkill> {
    uri.starts_with(SCHEME)
        .then(|| all(session).find(|skill| skill.uri() == uri))
        .flatten()
}

/// Returns one page of the skills.
pub(crate) fn list(session: &Session, request: &PageRequest) -> McpResult<ListSkillsResult> {
    let entries = all(session).map(|skill| skill.entry()).collect();
    let page = Page::of(entries, request)?;
    let mut result = ListSkillsResult::with_all_items(page.items);
    result.next_cursor = page.next_cursor;
    result.ttl_ms = page.hints.ttl_ms;
    result.cache_scope = page.hints.scope;
    Ok(result)
}

/// Returns the skill whose file has this URI.
pub(crate) fn get(session: &Session, uri: &str, with_hints: bool) -> McpResult<GetSkillResult> {
    let skill = find(session, uri)
        .ok_or_else(|| ErrorData::invalid_params("there is no skill of this URI", None))?;
    let mut result = GetSkillResult::new(skill.entry());
    let hints = CacheHints::new(with_hints);
    result.ttl_ms = hints.ttl_ms;
    result.cache_scope = hints.scope;
    Ok(result)
}

impl GuideSkill {
    pub(crate) fn uri(&self) -> String {
        format!("{SCHEME}{}/SKILL.md", self.name)
    }

    /// Returns the text of the file: YAML, of which JSON is a part, and the guide.
    fn text(&self) -> String {
        let name = json!(self.name);
        let description = json!(self.description());
        format!(
            "---\nname: {name}\ndescription: {description}\n---\n\n{}",
            self.tool.documentation()
        )
    }

    fn description(&self) -> String {
        let summary = truncate(&self.tool.summary(), MAX_DESCRIPTION);
        if summary.is_empty() {
            guide_title(&self.tool)
        } else {
            summary
        }
    }

    pub(crate) fn resource(&self) -> Resource {
        let resource = Resource::new(self.uri(), &self.name).with_title(guide_title(&self.tool));
        let resource = resource
            .with_description(self.description())
            .with_mime_type(MARKDOWN);
        resource.with_size(self.text().len() as u64)
    }

    pub(crate) fn contents(&self) -> ResourceContents {
        ResourceContents::text(self.text(), self.uri()).with_mime_type(MARKDOWN)
    }

    fn entry(&self) -> Skill {
        let file = SkillResource::from_bytes(self.uri(), self.text().as_bytes());
        let frontmatter = SkillFrontmatter::new(&self.name, self.description());
        Skill::new(self.uri(), frontmatter, SkillResources::Files(vec![file]))
    }
}

/// Returns the name of a tool as that of a skill: lower case letters, digits, and single hyphens
/// between them.
fn skill_name(tool: &str) -> String {
    let words = tool
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    name.truncate(MAX_NAME);
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        "tool".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::skill_name;

    #[test]
    fn names_of_skills_have_letters_digits_and_hyphens() {
        for (tool, name) in [
            ("list_notes", "list-notes"),
            ("a/b", "a-b"),
            ("_Get__It-", "get-it"),
            ("__", "tool"),
        ] {
            assert_eq!(skill_name(tool), name);
        }
        assert_eq!(skill_name(&format!("{}_x", "a".repeat(57))), "a".repeat(57));
    }
}
