//! The texts of the gateway's files, and the variables of the environment in them.

use crate::problems::join;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A value that may be a secret.
pub(crate) type Secret = Zeroizing<String>;

/// The variables that replace `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${file:PATH}` and, in
/// the files of clients, the variables of their editors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expand {
    /// `None` reads the environment of the process.
    variables: Option<HashMap<String, String>>,
    editor: Option<EditorVariables>,
    /// The folder against which the path of a `${file:PATH}` is resolved. `None` replaces none.
    folder: Option<PathBuf>,
    /// True if `$NAME` is replaced too.
    is_plain: bool,
    /// The inputs that have no value yet.
    missing: RefCell<Vec<String>>,
}

/// The variables that editors know, such as `${workspaceFolder}`.
#[derive(Clone, Debug)]
pub(crate) struct EditorVariables {
    pub(crate) workspace: PathBuf,
    /// The values of `${input:ID}`.
    pub(crate) inputs: BTreeMap<String, Secret>,
}

/// Maximum number of bytes of a file that `${file:PATH}` names.
const MAX_VALUE: u64 = 64 << 10;

impl Expand {
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            variables: Some(variables.collect()),
            ..Self::default()
        }
    }

    /// Adds the variables of an editor.
    pub(crate) fn editor(self, editor: EditorVariables) -> Self {
        Self {
            folder: Some(editor.workspace.clone()),
            editor: Some(editor),
            ..self
        }
    }

    /// Replaces `${file:PATH}` by the contents of a file.
    pub(crate) fn files_in(self, folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
            ..self
        }
    }

    /// Replaces `$NAME` too, if it is a variable of the environment.
    pub(crate) fn replace_plain_variables(&mut self) {
        self.is_plain = true;
    }

    /// Returns the folder of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        self.editor
            .as_ref()
            .map_or(Path::new("."), |editor| &editor.workspace)
    }

    /// Returns the inputs that were used and have no value, in the order of the file.
    pub(crate) fn missing_inputs(&self) -> Vec<String> {
        self.missing.borrow().clone()
    }

    fn get(&self, name: &str) -> Option<String> {
        match &self.variables {
            Some(variables) => variables.get(name).cloned(),
            None => env::var(name).ok(),
        }
    }

    /// Replaces all placeholders. What they contain is not expanded again. `$${` stands for `${`.
    /// All other characters stay as they are, also in braces that are no placeholder.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                expanded.push_str(before);
                expanded.push_str("${");
                rest = after;
                continue;
            }
            expanded.push_str(&self.expand_plain(before));
            let Some((placeholder, after)) = after.split_once('}') else {
                expanded.push_str("${");
                rest = after;
                continue;
            };
            if let Some(value) = self.replace(placeholder)? {
                expanded.push_str(&value);
                rest = after;
            } else {
                expanded.push_str("${");
                rest = rest.get(before.len() + 2..).unwrap_or_default();
            }
        }
        expanded.push_str(&self.expand_plain(rest));
        Ok(expanded)
    }

    /// Returns the value of a placeholder, or `None` if the text is none.
    fn replace(&self, placeholder: &str) -> Result<Option<String>, String> {
        if let Some(editor) = &self.editor
            && let Some(value) = self.replace_editor(editor, placeholder)?
        {
            return Ok(Some(value));
        }
        if let Some(folder) = &self.folder
            && let Some(name) = placeholder.strip_prefix("file:")
        {
            let path = folder.join(name);
            let text = read_bounded(&path, MAX_VALUE)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            return Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()));
        }
        let variable = placeholder.strip_prefix("env:").unwrap_or(placeholder);
        let (name, default) = match variable.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (variable, None),
        };
        if !is_variable(name) {
            return Ok(None);
        }
        match (
            self.get(name)
                .filter(|value| default.is_none() || !value.is_empty()),
            default,
        ) {
            (Some(value), _) => Ok(Some(value)),
            (None, Some(default)) => Ok(Some(default.to_owned())),
            (None, None) => Err(format!(
                "the environment variable `{name}` is not set; set it, or write a default as `${{{name}:-default}}`"
            )),
        }
    }

    fn replace_editor(
        &self,
        editor: &EditorVariables,
        placeholder: &str,
    ) -> Result<Option<String>, String> {
        let workspace = editor.workspace.to_string_lossy();
        let base_name = editor
            .workspace
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let value = match placeholder {
            "workspaceFolder" | "workspaceRoot" | "fileWorkspaceFolder" => workspace.into_owned(),
            "workspaceFolderBasename" => base_name.into_owned(),
            "userHome" => {
                let home = self.get("HOME").or_else(|| self.get("USERPROFILE"));
                home.ok_or(
                    "the folder of the user is not known; set the environment variable `HOME`",
                )?
            }
            "cwd" => env::current_dir()
                .map_err(|error| error.to_string())?
                .to_string_lossy()
                .into_owned(),
            "pathSeparator" | "/" => std::path::MAIN_SEPARATOR.to_string(),
            _ => return self.replace_prefixed(editor, &base_name, placeholder),
        };
        Ok(Some(value))
    }

    fn replace_prefixed(
        &self,
        editor: &EditorVariables,
        base_name: &str,
        placeholder: &str,
    ) -> Result<Option<String>, String> {
        let Some((kind, name)) = placeholder.split_once(':') else {
            return Ok(None);
        };
        match kind {
            "workspaceFolder" if name == base_name => {
                Ok(Some(editor.workspace.to_string_lossy().into_owned()))
            }
            "input" => {
                if let Some(value) = editor.inputs.get(name) {
                    return Ok(Some(value.to_string()));
                }
                let mut missing = self.missing.borrow_mut();
                if !missing.iter().any(|known| known == name) {
                    missing.push(name.to_owned());
                }
                Err(format!(
                    "`${{input:{name}}}` has no value; set `{}` in the policy, or start `tool-gateway` in a terminal, where \
                     it asks for it",
                    join("inputs", name)
                ))
            }
            "workspaceFolder" | "config" | "command" | "extensionInstallFolder" => Err(format!(
                "`${{{placeholder}}}` is a variable that only the editor knows; write its value, or a variable of the \
                 environment as `${{NAME}}`"
            )),
            _ => Ok(None),
        }
    }

    /// Returns the first `$NAME` of a text that is a variable of the environment and is not
    /// replaced. Some clients replace it.
    pub(crate) fn unreplaced<'a>(&self, text: &'a str) -> Option<&'a str> {
        if self.is_plain {
            return None;
        }
        let is_set = |name: &&str| is_variable(name) && name.len() > 1 && self.get(name).is_some();
        text.split('$').skip(1).map(plain_name).find(is_set)
    }

    /// Replaces each `$NAME` of a text that is a variable of the environment, if the file is of a
    /// client that does so.
    fn expand_plain(&self, text: &str) -> String {
        if !self.is_plain {
            return text.to_owned();
        }
        let mut expanded = text.to_owned();
        let mut from = 0;
        while let Some(at) = expanded
            .get(from..)
            .and_then(|rest| rest.find('$'))
            .map(|at| from + at)
        {
            let after = expanded.get(at + 1..).unwrap_or_default();
            let name = plain_name(after).to_owned();
            from = at + 1;
            if let Some(value) = Some(&name)
                .filter(|name| is_variable(name))
                .and_then(|name| self.get(name))
            {
                expanded.replace_range(at..=at + name.len(), &value);
                from = at + value.len();
            }
        }
        expanded
    }
}

