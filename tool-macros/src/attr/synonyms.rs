//! The words that people write for an option, after other frameworks or by guess, and what to write
//! instead.

use super::grammar::{
    AGENT, ARG, AttributeGrammar, PROMPT, RESOURCE, SETTING, TOOL, TOOL_ERROR, TOOL_TYPE, TOOLSET,
};
use crate::names::snake_case;

/// Returns what to do instead of an unknown option.
pub(super) fn help(attribute: &AttributeGrammar, key: &str) -> Option<String> {
    // `readOnlyHint` and `is_async` are read as `read_only` and `async`.
    let word = snake_case(key);
    let word = word.strip_prefix("is_").unwrap_or(&word);
    let word = word.strip_suffix("_hint").unwrap_or(word);
    if word != key && attribute.known.contains(&word) {
        return Some(format!("write `{word}`"));
    }
    of_attribute(attribute, word).map(ToOwned::to_owned)
}

fn of_attribute(attribute: &AttributeGrammar, word: &str) -> Option<&'static str> {
    let is = |other: &AttributeGrammar| attribute.shown == other.shown;
    match () {
        () if is(&ARG) => of_arg(word),
        () if is(&TOOL) => of_tool(word).or_else(|| of_item(word)),
        () if is(&TOOLSET) => of_toolset(word).or_else(|| of_item(word)),
        () if is(&PROMPT) => of_text(word).or_else(|| of_item(word)),
        () if is(&RESOURCE) => of_resource(word)
            .or_else(|| of_text(word))
            .or_else(|| of_item(word)),
        () if is(&TOOL_ERROR) => of_tool_error(word),
        () if is(&TOOL_TYPE) => of_tool_type(word),
        () if is(&SETTING) => of_setting(word),
        () if is(&AGENT) => of_agent(word),
        () => None,
    }
}

/// The words for what every item has.
fn of_item(word: &str) -> Option<&'static str> {
    Some(match word {
        "about" | "comment" | "desc" | "descr" | "doc" | "docs" | "help" | "long_description"
        | "summary" | "text" => "write a `///` comment above it, or `description = \"...\"`",
        "alias" | "aliases" | "id" | "ident" | "key" | "rename" | "slug" => {
            "write `name = \"...\"`"
        }
        "caption" | "display" | "display_name" | "human_name" | "label" => {
            "write `title = \"...\"`"
        }
        "krate" => "write `crate = ::path::to::tool_core`",
        "condition" | "enabled" | "enabled_if" | "hidden" | "hide" | "if" | "permission"
        | "permissions" | "role" | "roles" | "scopes" | "visibility" | "visible" | "visible_if"
        | "when" => {
            "write `dynamic = function`, with `fn function(ctx: &RunContext) -> bool`, which decides who sees it"
        }
        "disable" | "disabled" | "ignore" | "skip" => {
            "remove the attribute; `dynamic = function` hides it from some runs only"
        }
        "cfg" | "feature" | "features" => "write `#[cfg(..)]` above the function",
        "error" | "expose_errors" | "mask_errors" | "show_errors" => "write `errors = \"show\"`",
        _ => return None,
    })
}

