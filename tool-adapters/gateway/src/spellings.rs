//! The spellings of a URI. A file or a row has many of them, and readers do not agree on which are
//! the same: a policy holds for all that a reader could see in a URI.

use percent_encoding::percent_decode_str;
use reqwest::Url;
use std::borrow::Cow;
use std::collections::HashSet;

/// A URI with more spellings than these is not one that a person has written.
const MAX_SPELLINGS: usize = 256;

/// A text that a reader could take a URI for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Spelling {
    pub(crate) text: String,
    pub(crate) without: LeftOut,
}

/// The parts of a URI that a reader could leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LeftOut {
    /// The user and the port.
    pub(crate) user_and_port: bool,
    /// The query and the fragment.
    pub(crate) query: bool,
    /// The slash at the end.
    pub(crate) end_slash: bool,
}

/// The parts of a URI: `SCHEME:` or `SCHEME://AUTHORITY`, and the rest.
struct Parts<'a> {
    scheme: &'a str,
    authority: Option<&'a str>,
    rest: &'a str,
}

/// Returns the texts that a reader could take a URI for, the URI itself first. `None` if they are
/// too many.
pub(crate) fn spellings(uri: &str) -> Option<Vec<Spelling>> {
    let first = Spelling {
        text: uri.to_owned(),
        without: LeftOut::default(),
    };
    let mut known = HashSet::from([first.clone()]);
    let mut found = vec![first];
    let mut at = 0;
    while let Some(spelling) = found.get(at).cloned() {
        at += 1;
        for other in rewritten(&spelling) {
            if known.insert(other.clone()) {
                found.push(other);
            }
        }
        if found.len() > MAX_SPELLINGS {
            return None;
        }
    }
    Some(found)
}

impl LeftOut {
    /// Returns the forms of a pattern that a spelling without these parts may match.
    pub(crate) fn forms_of(self, pattern: &str) -> Vec<Cow<'_, str>> {
        let mut forms = vec![Cow::Borrowed(pattern)];
        add_form(&mut forms, with_plain_host);
        if self.user_and_port {
            add_form(&mut forms, without_user_and_port);
        }
        if self.query {
            add_form(&mut forms, |text| Some(without_query(text).to_owned()));
        }
        forms
    }
}

fn add_form(forms: &mut Vec<Cow<'_, str>>, rewrite: impl Fn(&str) -> Option<String>) {
    let further = forms
        .iter()
        .filter_map(|form| rewrite(form).filter(|other| other != form))
        .collect::<Vec<_>>();
    forms.extend(further.into_iter().map(Cow::Owned));
}

/// Returns what one step of a reader makes of a spelling.
fn rewritten(spelling: &Spelling) -> impl Iterator<Item = Spelling> {
    let text = spelling.text.as_str();
    let without = spelling.without;
    let same_parts = [
        Some(decoded(text)),
        Url::parse(text).ok().map(String::from),
        Some(text.replace('\\', "/")),
        Some(
            text.chars()
                .filter(|letter| !letter.is_control())
                .collect::<String>()
                .trim()
                .to_owned(),
        ),
        with_plain_host(text),
        with_rest(text, without_empty_segments),
        with_rest(text, without_dot_segments),
        without_dots_in_authority(text),
    ];
    let same_parts = same_parts
        .into_iter()
        .flatten()
        .map(move |text| Spelling { text, without });
    let fewer_parts = [
        without_user_and_port(text).map(|text| Spelling {
            text,
            without: LeftOut {
                user_and_port: true,
                ..without
            },
        }),
        Some(Spelling {
            text: without_query(text).to_owned(),
            without: LeftOut {
                query: true,
                ..without
            },
        }),
        text.strip_suffix('/').map(|text| Spelling {
            text: text.to_owned(),
            without: LeftOut {
                end_slash: true,
                ..without
            },
        }),
    ];
    let is_other = |other: &Spelling| other.text != text;
    let fewer_parts = fewer_parts
        .into_iter()
        .flatten()
        .filter(is_other)
        .collect::<Vec<_>>();
    same_parts.chain(fewer_parts)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (scheme, after) = text.split_once(':')?;
        let Some(after) = after.strip_prefix("//") else {
            return Some(Self {
                scheme,
                authority: None,
                rest: after,
            });
        };
        let end = after.find(['/', '\\', '?', '#']).unwrap_or(after.len());
        let (authority, rest) = after.split_at(end);
        Some(Self {
            scheme,
            authority: Some(authority),
            rest,
        })
    }

    fn written(&self) -> String {
        let Self {
            scheme,
            authority,
            rest,
        } = self;
        match authority {
            Some(authority) => format!("{scheme}://{authority}{rest}"),
            None => format!("{scheme}:{rest}"),
        }
    }
}

