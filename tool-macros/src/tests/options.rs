//! The parsing of options.

use syn::parse_quote;

use super::{errors_in, tokens};
use crate::attr::arg::{ArgOptions, Constraint, DefaultOption, Literal};
use crate::attr::bounds::Number::{Float, Int};
use crate::attr::grammar::{TOOL, TOOL_NUMBERS, TOOL_TIMES};
use crate::attr::tool::ItemKind;
use crate::attr::tool::{Confirm, ItemOptions, Modes, milliseconds};
use crate::attr::toolset::{PartOption, PrefixOption, ToolsetOptions};
use crate::driver;
use crate::errors::Errors;
use crate::expand::value::literal_json;

fn tool(attr: &syn::Attribute) -> ItemOptions {
    let mut errors = Errors::default();
    let options = ItemOptions::parse(ItemKind::Tool, attr, &mut errors);
    assert!(errors.into_tokens().is_none());
    options
}

fn arg(attr: &syn::Attribute) -> ArgOptions {
    let mut errors = Errors::default();
    let mut options = ArgOptions::default();
    options.parse(attr, &mut errors);
    assert_eq!(errors.into_tokens().map(|tokens| errors_in(&tokens)), None);
    options
}

#[test]
fn a_bare_attribute_has_no_options() {
    let options = tool(&parse_quote!(#[tool]));
    assert!(options.name.is_none() && options.flags.is_empty() && options.confirm.is_none());
}

#[test]
fn reads_tool_options_of_every_kind() {
    let options = tool(&parse_quote!(#[tool(
        name = "n", title = "t", description = DESCRIPTION, category = "action", modes("voice", "text"), confirm,
        timeout = "800ms", idempotent, destructive, open_world, ignore_on_enter, cancellable, on_duplicate = "reject",
        duplicate_scope = "name_and_args", sequential, blocking, max_output = 1_500, max_calls = 3, guide = "g.md",
        args = MyArgs, crate = ::other::path,
    )]));
    assert_eq!(options.name.map(|name| name.value()).as_deref(), Some("n"));
    assert_eq!(
        (options.category, options.on_duplicate),
        (Some("action"), Some("reject"))
    );
    assert_eq!(options.modes, Some(Modes::Both));
    let times = options
        .times
        .iter()
        .map(|time| (time.name, time.milliseconds))
        .collect::<Vec<_>>();
    assert_eq!(times, [("timeout", 800)]);
    let numbers = options
        .numbers
        .iter()
        .map(|number| (number.name, number.value))
        .collect::<Vec<_>>();
    assert_eq!(numbers, [("max_output", 1500), ("max_calls", 3)]);
    assert!(matches!(options.confirm, Some(Confirm::Always)));
    assert_eq!(options.flags.len(), 7);
    assert!(options.args.is_some() && options.krate.is_some() && options.guide.is_some());
}

/// Returns the expansion of a tool that may have any option, without spaces.
fn expanded(options: &str) -> String {
    let item = tokens("/// D.\n async fn get() {}");
    let options = format!("category = \"retrieval\", {options}");
    let mut expanded = driver::tool(tokens(&options), &item).to_string();
    expanded.retain(|letter| letter != ' ');
    expanded
}

/// Returns the first message about a tool with this option.
fn refusal(option: &str) -> String {
    let item = tokens("/// D.\n async fn get() {}");
    let expanded = driver::tool(tokens(option), &item);
    let mut messages = errors_in(&expanded);
    assert!(!messages.is_empty(), "no error for {option}");
    messages.remove(0)
}

#[test]
fn each_time_and_number_sets_the_option_of_its_name() {
    for time in TOOL_TIMES {
        let name = time.name;
        let spec = expanded(&format!("{name} = \"3s\""));
        let setter = format!(".{name}(__tool::milliseconds(3000))");
        assert!(spec.contains(&setter), "{setter}: {spec}");
    }
    for number in TOOL_NUMBERS {
        let name = number.name;
        let spec = expanded(&format!("{name} = 3"));
        let setter = format!(".{name}(3)");
        assert!(spec.contains(&setter), "{setter}: {spec}");
    }
}