/// Returns the name that follows a `$`.
fn plain_name(after: &str) -> &str {
    let end = after
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(after.len());
    after.get(..end).unwrap_or_default()
}

/// Returns true for a name that a variable of the environment may have.
fn is_variable(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Reads a text of at most `limit` bytes, without a byte order mark.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(|error| error.to_string())?;
    opened
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    text_of(bytes, limit)
}

/// Returns the text of a file, without a byte order mark.
pub(crate) fn text_of(bytes: Vec<u8>, limit: u64) -> Result<String, String> {
    // A device may have no size, and no end.
    if bytes.len() as u64 > limit {
        return Err(format!("expected at most {limit} bytes, got more"));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err("expected UTF-8, got UTF-16; save the file as UTF-8".to_owned());
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| "expected UTF-8, got other bytes; save the file as UTF-8")?;
    match text.strip_prefix('\u{feff}') {
        Some(text) => Ok(text.to_owned()),
        None => Ok(text),
    }
}

/// Reads the variables of a file as editors do: `NAME=value` in lines, which may begin with
/// `export`, with comments after `#` and quotes. Values are not expanded. Returns the lines that
/// are none, counted from 1.
pub(crate) fn env_file(text: &str) -> Result<Vec<(String, Secret)>, Vec<usize>> {
    let mut variables = Vec::new();
    let mut problems = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line
            .split_once('=')
            .map(|(name, value)| (name.trim(), env_value(value.trim())))
        {
            Some((name, Some(value))) if is_env_name(name) => {
                variables.push((name.to_owned(), Zeroizing::new(value)));
            }
            _ => problems.push(at + 1),
        }
    }
    if problems.is_empty() {
        Ok(variables)
    } else {
        Err(problems)
    }
}

/// Returns true for a name of a variable of a process.
pub(crate) fn is_env_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0', ' '])
}