fn with_rest(text: &str, rewrite: fn(&str) -> String) -> Option<String> {
    let parts = Parts::of(text)?;
    let rest = rewrite(parts.rest);
    Some(
        Parts {
            rest: &rest,
            ..parts
        }
        .written(),
    )
}

/// Returns a URI whose scheme and host are in lower case, without the dot at the end of the host.
fn with_plain_host(text: &str) -> Option<String> {
    let parts = Parts::of(text)?;
    let scheme = parts.scheme.to_lowercase();
    let authority = parts.authority.map(|authority| {
        let (user, host_and_port) = split_user(authority);
        let (host, port) = split_port(host_and_port);
        let host = host.to_lowercase();
        format!("{user}{}{port}", host.strip_suffix('.').unwrap_or(&host))
    });
    Some(
        Parts {
            scheme: &scheme,
            authority: authority.as_deref(),
            rest: parts.rest,
        }
        .written(),
    )
}

fn without_user_and_port(text: &str) -> Option<String> {
    let parts = Parts::of(text)?;
    let (_, host_and_port) = split_user(parts.authority?);
    let (host, _) = split_port(host_and_port);
    Some(
        Parts {
            authority: Some(host),
            ..parts
        }
        .written(),
    )
}

/// Splits an authority after its user, which ends with `@`.
fn split_user(authority: &str) -> (&str, &str) {
    authority.split_at(authority.rfind('@').map_or(0, |at| at + 1))
}

/// Splits a host from its port, which begins with `:`.
fn split_port(host_and_port: &str) -> (&str, &str) {
    let is_port = |port: &str| {
        port.bytes()
            .all(|digit| digit.is_ascii_digit() || digit == b'*')
    };
    match host_and_port.rfind(':') {
        Some(at) if is_port(host_and_port.get(at + 1..).unwrap_or_default()) => {
            host_and_port.split_at(at)
        }
        _ => (host_and_port, ""),
    }
}

fn without_query(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or_default()
}

fn without_empty_segments(rest: &str) -> String {
    let mut kept = String::with_capacity(rest.len());
    for letter in rest.chars() {
        if letter != '/' || !kept.ends_with('/') {
            kept.push(letter);
        }
    }
    kept
}

/// Resolves `.` and `..`, also in a query and a fragment, as a reader does that takes all of it for
/// a path. Parameters of a segment, as in `..;v=1`, count for nothing.
fn without_dot_segments(rest: &str) -> String {
    let mut kept = Vec::new();
    let mut is_folder = false;
    let (root, segments) = match rest.strip_prefix('/') {
        Some(segments) => ("/", segments),
        None => ("", rest),
    };
    for segment in segments.split('/') {
        let name = segment.split(';').next().unwrap_or_default();
        is_folder = matches!(name, "." | "..");
        match name {
            "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => _ = kept.pop(),
            // Nothing is above the root.
            ".." if !root.is_empty() => {}
            _ => kept.push(segment),
        }
    }
    let end = if is_folder && !kept.is_empty() {
        "/"
    } else {
        ""
    };
    format!("{root}{}{end}", kept.join("/"))
}