fn of_tool(word: &str) -> Option<&'static str> {
    Some(match word {
        "approval"
        | "approve"
        | "approved"
        | "ask"
        | "ask_user"
        | "confirm_if"
        | "confirmation"
        | "confirmed"
        | "consent"
        | "hitl"
        | "human_in_the_loop"
        | "interactive"
        | "must_confirm"
        | "needs_approval"
        | "needs_confirmation"
        | "require_approval"
        | "require_confirmation"
        | "requires_approval"
        | "requires_confirmation" => "write `confirm`, or `confirm = function`",
        "get" | "lookup" | "nonmutating" | "pure" | "query" | "read" | "read_only" | "readonly"
        | "safe" => "write `category = \"retrieval\"`, which is for tools that only read",
        "mutating" | "mutation" | "side_effect" | "side_effects" | "write" | "writes" => {
            "write `category = \"action\"`, and `destructive` if it may delete or overwrite data"
        }
        "dangerous" | "delete" | "deletes" | "irreversible" | "overwrites" | "unsafe" => {
            "write `destructive`"
        }
        "class" | "group" | "kind" | "tag" | "tags" | "type" => {
            "write `category = \"action\"`, `\"retrieval\"` or `\"utility\"`"
        }
        "annotations" | "hints" => {
            "write the hints themselves: `category = \"retrieval\"`, `idempotent`, `destructive`, `open_world`"
        }
        "repeatable" | "safe_to_retry" => "write `idempotent`",
        "external" | "internet" | "network" | "online" => "write `open_world`",
        "async" | "asynchronous" | "future" => "write `async fn`",
        "blocks" | "cpu_bound" | "spawn_blocking" | "sync" | "synchronous" | "thread"
        | "threaded" => "write `blocking`",
        "attempts" | "backoff" | "max_attempts" | "max_retries" | "retry" => {
            "write `retries = 2`, for a retrieval or an `idempotent` tool"
        }
        "retryable" => {
            "return `ToolError::transient(..)`, which tells the model and the host that a retry helps"
        }
        "cancel" | "cancelable" | "cancellation" | "abort" | "abortable" | "interruptible" => {
            "write `cancellable`"
        }
        "deadline" | "max_duration" | "max_time" | "time_limit" | "timeout_ms" | "timeout_secs"
        | "timeout_seconds" => "write `timeout = \"5s\"`",
        "calls" | "max_per_turn" | "max_uses" | "quota" | "times" | "usage_limit" => {
            "write `max_calls = 3`"
        }
        "rate" | "rate_limit" | "requests_per_minute" | "throttle" => {
            "write `max_calls = 3` for the calls of a turn; the policy has those in a time: `Policy::rate_limit`"
        }
        "limit" => {
            "write `max_calls = 3` for calls, or `max_output = 1500` for the characters of a result"
        }
        "max_chars" | "max_length" | "max_result" | "max_size" | "max_tokens" | "output_limit"
        | "truncate" => "write `max_output = 1500`, in characters",
        "concurrency" | "concurrent" | "exclusive" | "lock" | "mutex" | "no_parallel"
        | "parallel" | "serial" => "write `sequential`, which runs a call alone in its session",
        "debounce" | "dedup" | "deduplicate" | "duplicates" | "reentrant" | "singleton"
        | "unique" => "write `on_duplicate = \"reject\"`",
        "channel" | "channels" | "text_only" | "voice" | "voice_only" => "write `modes(\"voice\")`",
        "documentation" | "instructions" | "manual" | "readme" => {
            "write `guide = \"guides/search.md\"`"
        }
        "arg" | "arguments" | "input" | "input_type" | "parameters" | "params" => {
            "the parameters of the function are those of the tool; `args = SearchArgs` names their struct"
        }
        "input_schema" | "schema" => {
            "remove it; the types of the parameters and `#[arg(..)]` make the schema"
        }
        "output" | "output_schema" | "output_type" | "response" | "result" | "return"
        | "returns" => "remove it; the function's return type makes the schema of the result",
        "strict" => {
            "remove it; arguments are always checked, and the provider decides about strict schemas"
        }
        "namespace" => "write `prefix` in `#[toolset(..)]`",
        "context" | "ctx" | "inject" | "state" => {
            "take `ctx: &RunContext`, or mark a parameter `#[context]`"
        }
        _ => return None,
    })
}

fn of_toolset(word: &str) -> Option<&'static str> {
    Some(match word {
        "group" | "namespace" | "scope" | "tool_prefix" => "write `prefix`, or `prefix = \"...\"`",
        "authentication" | "authorization" | "credentials" | "oauth" | "oauth2" | "security" => {
            "write `auth = Auth::ApiKey`, or another `Auth`"
        }
        "config" | "configuration" | "secrets" | "settings" => "implement `Configure` for the type",
        "auto" | "autodiscover" | "discoverable" | "inventory" | "manual" | "register" | "skip" => {
            "write `discover = false`, which leaves the toolset out of `ToolContext::discover()`"
        }
        "blocks" | "children" | "include" | "members" | "modules" => {
            "write `parts(admin)`, or `part` on the further blocks"
        }
        "tools" => "remove it; the methods with `#[tool]` are the tools",
        "init" | "on_start" | "setup" | "start" | "startup" => "write `#[setup]` above a method",
        "cleanup" | "close" | "drop" | "on_close" | "shutdown" | "teardown" => {
            "write `#[close]` above a method"
        }
        "condition" | "enabled" | "enabled_if" | "hidden" | "hide" | "if" | "permission"
        | "permissions" | "role" | "roles" | "visible" | "when" => {
            "write `#[tool(dynamic = function)]` on its tools"
        }
        "error" | "expose_errors" | "mask_errors" | "show_errors" => {
            "write `#[tool(errors = \"show\")]` on its tools"
        }
        _ => return None,
    })
}