/// Returns the value of a variable without its quotes, or `None` if they do not end.
fn env_value(text: &str) -> Option<String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut value = String::new();
        let mut letters = quoted.chars();
        loop {
            match letters.next()? {
                '"' => return Some(value),
                '\\' => match letters.next()? {
                    'n' => value.push('\n'),
                    'r' => value.push('\r'),
                    't' => value.push('\t'),
                    letter @ ('"' | '\\' | '$') => value.push(letter),
                    letter => value.extend(['\\', letter]),
                },
                letter => value.push(letter),
            }
        }
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted.split_once('\'').map(|(value, _)| value.to_owned());
    }
    let end = text.find(" #").unwrap_or(text.len());
    Some(text.get(..end).unwrap_or_default().trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once() {
        let expand = Expand::of([("A", "one"), ("B", "${A}"), ("EMPTY", "")]);
        for (text, expected) in [
            ("${A}-${A}", "one-one"),
            ("${B}", "${A}"),
            ("${C:-two}", "two"),
            ("${EMPTY:-two}", "two"),
            ("${EMPTY}", ""),
            ("${env:A}${env:C:-2}", "one2"),
            ("$${A}", "${A}"),
        ] {
            assert_eq!(expand.expand(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(
            expand
                .expand("${C}")
                .is_err_and(|problem| problem.contains("`C` is not set"))
        );
        assert!(
            expand
                .expand("${env:C}")
                .is_err_and(|problem| problem.contains("`C` is not set"))
        );
    }

    // C13
    #[test]
    fn texts_without_placeholder_stay_as_they_are() {
        let editor = EditorVariables {
            workspace: "/w".into(),
            inputs: BTreeMap::new(),
        };
        let expand = Expand::of([("A", "one")]).editor(editor);
        for text in [
            "$A $$ 5$",
            "pa$$word",
            "${",
            "${A",
            "${}",
            "${arr[@]}",
            "${#A}",
            "${A%x}",
            "${1}",
            "$",
            "{A}",
            "${ A }",
            "$(A)",
            "%A%",
            "${{ secrets.A }}",
            "C:\\$x\\",
            "\u{feff}",
            "${A b}",
            "${other:A}",
        ] {
            assert_eq!(expand.expand(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn editor_variables_are_replaced_in_their_files_only() {
        let inputs = BTreeMap::from([("key".to_owned(), Zeroizing::new("${A}".to_owned()))]);
        let expand = Expand::of([("HOME", "/home/ada"), ("A", "one")]);
        assert!(expand.expand("${workspaceFolder}").is_err());
        let expand = expand.editor(EditorVariables {
            workspace: "/src/app".into(),
            inputs,
        });
        for (text, expected) in [
            ("${workspaceFolder}/x", "/src/app/x"),
            ("${workspaceFolder:app}", "/src/app"),
            ("${workspaceFolderBasename}", "app"),
            ("${userHome}${/}x", "/home/ada/x"),
            ("${input:key}", "${A}"),
        ] {
            assert_eq!(expand.expand(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["${config:a.b}", "${command:x}", "${workspaceFolder:other}"] {
            assert!(
                expand
                    .expand(text)
                    .is_err_and(|problem| problem.contains(text)),
                "{text}"
            );
        }
        assert!(
            expand
                .expand("${input:my key}")
                .is_err_and(|problem| problem.contains(r#"`inputs."my key"`"#))
        );
        assert_eq!(expand.missing_inputs(), ["my key"]);
    }

    #[test]
    fn env_files_are_read_as_editors_do() {
        let text = "# a\n\nA=one\nexport B = two # c\nC='a $A #b'\nD=\"x\\ny\\\"\"\r\nE=\nF=a#b$A";
        let variables = env_file(text).expect("variables");
        let variables = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect::<Vec<_>>();
        let expected = [
            ("A", "one"),
            ("B", "two"),
            ("C", "a $A #b"),
            ("D", "x\ny\""),
            ("E", ""),
            ("F", "a#b$A"),
        ];
        assert_eq!(variables, expected);
        assert_eq!(
            env_file("A=1\nhello\n=x\nB=\"open").err(),
            Some(vec![2, 3, 4])
        );
    }

    #[test]
    fn plain_variables_are_found() {
        let expand = Expand::of([("TOKEN", "t$TOKEN"), ("A", "1")]);
        assert_eq!(expand.unreplaced("Bearer $TOKEN"), Some("TOKEN"));
        let mut plain = expand.clone();
        plain.replace_plain_variables();
        for text in ["$OTHER", "$", "5$", "$$", "TOKEN", "$A1"] {
            assert_eq!(expand.unreplaced(text), None, "{text}");
            assert_eq!(plain.expand(text).as_deref(), Ok(text));
        }
        assert_eq!(
            plain.expand("Bearer $TOKEN, $A ${A}").as_deref(),
            Ok("Bearer t$TOKEN, 1 1")
        );
    }
}
