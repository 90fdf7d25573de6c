//! A document: its version, its references and its operations.

use crate::refusal::{MAX_DOCUMENT, OpenApiError, RefusalReason};
use crate::yaml;
use reqwest::Method;
use serde_json::{Map, Value};
use tool_core::json::unless_too_deep;
use tool_core::schema::percent_decode;
use tool_core::text::truncate;

/// Maximum number of references that lead to one another.
const MAX_HOPS: usize = 16;

/// The methods of a path item, in the order of the tools.
const METHODS: [(&str, Method); 8] = [
    ("get", Method::GET),
    ("head", Method::HEAD),
    ("options", Method::OPTIONS),
    ("post", Method::POST),
    ("put", Method::PUT),
    ("patch", Method::PATCH),
    ("delete", Method::DELETE),
    ("trace", Method::TRACE),
];

/// A document whose version is known.
pub(crate) struct Document {
    root: Value,
    /// True before version 3.1, where everything beside a `$ref` is ignored.
    pub(crate) is_3_0: bool,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, OpenApiError> {
        check_size(text)?;
        // Some editors write a byte order mark, which is no part of JSON.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = serde_json::from_str(text).map_err(|error| OpenApiError::Json {
            problem: error.to_string(),
        })?;
        Self::new(root)
    }

    /// Parses JSON or YAML.
    pub(crate) fn parse_any(text: &str) -> Result<Self, OpenApiError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // YAML contains JSON, whose own parser is faster and has better errors.
        if text.trim_start().starts_with('{') {
            let parsed = Self::parse(text);
            if !matches!(parsed, Err(OpenApiError::Json { .. })) {
                return parsed;
            }
            // YAML may begin like this too.
            return Self::parse_yaml(text).or(parsed);
        }
        Self::parse_yaml(text)
    }

    fn parse_yaml(text: &str) -> Result<Self, OpenApiError> {
        check_size(text)?;
        Self::new(yaml::parse(text).map_err(|problem| OpenApiError::Yaml { problem })?)
    }

    pub(crate) fn new(root: Value) -> Result<Self, OpenApiError> {
        let too_deep = || OpenApiError::TooLarge {
            expected: "at most 128 levels".to_owned(),
        };
        let root = unless_too_deep(root).ok_or_else(too_deep)?;
        // YAML without quotes has a number here: `swagger: 2.0`.
        let version = |key: &str| match root.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let shown = |version: &str| truncate(version, 20).escape_debug().to_string();
        let found = match (version("openapi"), version("swagger")) {
            (Some(version), _) if is_version(&version, "3.0") => {
                return Ok(Self { root, is_3_0: true });
            }
            (Some(version), _) if is_version(&version, "3.1") => {
                return Ok(Self {
                    root,
                    is_3_0: false,
                });
            }
            (Some(version), _) => format!("version `{}`", shown(&version)),
            (None, Some(version)) => {
                let version = shown(&version);
                format!(
                    "Swagger `{version}`; convert it to OpenAPI 3 with `npx swagger2openapi FILE`, or at \
                     https://converter.swagger.io"
                )
            }
            (None, None) => "a document without `openapi`".to_owned(),
        };
        Err(OpenApiError::Version { found })
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// Returns the target of a reference into this document.
    pub(crate) fn target(&self, reference: &str) -> Result<&Value, RefusalReason> {
        let shown = || truncate(reference, 200).escape_debug().to_string();
        let Some(fragment) = reference.strip_prefix('#') else {
            let problem = format!(
                "`{}` leads out of the document; bundle the document into one file",
                shown()
            );
            return Err(RefusalReason::Reference(problem));
        };
        let target = percent_decode(fragment)
            .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let target = target.and_then(|pointer| self.root.pointer(&pointer));
        target.ok_or_else(|| RefusalReason::Reference(format!("`{}` leads nowhere", shown())))
    }

    /// Returns an object of the document, behind its references.
    pub(crate) fn resolve<'a>(
        &'a self,
        value: &'a Value,
        role: &str,
    ) -> Result<&'a Map<String, Value>, RefusalReason> {
        let mut current = value;
        for _ in 0..MAX_HOPS {
            let Some(map) = current.as_object() else {
                return Err(RefusalReason::Malformed(format!(
                    "expected {role} to be an object"
                )));
            };
            match map.get("$ref").and_then(Value::as_str) {
                Some(reference) => current = self.target(reference)?,
                None => return Ok(map),
            }
        }
        Err(RefusalReason::Reference(format!(
            "of {role} leads through more than {MAX_HOPS} others"
        )))
    }

    /// Returns all operations in the order of the document.
    pub(crate) fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.root.get("paths").and_then(Value::as_object);
        let mut operations = Vec::new();
        for (path, value) in paths
            .into_iter()
            .flatten()
            .filter(|(path, _)| !path.starts_with("x-"))
        {
            // A path item with a reference may have members of its own.
            let target = value
                .get("$ref")
                .map(|_| self.resolve(value, "the path item"));
            let own = value.as_object();
            let target = target.transpose();
            let (shared, broken) = match target {
                Ok(shared) => (shared, None),
                Err(reason) => (None, Some(reason)),
            };
            for (name, method) in METHODS {
                let body = [own, shared]
                    .into_iter()
                    .flatten()
                    .find_map(|item| item.get(name));
                if let Some(body) = body {
                    operations.push(Operation {
                        method,
                        path,
                        items: [own, shared],
                        body,
                        broken: broken.clone(),
                    });
                }
            }
            if let Some(reason) = broken
                && !METHODS.iter().any(|(name, _)| value.get(*name).is_some())
            {
                // Its operations are not known.
                let items = [own, None];
                operations.push(Operation {
                    method: Method::GET,
                    path,
                    items,
                    body: value,
                    broken: Some(reason),
                });
            }
        }
        operations
    }
}

fn check_size(text: &str) -> Result<(), OpenApiError> {
    if text.len() <= MAX_DOCUMENT {
        return Ok(());
    }
    Err(OpenApiError::TooLarge {
        expected: format!("at most {MAX_DOCUMENT} bytes"),
    })
}

fn is_version(version: &str, expected: &str) -> bool {
    version
        .strip_prefix(expected)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// An operation of a document, for [`OpenApi::filter`](crate::OpenApi::filter).
pub struct Operation<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    /// The path item, and the one that it refers to.
    pub(crate) items: [Option<&'a Map<String, Value>>; 2],
    pub(crate) body: &'a Value,
    /// The reason for which the path item cannot be read.
    pub(crate) broken: Option<RefusalReason>,
}

impl<'a> Operation<'a> {
    /// Returns the method, such as `GET`.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Returns the path, as the document writes it: `/pets/{id}`.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// Returns the `operationId`.
    pub fn id(&self) -> Option<&'a str> {
        self.text("operationId")
    }

    /// Returns the tags.
    pub fn tags(&self) -> impl Iterator<Item = &'a str> {
        self.body
            .get("tags")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// Returns true if the document marks the operation as deprecated.
    pub fn is_deprecated(&self) -> bool {
        self.body.get("deprecated") == Some(&Value::Bool(true))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.body
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    /// Returns a member of the operation, or of its path item.
    pub(crate) fn member(&self, key: &str) -> Option<&'a Value> {
        self.body.get(key).or_else(|| self.item_member(key))
    }

    /// Returns a member of the path item.
    pub(crate) fn item_member(&self, key: &str) -> Option<&'a Value> {
        self.items
            .into_iter()
            .flatten()
            .find_map(|item| item.get(key))
    }
}

impl std::fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Operation({} {})", self.method, self.path)
    }
}