/// The words for prompts and resources.
fn of_text(word: &str) -> Option<&'static str> {
    Some(match word {
        "arg" | "args" | "arguments" | "parameters" | "params" => {
            "remove it; the parameters of the function are the arguments"
        }
        "content" | "message" | "messages" | "template" => "return the text from the function",
        _ => return None,
    })
}

fn of_resource(word: &str) -> Option<&'static str> {
    Some(match word {
        "address" | "href" | "link" | "path" | "template" | "uri_template" | "url" => {
            "write `uri = \"notes://{id}\"`"
        }
        "content_type" | "format" | "media_type" | "mime_type" | "mimetype" | "type" => {
            "write `mime = \"text/markdown\"`"
        }
        _ => return None,
    })
}

fn of_arg(word: &str) -> Option<&'static str> {
    Some(match word {
        "maybe" | "not_required" | "null" | "nullable" | "opt" | "option" | "optional" => {
            "take `Option<T>`, or give the parameter a `default`"
        }
        "mandatory" | "non_null" | "require" | "required" => {
            "remove it; a parameter is required unless its type is `Option<T>` or it has a `default`"
        }
        "default_fn" | "default_value" | "default_value_t" | "fallback" | "initial" | "or"
        | "value" => "write `default = 30`, or `default` for the type's own default",
        "about" | "comment" | "desc" | "descr" | "doc" | "docs" | "help" | "hint" | "label"
        | "summary" | "text" | "title" => {
            "write a `///` comment above the parameter, or `description = \"...\"`"
        }
        "field" | "id" | "json" | "json_name" | "key" | "rename" => "write `name = \"...\"`",
        "alias" | "aliases" | "synonym" | "synonyms" => "write `#[serde(alias = \"...\")]`",
        "at_least" | "at_most" | "between" | "bounds" | "exclusive_max" | "exclusive_maximum"
        | "exclusive_min" | "exclusive_minimum" | "ge" | "greater" | "gt" | "le" | "less"
        | "lt" | "max" | "maximum" | "min" | "minimum" | "positive" => "write `range(1..=10)`",
        "chars" | "len" | "max_len" | "max_length" | "min_len" | "min_length" | "non_empty"
        | "not_empty" => "write `length(1..=80)`",
        "size" => "write `length(1..=80)` for a text, or `items(1..=10)` for a list",
        "count" | "elements" | "max_count" | "max_items" | "min_count" | "min_items" => {
            "write `items(1..=10)`"
        }
        "unique" | "unique_items" => "take a `HashSet<T>` or a `BTreeSet<T>`",
        "match" | "matches" | "re" | "regex" | "regexp" => "write `pattern = \"^[a-z]+$\"`",
        "allowed" | "allowed_values" | "any_of" | "choice" | "choices" | "const" | "contains"
        | "enum" | "in" | "literal" | "options" | "possible_values" | "value_enum" | "values"
        | "variants" => "write `one_of(\"asc\", \"desc\")`, or take an enum",
        "multiple_of" | "step" => {
            "write `#[schemars(extend(\"multipleOf\" = 5))]` on a field of a type of your own"
        }
        "email" => "write `format = \"email\"`",
        "uuid" => "write `format = \"uuid\"`",
        "hostname" => "write `format = \"hostname\"`",
        "ip" | "ipv4" => "write `format = \"ipv4\"`",
        "ipv6" => "write `format = \"ipv6\"`",
        "date" => "write `format = \"date\"`",
        "date_time" | "datetime" | "timestamp" => {
            "take a `Timestamp`, or write `format = \"date-time\"`"
        }
        "duration" => "write `format = \"duration\"`",
        "time" => "write `format = \"time\"`",
        "uri" | "url" => "write `pattern = \"^https://\"`",
        "sample" | "samples" => "write `example = \"Berlin\"`, which may be repeated",
        "embed" | "inline" | "merge" | "nested" | "spread" => "write `flatten`",
        "autocomplete" | "complete_with" | "completion" | "completions" | "suggest"
        | "suggestions" => {
            "write `complete = Self::cities`, on a parameter of a prompt or a resource"
        }
        "context" | "ctx" | "exclude" | "extension" | "from_context" | "hidden" | "hide"
        | "ignore" | "inject" | "injected" | "internal" | "private" | "skip" | "state" => {
            "mark a parameter that the run provides `#[context]`; the model provides all others"
        }
        "kind" | "schema" | "schema_with" | "ty" | "type" | "value_type" | "with" => {
            "the parameter's type makes the schema; `#[schemars(with = \"Type\")]` on the parameter takes that of another"
        }
        "deserialize" | "deserialize_with" | "parse" | "parse_with" | "value_parser" => {
            "write `#[serde(deserialize_with = \"function\")]` and `#[schemars(with = \"Type\")]` on the parameter"
        }
        "check" | "custom" | "validate" | "validate_with" | "validator" => {
            "check the value in the body and return an error, or use `range`, `length`, `items`, `pattern`, `one_of`, `format`"
        }
        _ => return None,
    })
}