#[test]
fn each_time_refuses_what_is_no_time() {
    for time in TOOL_TIMES {
        let name = time.name;
        let example = time.example;
        assert!(TOOL.known.contains(&name), "{name}");
        assert_eq!(
            refusal(&format!("{name} = \"soon\"")),
            format!(
                "invalid {name} `soon`\nhelp: write a whole number and a unit: `\"800ms\"`, `\"5s\"` or `\"2m\"`"
            )
        );
        assert_eq!(
            refusal(&format!("{name} = 5")),
            format!("invalid value `5` for `{name}`\nhelp: write `{name} = {example}`")
        );
    }
}

#[test]
fn each_number_refuses_zero_and_what_is_too_large() {
    for number in TOOL_NUMBERS {
        let name = number.name;
        let example = number.example;
        assert!(TOOL.known.contains(&name), "{name}");
        assert_eq!(refusal(&format!("{name} = 0")), number.zero);
        let too_large = u128::from(number.most) + 1;
        assert_eq!(
            refusal(&format!("{name} = {too_large}")),
            format!("invalid value `{too_large}` for `{name}`\nhelp: write `{name} = {example}`")
        );
    }
}

#[test]
fn unknown_option_lists_all_that_the_attribute_takes() {
    let message = refusal("blue");
    assert_eq!(message.matches('`').count(), 2 * (TOOL.known.len() + 2));
    for option in TOOL.known {
        assert!(message.contains(&format!("`{option}`")), "{message}");
    }
}

