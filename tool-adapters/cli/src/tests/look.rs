//! The look of text: width, colours and progress.

use crate::tests::{command_line_add, command_line_delete, file, path, piped, run_in, tools};
use crate::{CommandIo, CommandStatus, run};
use expect_test::{Expect, expect};
use serde_json::json;
use std::io::Write;
use tokio::sync::Notify;
use tool_core::{RunContext, ToolContext, tool};

/// Book a flight. Nothing is paid before the person has confirmed the price.
///
/// # Parameters
/// - `from`: The airport of departure
/// - `seats`: Number of seats, of which children need one each
/// - `class`: The class
/// - `extras`: Addresses that get the ticket
///
/// # Returns
/// The number of the booking
#[tool(
    category = "action",
    confirm,
    destructive,
    timeout = "20s",
    max_calls = 3,
    on_duplicate = "reject"
)]
async fn book_flight(
    #[arg(pattern = "^[A-Z]{3}$")] from: String,
    #[arg(default = 1, range(1..=9))] seats: u8,
    #[arg(one_of("economy", "business"))] class: Option<String>,
    #[arg(default, format = "email", items(..=3))] extras: Vec<String>,
) -> String {
    format!("{from} {seats} {class:?} {extras:?}")
}

async fn shown(arguments: &[&str], width: usize, expected: Expect) {
    let tools = ToolContext::builder()
        .with(book_flight)
        .with(command_line_add)
        .with(command_line_delete)
        .build()
        .expect("sound tools");
    let ran = run_in(&tools, arguments, "", Some(width), false).await;
    assert_eq!(
        (ran.status, ran.errors.as_str()),
        (CommandStatus::Success, "")
    );
    // The source's line changes with the file.
    let lines = ran
        .output
        .lines()
        .filter(|line| !line.starts_with("source") && !line.contains("look.rs:"))
        .collect::<Vec<_>>();
    assert!(
        lines.iter().all(|line| line.chars().count() <= width),
        "{}",
        ran.output
    );
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[tokio::test]
async fn list_is_a_table_at_80_columns() {
    shown(
        &["list"],
        80,
        expect![[r"
        TOOL                 PARAMETERS       CONFIRM  CATEGORY   MODES  DESCRIPTION
        book_flight          from, seats?,    always   action     both   Book a flight.
                             class?, extras?
        command_line_add     a, b?            never    retrieval  both   Add two
                                                                         numbers.
        command_line_delete  id               always   action     both   Delete a
                                                                         record.
    "]],
    )
    .await;
}

#[tokio::test]
async fn list_is_a_list_at_40_columns() {
    shown(
        &["list"],
        40,
        expect![[r"
        book_flight
          PARAMETERS   from, seats?, class?,
                       extras?
          CONFIRM      always
          CATEGORY     action
          MODES        both
          DESCRIPTION  Book a flight.
        command_line_add
          PARAMETERS   a, b?
          CONFIRM      never
          CATEGORY     retrieval
          MODES        both
          DESCRIPTION  Add two numbers.
        command_line_delete
          PARAMETERS   id
          CONFIRM      always
          CATEGORY     action
          MODES        both
          DESCRIPTION  Delete a record.
    "]],
    )
    .await;
}

#[tokio::test]
async fn show_is_a_table_at_80_columns() {
    shown(
        &["show", "book_flight"],
        80,
        expect![[r"
        book_flight
        Book a flight. Nothing is paid before the person has confirmed the price.

        PARAMETER  TYPE             REQUIRED  DEFAULT  LIMITS           DESCRIPTION
        from       string           yes                pattern          The airport of
                                                       ^[A-Z]{3}$       departure
        seats      integer          no        1        1 to 9           Number of seats,
                                                                        of which
                                                                        children need
                                                                        one each
        class      string           no                 one of economy,  The class
                                                       business
        extras     array of string  no        []       at most 3        Addresses that
                                                       items, each      get the ticket
                                                       format email

        OPTION        VALUE
        category      action
        modes         voice, text
        confirm       always
        flags         destructive
        timeout       20s
        on_duplicate  reject
        max_calls     3 a turn
        returns       The number of the booking
        tokens        155 (estimate)

        A call needs approval, which `call --approve` gives.
    "]],
    )
    .await;
}

#[tokio::test]
async fn show_is_a_list_at_40_columns() {
    shown(
        &["show", "book_flight"],
        40,
        expect![[r"
        book_flight
        Book a flight. Nothing is paid before
        the person has confirmed the price.

        from
          TYPE         string
          REQUIRED     yes
          LIMITS       pattern ^[A-Z]{3}$
          DESCRIPTION  The airport of departure
        seats
          TYPE         integer
          REQUIRED     no
          DEFAULT      1
          LIMITS       1 to 9
          DESCRIPTION  Number of seats, of which
                       children need one each
        class
          TYPE         string
          REQUIRED     no
          LIMITS       one of economy, business
          DESCRIPTION  The class
        extras
          TYPE         array of string
          REQUIRED     no
          DEFAULT      []
          LIMITS       at most 3 items, each
                       format email
          DESCRIPTION  Addresses that get the
                       ticket

        OPTION        VALUE
        category      action
        modes         voice, text
        confirm       always
        flags         destructive
        timeout       20s
        on_duplicate  reject
        max_calls     3 a turn
        returns       The number of the booking
        tokens        155 (estimate)

        A call needs approval, which `call
        --approve` gives.
    "]],
    )
    .await;
}

#[tokio::test]
async fn lint_fits_40_columns() {
    let arguments = [
        "lint",
        "--provider",
        "mcp",
        "--provider",
        "anthropic",
        "--notes",
    ];
    shown(
        &arguments,
        40,
        expect![[r"
        note: command_line_add: `minimum` at
          `/properties/a` is rewritten: the
          bound of the number's type is left
          out; a call beyond it is refused
          (anthropic)
        note: command_line_add: `minimum` at
          `/properties/b` is rewritten: the
          bound of the number's type is left
          out; a call beyond it is refused
          (anthropic)
        note: command_line_add: `maximum` at
          `/properties/b` is rewritten: the
          bound of the number's type is left
          out; a call beyond it is refused
          (anthropic)
        note: command_line_delete: `maximum`
          at `/properties/id` is rewritten: the
          bound of the number's type is left
          out; a call beyond it is refused
          (anthropic)

        mcp 3 tools 453 tokens, the most for
          book_flight (205)
        anthropic 3 tools 298 tokens, the most
          for book_flight (166)
    "]],
    )
    .await;
}

#[tokio::test]
async fn schema_and_manifest_fit_40_columns() {
    for arguments in [&["schema", "--provider", "mcp"][..], &["manifest"]] {
        let ran = run_in(&tools(), arguments, "", Some(40), false).await;
        assert!(
            ran.output.contains("command_line_add\n  "),
            "{}",
            ran.output
        );
        assert!(
            ran.output.lines().all(|line| line.chars().count() <= 40),
            "{}",
            ran.output
        );
    }
}

#[tokio::test]
async fn text_has_colours_only_on_request() {
    for arguments in [
        &["list"][..],
        &["show", "command_line_delete"],
        &["--help"],
        &["lint", "--notes"],
        &["bark"],
    ] {
        let plain = run_in(&tools(), arguments, "", Some(60), false).await;
        let colored = run_in(&tools(), arguments, "", Some(60), true).await;
        assert!(
            !plain.output.contains('\u{1b}') && !plain.errors.contains('\u{1b}'),
            "{}",
            plain.output
        );
        let text = colored.output + &colored.errors;
        assert!(text.contains("\u{1b}["), "{arguments:?}: {text}");
        let stripped = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(stripped, plain.output + &plain.errors);
    }
    let json = run_in(&tools(), &["list", "--json"], "", Some(60), true).await;
    assert!(!json.output.contains('\u{1b}'));
}

#[tokio::test]
async fn show_names_the_nearest_tool() {
    let ran = piped(&["show", "command_line_ad"]).await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Failure, "")
    );
    assert!(
        ran.errors.contains("did you mean `command_line_add`?"),
        "{}",
        ran.errors
    );
}

#[tokio::test]
async fn show_has_the_file_of_a_declaration_as_its_source() {
    let file = file(
        json!([{"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}])
            .to_string(),
    );
    let ran = piped(&["show", "echo", "--tools", path(&file)]).await;
    assert!(
        ran.output.contains("No parameters.") && ran.output.contains(path(&file)),
        "{}",
        ran.output
    );
}

static SHOWN: Notify = Notify::const_new();

/// An error stream that releases the tool once it shows the tool's progress.
struct ReleasingErrors(Vec<u8>);

impl Write for ReleasingErrors {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        if String::from_utf8_lossy(&self.0).contains("half way") {
            SHOWN.notify_one();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Wait until the progress is shown.
#[tool]
async fn wait_for_progress(ctx: &RunContext) -> &'static str {
    ctx.progress().fraction(0.5, "half way");
    SHOWN.notified().await;
    "done"
}

#[tokio::test]
async fn a_long_call_shows_its_progress_in_one_line() {
    let tools = ToolContext::builder()
        .with(wait_for_progress)
        .build()
        .expect("sound tools");
    let mut input = &b""[..];
    let mut output = Vec::new();
    let mut errors = ReleasingErrors(Vec::new());
    let mut io = CommandIo::new(&mut input, &mut output, &mut errors)
        .width(40)
        .progress(true);
    let status = run(["tools", "call", "wait_for_progress"], &tools, &mut io).await;
    assert_eq!((status, &*output), (CommandStatus::Success, &b"done\n"[..]));
    let errors = String::from_utf8(errors.0).expect("text");
    let shown = "wait_for_progress 50 % half way, 0 s";
    let erased = format!("\r{}\r", " ".repeat(shown.len()));
    assert!(
        errors.starts_with(&format!("{shown}{erased}")),
        "{errors:?}"
    );
    assert!(
        errors.contains(&format!("{erased}ok: ")) && !errors.trim_end().contains('\n'),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_short_call_shows_no_progress() {
    let mut input = &b""[..];
    let mut output = Vec::new();
    let mut errors = Vec::new();
    let mut io = CommandIo::new(&mut input, &mut output, &mut errors).progress(true);
    let status = run(
        ["tools", "call", "command_line_add", "a=1"],
        &tools(),
        &mut io,
    )
    .await;
    assert!(
        status == CommandStatus::Success && !errors.contains(&b'\r'),
        "{errors:?}"
    );
}