fn of_tool_error(word: &str) -> Option<&'static str> {
    Some(match word {
        "category" | "class" | "code" | "error_kind" | "error_type" | "rate_limit"
        | "rate_limited" | "reason" | "status" | "throttled" | "type" => {
            "write `kind = \"rate_limit\"`"
        }
        "temporary" | "transient" | "unavailable" => "write `kind = \"transient\"`",
        "fatal" | "permanent" => "write `kind = \"permanent\"`",
        "conflict" => "write `kind = \"conflict\"`",
        "auth" | "forbidden" | "permission" | "unauthorized" => "write `kind = \"auth\"`",
        "hidden" | "hide" | "internal" | "mask" | "masked" | "private" => {
            "write `kind = \"internal\"`"
        }
        "can_retry" | "retry" => "write `retryable`",
        "partial" | "side_effects" => "write `partial_side_effects`",
        "display" | "message" | "msg" | "text" | "transparent" => {
            "remove it; the message is what the type's `Display` writes"
        }
        "from" | "source" => "implement `From`, or derive it with another macro",
        _ => return None,
    })
}

fn of_tool_type(word: &str) -> Option<&'static str> {
    Some(match word {
        "args" | "deserialize" | "deserialize_only" | "input_only" | "no_serialize"
        | "parameter" | "request" => "write `input`",
        "output" | "result" | "serialize" | "serialize_only" => {
            "remove it; the type derives both `Serialize` and `Deserialize`"
        }
        "deny_unknown_fields" | "rename" | "rename_all" | "tag" | "untagged" => {
            "write it in `#[serde(..)]`"
        }
        "description" | "doc" | "docs" => "write a `///` comment above the type",
        "krate" => "write `crate = ::path::to::tool_core`",
        _ => return None,
    })
}

fn of_setting(word: &str) -> Option<&'static str> {
    Some(match word {
        "bind" | "binding" | "binds" | "bound" | "secret" | "secrets" => "write `binds_secret`",
        _ => return None,
    })
}

fn of_agent(word: &str) -> Option<&'static str> {
    Some(match word {
        "id" | "label" | "rename" | "title" => {
            "write the name without a key: `#[agent(\"researcher\")]`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_other_frameworks_is_translated() {
        assert_eq!(
            help(&ARG, "optional").as_deref(),
            Some("take `Option<T>`, or give the parameter a `default`")
        );
        assert_eq!(
            help(&TOOL, "confirmation").as_deref(),
            Some("write `confirm`, or `confirm = function`")
        );
        assert_eq!(
            help(&TOOLSET, "namespace").as_deref(),
            Some("write `prefix`, or `prefix = \"...\"`")
        );
        assert_eq!(help(&TOOL, "blue"), None);
    }

    #[test]
    fn no_option_is_a_synonym_of_another_one() {
        let all = [
            &AGENT,
            &ARG,
            &PROMPT,
            &RESOURCE,
            &SETTING,
            &TOOL,
            &TOOL_ERROR,
            &TOOL_TYPE,
            &TOOLSET,
        ];
        for attribute in all {
            let is_synonym = |option: &&&str| of_attribute(attribute, option).is_some();
            let synonyms = attribute.known.iter().filter(is_synonym);
            assert_eq!(synonyms.collect::<Vec<_>>(), Vec::<&&str>::new());
        }
    }

    #[test]
    fn case_and_hint_do_not_matter() {
        assert_eq!(help(&TOOL, "readOnlyHint"), help(&TOOL, "read_only"));
        assert_eq!(help(&TOOL, "isAsync"), help(&TOOL, "async"));
        assert_eq!(
            help(&TOOL, "openWorldHint").as_deref(),
            Some("write `open_world`")
        );
    }
}
