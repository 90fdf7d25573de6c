//! The names under which tools and prompts of a server are offered, and the way back.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use tool_adapters_providers::tool_names::{DeclaredNames, NameRule};
use tool_core::text::escape_invisible;

/// The names that are offered: those of raw tools, as long as most clients take.
pub(crate) const RULE: NameRule = NameRule {
    punctuation: "-.:/",
    any_first: true,
    max_length: 64,
};

/// The offered names of a list.
#[derive(Clone, Default)]
pub(crate) struct OfferedNames {
    prefix: String,
    /// The offered name of each name of the server.
    offered: BTreeMap<String, String>,
    /// The names of the server by what follows the prefix in the offered name, where the two
    /// differ.
    own: BTreeMap<String, String>,
}

impl OfferedNames {
    /// Names tools or prompts by the names that their server gives them.
    pub(crate) fn new<'a>(prefix: Option<&str>, own: impl Iterator<Item = &'a str>) -> Self {
        let prefix = prefix
            .map(|prefix| format!("{prefix}_"))
            .unwrap_or_default();
        // A name with characters that a reader does not see stays, so that it is refused.
        let is_visible = |own: &&str| !own.is_empty() && escape_invisible(own) == *own;
        let visible = own.filter(is_visible);
        let wanted = visible
            .map(|own| (own.to_owned(), format!("{prefix}{own}")))
            .collect::<BTreeMap<_, _>>();
        let tools = wanted.values().map(String::as_str).enumerate();
        let names = DeclaredNames::new(RULE, tools, &HashSet::new());
        let offered = wanted.into_iter().map(|(own, wanted)| {
            let offered = names
                .wire(&wanted)
                .map_or_else(|| wanted.clone(), str::to_owned);
            (own, offered)
        });
        let offered = offered.collect::<BTreeMap<_, _>>();
        let rests = offered
            .iter()
            .map(|(own, offered)| (offered.strip_prefix(&*prefix).unwrap_or(offered), own));
        let differing = rests.filter(|(rest, own)| *rest != own.as_str());
        let own = differing
            .map(|(rest, own)| (rest.to_owned(), own.clone()))
            .collect();
        Self {
            prefix,
            offered,
            own,
        }
    }

    /// Returns the offered name of a name of the server.
    pub(crate) fn offered(&self, own: &str) -> Cow<'_, str> {
        match self.offered.get(own) {
            Some(offered) => Cow::Borrowed(offered),
            None => Cow::Owned(format!("{}{own}", self.prefix)),
        }
    }

    /// Returns the offered names that differ from those of the server by more than the prefix, each
    /// with that of the server.
    pub(crate) fn renamed(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.own
            .values()
            .map(|own| (self.offered(own), own.as_str()))
    }

    /// Returns what follows the prefix in the offered name of a name of the server.
    pub(crate) fn rest_of<'a>(&'a self, own: &'a str) -> &'a str {
        match self.offered.get(own) {
            Some(offered) => offered.strip_prefix(&*self.prefix).unwrap_or(offered),
            None => own,
        }
    }

    /// Returns the name of the server by what follows the prefix in the offered one.
    pub(crate) fn own_of_rest<'a>(&'a self, rest: &'a str) -> &'a str {
        self.own.get(rest).map_or(rest, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C17
    #[test]
    fn names_are_made_such_that_clients_take_them() {
        let long = "x".repeat(70);
        let own = [
            "plain",
            "with space",
            "with_space",
            "Straße",
            "日本語",
            "a:b",
            &long,
        ];
        let names = OfferedNames::new(Some("gh"), own.into_iter());
        for own in ["plain", "with_space", "a:b"] {
            assert_eq!(names.offered(own), format!("gh_{own}"));
        }
        assert_eq!(names.offered("Straße"), "gh_Stra_e");
        assert!(
            names.offered("with space").starts_with("gh_with_space_"),
            "that name is there already"
        );
        let offered = own.map(|own| names.offered(own).into_owned());
        assert!(offered.iter().all(|name| RULE.accepts(name)), "{offered:?}");
        assert_eq!(offered.iter().collect::<HashSet<_>>().len(), own.len());
        assert_eq!(names.offered(&long).len(), 64);
        for hidden in ["", "a\nb", "a\u{202e}b", "a\u{200b}"] {
            let names = OfferedNames::new(Some("gh"), [hidden].into_iter());
            assert_eq!(
                names.offered(hidden),
                format!("gh_{hidden}"),
                "it is refused"
            );
        }
    }

    #[test]
    fn renamed_tools_lead_back_to_those_of_the_server() {
        let long = "x".repeat(70);
        let own = ["plain", "with space", &long];
        let names = OfferedNames::new(Some("gh"), own.into_iter());
        for own in own {
            assert_eq!(names.own_of_rest(names.rest_of(own)), own);
        }
        assert_eq!(names.renamed().count(), 2);
        assert_eq!(
            (names.rest_of("other"), names.own_of_rest("other")),
            ("other", "other")
        );
    }
}