#[test]
fn confirm_takes_a_function_or_a_boolean() {
    assert!(matches!(
        tool(&parse_quote!(#[tool(confirm = needs_approval)])).confirm,
        Some(Confirm::When(_))
    ));
    assert!(matches!(
        tool(&parse_quote!(#[tool(confirm = |args| args.amount > 3)])).confirm,
        Some(Confirm::When(_))
    ));
    assert!(matches!(
        tool(&parse_quote!(#[tool(confirm = self.asks)])).confirm,
        Some(Confirm::Instance(_))
    ));
    assert!(matches!(
        tool(&parse_quote!(#[tool(confirm = false)])).confirm,
        Some(Confirm::Never)
    ));
}

#[test]
fn reads_timeouts_in_milliseconds_seconds_or_minutes() {
    let read = |text: &str| {
        let text = syn::LitStr::new(text, proc_macro2::Span::call_site());
        milliseconds("timeout", &text).ok()
    };
    assert_eq!(
        ["800ms", "5s", "2m", "5 s"].map(read),
        [Some(800), Some(5_000), Some(120_000), Some(5_000)]
    );
    assert_eq!(
        [
            "",
            "5",
            "s",
            "0s",
            "-5s",
            "1.5s",
            "5h",
            "99999999999999999999s"
        ]
        .map(read),
        [None; 8]
    );
}

#[test]
fn reads_prefixes_and_parts_with_and_without_values() {
    let read = |attr: &syn::Attribute| ToolsetOptions::parse(attr, &mut Errors::default());
    assert!(matches!(
        read(&parse_quote!(#[toolset(prefix)])).prefix,
        Some(PrefixOption::Name)
    ));
    assert!(matches!(
        read(&parse_quote!(#[toolset(prefix = "x")])).prefix,
        Some(PrefixOption::Text(_))
    ));
    assert!(matches!(
        read(&parse_quote!(#[toolset(part)])).part,
        Some(PartOption::Unnamed(_))
    ));
    assert!(
        matches!(read(&parse_quote!(#[toolset(part = admin)])).part, Some(PartOption::Named(name)) if name == "admin")
    );
    assert_eq!(
        read(&parse_quote!(#[toolset(parts(admin, stats))]))
            .parts
            .len(),
        2
    );
}

#[test]
fn reads_ranges_with_any_bounds_and_signs() {
    let range = |attr: &syn::Attribute| match arg(attr).constraints.pop() {
        Some(Constraint::Range(range)) => {
            let (min, max) = range.numbers();
            (min, max, range.exclusive)
        }
        _ => panic!("a range"),
    };
    assert_eq!(
        range(&parse_quote!(#[arg(range(5..=480))])),
        (Some(Int(5)), Some(Int(480)), false)
    );
    assert_eq!(
        range(&parse_quote!(#[arg(range(-5..1_0))])),
        (Some(Int(-5)), Some(Int(10)), true)
    );
    assert_eq!(
        range(&parse_quote!(#[arg(range(0..))])),
        (Some(Int(0)), None, false)
    );
    assert_eq!(
        range(&parse_quote!(#[arg(range(..=0.5))])),
        (None, Some(Float(0.5)), false)
    );
}

#[test]
fn reads_lengths_as_inclusive_bounds() {
    let size = |attr: &syn::Attribute| match arg(attr).constraints.pop() {
        Some(Constraint::Length(size) | Constraint::Items(size)) => size.numbers(),
        _ => panic!("a size"),
    };
    assert_eq!(
        size(&parse_quote!(#[arg(length(1..=80))])),
        (Some(1), Some(80))
    );
    assert_eq!(size(&parse_quote!(#[arg(length(..100))])), (None, Some(99)));
    assert_eq!(size(&parse_quote!(#[arg(items(3))])), (Some(3), Some(3)));
}

#[test]
fn reads_several_examples() {
    assert_eq!(
        arg(&parse_quote!(#[arg(example = 1, example = two())]))
            .examples
            .len(),
        2
    );
}

#[test]
fn converts_literal_defaults_to_json() {
    let json = |attr: &syn::Attribute| match arg(attr).default {
        Some(DefaultOption::Value(expr)) => {
            Literal::of(&expr).map(|literal| literal_json(&expr, &literal))
        }
        _ => None,
    };
    assert_eq!(
        json(&parse_quote!(#[arg(default = 1_000u32)])).as_deref(),
        Some("1000")
    );
    assert_eq!(
        json(&parse_quote!(#[arg(default = -0x10)])).as_deref(),
        Some("-16")
    );
    assert_eq!(
        json(&parse_quote!(#[arg(default = 1.)])).as_deref(),
        Some("1.0")
    );
    assert_eq!(
        json(&parse_quote!(#[arg(default = (true))])).as_deref(),
        Some("true")
    );
    assert_eq!(
        json(&parse_quote!(#[arg(default = "a\"\\\n\u{1}é")])).as_deref(),
        Some("\"a\\\"\\\\\\n\\u0001é\"")
    );
    assert_eq!(json(&parse_quote!(#[arg(default = two())])), None);
}

#[test]
fn accepts_patterns_with_brackets_in_classes() {
    for good in [r"^\(a\)[()\]]$", "[]a]", "[^]a(]", "(a|(b))", "a]"] {
        assert_eq!(
            arg(&parse_quote!(#[arg(pattern = #good)]))
                .constraints
                .len(),
            1,
            "{good}"
        );
    }
}

#[test]
fn reports_errors_after_an_unknown_option() {
    let mut errors = Errors::default();
    ItemOptions::parse(
        ItemKind::Tool,
        &parse_quote!(#[tool(nam = f(1, 2), timeout = "soon", blu, category = 3)]),
        &mut errors,
    );
    assert_eq!(
        errors_in(&errors.into_tokens().unwrap_or_default()).len(),
        4
    );
}

#[test]
fn reads_options_inside_macro_rules_groups() {
    let grouped = |tokens| {
        proc_macro2::TokenTree::from(proc_macro2::Group::new(
            proc_macro2::Delimiter::None,
            tokens,
        ))
    };
    let number = grouped(tokens("5"));
    let text = grouped(tokens("\"x\""));
    let options = arg(&parse_quote!(#[arg(default = #number, name = #text, range(1..=#number))]));
    assert!(
        matches!(options.default, Some(DefaultOption::Value(expr)) if Literal::of(&expr) == Some(Literal::Number(Int(5))))
    );
    assert_eq!(options.name.map(|name| name.value()).as_deref(), Some("x"));
}