/// Resolves `..` in the authority and the rest, as a reader does that takes both for a path.
fn without_dots_in_authority(text: &str) -> Option<String> {
    let parts = Parts::of(text)?;
    let authority = parts.authority.filter(|authority| !authority.is_empty())?;
    let path = without_dot_segments(&format!("{authority}{}", parts.rest));
    Some(
        Parts {
            authority: Some(""),
            rest: &path,
            ..parts
        }
        .written(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::GatewayPolicy;
    use proptest::prelude::*;
    use std::path::{Path, PathBuf};

    fn policy(allow: &[&str], deny: &[&str]) -> GatewayPolicy {
        let owned = |patterns: &[&str]| {
            patterns
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect()
        };
        let mut policy = GatewayPolicy::default();
        policy.file.allow = owned(allow);
        policy.file.deny = owned(deny);
        policy
    }

    #[test]
    fn no_spelling_leaves_what_is_allowed() {
        let allowed = policy(&["file:///data/public/*", "notes://team/*"], &[]);
        for uri in [
            "file:///data/public///../../secret.txt",
            "file:///data/public/sub/%2f%2f../../../secret.txt",
            "file:///data/public/sub//////////../../..",
            "file:///data/public/x?/../../..",
            "file:///data/public/x#/../..",
            "file:///data/public/..%252f..%252fsecret.txt",
            "file:///data/public/..\\..\\secret.txt",
            "file:///data/public/..;x=1/..;/secret.txt",
            "file:///data/public/.\t./../secret.txt",
            "notes://team/../secret",
            "notes://team/../../secret",
        ] {
            assert!(!allowed.allows_uri(uri), "{uri}");
        }
    }

    #[test]
    fn spellings_of_what_is_allowed_are_allowed() {
        let allowed = policy(
            &[
                "file:///data/public/*",
                "https://Docs.example:8443/*",
                "search://notes?text=*",
            ],
            &[],
        );
        for uri in [
            "file:///data/public/a.md",
            "file:///data/public/sub/../a.md",
            "file:///data/public/sub//a.md",
            "file:///data/public/",
            "file:///data/public/100%25.md",
            "https://docs.example:8443/page?of=1#top",
            "search://notes?text=a%20b",
        ] {
            assert!(allowed.allows_uri(uri), "{uri}");
        }
        assert!(
            !allowed.allows_uri("https://docs.example:9443/page"),
            "another port"
        );
        assert!(!policy(&["file:///data/*.md"], &[]).allows_uri("file:///data/secret.txt#.md"));
        assert!(!policy(&["db://users*"], &[]).allows_uri("db://users@admin/"));
    }

    #[test]
    fn no_spelling_passes_what_is_denied() {
        let denied = policy(&["*"], &["db://users", "file:///data/secret*"]);
        for uri in [
            "db://users",
            "db://USERS",
            "DB://users",
            "db://users:80",
            "db://root@users",
            "db://users.",
            "db://users/",
            "db://%75sers",
            "db://users?all",
            "db://users#1",
            "db://other/../users",
            "file:/data/secret.txt",
            "file://localhost/data/secret.txt",
            "file:///data//secret.txt",
            "file:///data/public/%2e%2e/secret.txt",
        ] {
            assert!(!denied.allows_uri(uri), "{uri}");
        }
        assert!(denied.allows_uri("db://users2") && denied.allows_uri("file:///data/public/a.md"));
    }

    #[test]
    fn a_uri_that_never_ends_to_decode_is_refused() {
        let nested = format!(
            "file:///data/public/{}2e",
            "%25".to_owned() + &"25".repeat(1_000)
        );
        assert!(!policy(&["file:///data/public/*"], &[]).allows_uri(&nested));
    }

    /// The ways in which servers find the file of a URI.
    fn read_by(uri: &str) -> Vec<PathBuf> {
        let path = uri.strip_prefix("file://").unwrap_or_default();
        let decoded = decoded(path);
        let twice = super::decoded(&decoded);
        let mut paths = vec![path, &decoded, &twice]
            .into_iter()
            .map(PathBuf::from)
            .collect::<Vec<_>>();
        for text in [path, &decoded, &twice] {
            let plain = without_query(text);
            paths.push(plain.into());
            paths.push(without_empty_segments(plain).into());
            paths.push(without_dot_segments(plain).into());
            paths.push(plain.replace('\\', "/").into());
            // Joined by text, before anything is looked up.
            paths.push(without_dot_segments(&without_empty_segments(text)).into());
        }
        paths.extend(Url::parse(uri).ok().and_then(|url| url.to_file_path().ok()));
        paths
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_reader_leaves_the_allowed_folder(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "/", "//", "..", ".", "%2e", "%2E%2e", "%2f", "%252f", "%5c", "\\", "sub", "a.md", "secret.txt", "?", "#",
                    ";x", "%00", " ",
                ]),
                0..12,
            ),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a path");
            let public = root.join("public");
            std::fs::create_dir_all(public.join("sub")).expect("made");
            for file in ["public/a.md", "public/sub/a.md", "secret.txt"] {
                std::fs::write(root.join(file), file).expect("written");
            }

            let base = format!("file://{}/", public.display());
            let uri = format!("{base}{}", pieces.concat());
            if policy(&[&format!("{base}*")], &[]).allows_uri(&uri) {
                for path in read_by(&uri) {
                    let Ok(real) = Path::new(&path).canonicalize() else { continue };
                    prop_assert!(real.starts_with(&public), "{uri} is {}", real.display());
                }
            }
        }
    }
}
