//! Expansions against golden files. `UPDATE_EXPECT=1 cargo test -p tool-core-macros` updates the files.

use expect_test::expect_file;

use super::{errors_in, pretty, tokens};
use crate::{driver, tool_error};

macro_rules! expands {
    ($($(#[$doc:meta])* $name:ident: $macro:ident($args:literal) $source:literal;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let expanded = driver::$macro(tokens($args), &tokens($source));
            assert_eq!(errors_in(&expanded), Vec::<String>::new());
            expect_file![concat!("../snapshots/", stringify!($name), ".rs")].assert_eq(&pretty(&expanded));
        }
    )*};
}

expands! {
    async_method: toolset(r#"name = "google_calendar""#) r#"
        /// Manage Google Calendar events.
        impl GoogleCalendar {
            /// Create a new calendar event.
            #[tool(category = "action", confirm, timeout = "5s")]
            async fn create_event(
                &self,
                ctx: &RunContext,
                /// Event title
                title: String,
                /// Start of the event, RFC 3339
                start_time: Timestamp,
                /// Length in minutes
                #[arg(default = 30, range(5..=480))]
                duration_minutes: u32,
                /// Addresses of the attendees
                attendees: Option<Vec<String>>,
                /// Text shown in the event
                description: Option<&str>,
            ) -> Result<Event, CalendarError> { self.insert(title).await }
        }"#;

    sync_method: toolset("") r"
        impl Clock {
            /// What time it is.
            ///
            /// # Arguments
            ///
            /// * `zone` - An IANA zone,
            ///   such as Europe/Berlin
            ///
            /// # Returns
            ///
            /// The time, RFC 3339
            #[tool]
            pub fn now(&self, mut zone: String) -> String { zone.push('x'); zone }

            pub const EPOCH: u64 = 0;
        }";

    free_fn: tool("") r"
        /// Add two numbers.
        fn add(a: i64, #[arg(default)] b: i64) -> i64 { a + b }";

    async_agent: agent(r#""researcher""#) r"
        /// Finds out.
        pub async fn research(&self, topic: &str) -> Result<Box<impl Display>, Error> { self.ask(topic).await }";

    agent_that_is_not_async: agent("NAME, crate = far::tool_core") r"
        #[must_use]
        fn plan(mut steps: Vec<Step>) -> usize { #![allow(unused)] steps.sort(); steps.len() }";

    agent_that_returns_a_future: agent("") r"
        fn r#loop(&self) -> impl Future<Output = u8> { async { 1 } }";

    tool_that_is_an_agent: toolset("") r#"
        impl Library {
            /// Find a book.
            #[agent("librarian")]
            #[tool]
            async fn find(&self, title: String) -> Book { self.shelf.get(title).await }

            #[agent("page")]
            async fn fetch(&self) {}
        }"#;

    no_parameters: tool(r#"name = "ping", idempotent"#) r"
        /// Says that the service is there.
        fn ping() {}";

    docs_with_macros: tool("args = SearchArgs") r#"
        /// Search the notes.
        #[doc = include_str!("search.md")]
        ///
        /// At most ten.
        #[cfg_attr(unix, doc = "On Unix.", doc = paths!())]
        ///
        /// # Arguments
        ///
        /// * `limit` - How many
        #[cfg_attr(unix, doc = "  of them")]
        ///
        /// # Errors
        ///
        /// When it is busy.
        #[doc = errors!()]
        fn search(
            /// What to look for
            #[doc = syntax!()]
            query: &str,
            limit: u8,
        ) {}"#;

    context_parameters: tool("") r"
        /// Look something up.
        async fn look_up(ctx: RunContext, #[context] user: &User, query: String, #[context] cancel: Cancellation) -> Page {
            todo!()
        }";

    context_pattern: toolset("") r"
        impl Desk {
            /// Find a guest.
            #[tool]
            async fn find(&self, #[context] UserData(db): UserData<Db>, name: &str) -> Option<Guest> {
                db.find(name).await
            }
        }";

    dynamic_tool: toolset("") r"
        impl Desk {
            /// Open the safe.
            #[tool(dynamic = Self::is_staff)]
            fn open_safe(&self) {}
        }";

    borrowed_parameters: tool("") r"
        /// Take everything that can be lent.
        fn lent(
            a: &str, b: Option<&str>, c: &[u32], d: Option<&[u32]>, e: &Point, f: Option<&Point>,
            g: Cow<'_, str>, h: Option<Cow<'_, str>>, i: &[&str], j: Vec<&str>, r#type: &str,
        ) {}";

    defaults: toolset("") r#"
        impl Search {
            const LIMIT: u32 = 5;

            /// Search the index.
            #[tool]
            async fn search(
                &self,
                query: &str,
                #[arg(default = "en")] language: String,
                #[arg(default = "web")] scope: &str,
                #[arg(default = -0.5)] bias: f64,
                #[arg(default = Self::LIMIT)] limit: u32,
                #[arg(default = self.config.pages)] pages: u8,
                #[arg(default = self.region())] region: &str,
                #[serde(default = "defaults::tags")] tags: Vec<String>,
                #[arg(default = 3)] depth: Option<u8>,
            ) -> Vec<Hit> { todo!() }
        }"#;

    constraints: tool("") r#"
        /// Send a message.
        fn send(
            #[arg(length(1..=80), pattern = "^[a-z]+$", example = "ada", example = NAMES[0])] to: String,
            #[arg(length(..100))] subject: &str,
            #[arg(items(1..=3), format = "email")] copies: Vec<String>,
            #[arg(one_of("low", "high"), default = "low")] priority: String,
            #[arg(one_of(1, 2, -4))] weight: i32,
            #[arg(range(0.0..1.0))] chance: f64,
            #[arg(range(..=10))] tries: u8,
        ) {}"#;

    generic_block_with_parts: toolset(r#"name = "store", parts(admin)"#) r"
        impl<T: Record, const N: usize> Store<T, N> where T::Key: Send {
            /// Put a record.
            #[tool]
            async fn put(&self, record: T, key: T::Key) -> Result<(), T::Error> { todo!() }

            /// Count the records.
            #[tool]
            fn count(&self) -> usize { N }
        }";

    generic_part: toolset("part = admin") r"
        impl<T: Record, const N: usize> Store<T, N> where T::Key: Send {
            /// Drop every record.
            #[tool(destructive)]
            fn clear(&self) -> Self { todo!() }
        }";

    concrete_part: toolset("part") r"
        impl Calendar {
            /// Delete an event.
            #[tool(destructive, confirm)]
            fn delete(&self, id: u64) {}
        }";

    whole_toolset: toolset(r#"title = "Mail", prefix, auth = Auth::oauth2("google", &["mail"]), discover = false"#) r#"
        /// Reads mail.
        impl Mail {
            #[setup]
            async fn connect(&self) -> Result<(), MailError> { Ok(()) }

            #[close]
            fn disconnect(&self) {}

            /// Read a mail.
            #[tool(
                name = "read", title = "Read", category = "retrieval", modes("voice"), on_duplicate = "replace",
                duplicate_scope = "name_and_args", sequential, cancellable, max_output = 1500, max_calls = 3
            )]
            pub async fn read_one(&self, id: u64) -> impl Serialize { id }
        }"#;

    conditional_method: toolset("") r#"
        #[cfg(feature = "clock")]
        impl Clock {
            /// Seconds since the epoch.
            #[cfg(unix)]
            #[deprecated]
            #[tool]
            fn now(&self, #[arg(range(0..=9))] digits: u8) -> u64 { 0 }

            /// Seconds since the epoch.
            #[cfg(windows)]
            #[tool]
            fn now(&self) -> u64 { 0 }
        }"#;

    conditional_lifecycle: toolset("") r"
        impl Clock {
            #[cfg(unix)]
            #[setup]
            async fn open(&self) {}

            #[cfg(windows)]
            #[setup]
            fn open_here(&self) {}

            /// Seconds since the epoch.
            #[tool]
            fn now(&self) -> u64 { 0 }
        }";

    flattened_and_derived: tool("") r#"
        /// List the files.
        fn list(
            folder: String,
            #[arg(flatten)] paging: Paging,
            #[serde(rename = "order_by", alias = "sort")] #[schemars(description = "The column")] order: String,
            /// Not before
            #[serde(deserialize_with = "lenient", default)] since: Option<Timestamp>,
        ) -> Vec<File> { todo!() }"#;

    named_arguments: toolset("") r"
        impl Bank {
            /// Move money.
            #[tool(args = TransferArgs, confirm = |args: &TransferArgs| args.amount > 100)]
            pub async fn transfer(
                &self,
                /// To whom
                to: &str,
                amount: u64,
            ) -> Result<Receipt, BankError> { todo!() }
        }";

    confirm_by_function: toolset("crate = crate::tools") r"
        impl Bank {
            /// Close an account.
            #[tool(confirm = Self::is_large)]
            fn close_account(&self, id: u64, other: CloseAccountArgs) {}
        }";

    confirm_by_instance: toolset("crate = crate::tools") r"
        impl Bank {
            /// Close an account.
            #[tool(confirm = self.settings.asks)]
            fn close_account(&self, id: u64) {}
        }";

    prompts_and_resources: toolset("prefix") r#"
        impl Notes {
            /// Summarise a note.
            #[prompt(title = "Summary", errors = "show")]
            async fn summarise(
                &self,
                ctx: &RunContext,
                /// The title
                #[arg(complete = Self::titles)]
                title: &str,
                #[arg(default = 3)] sentences: u32,
            ) -> Result<String, NoteError> { self.find(title).await }

            /// A note.
            #[resource(uri = "notes://{title}", mime = "text/markdown")]
            fn note(&self, #[arg(complete = Self::titles)] title: String) -> String { title }
        }"#;

    free_prompt: prompt("") r"
        /// Plan a trip.
        fn trip(#[arg(complete = cities)] city: &str) -> String { city.to_owned() }";

    free_resource: resource(r#"uri = "notes://all""#) r#"
        /// All notes.
        fn notes() -> &'static str { "none" }"#;

    renamed_crate: toolset("crate = crate") r"
        impl Echo {
            /// Say it again.
            #[tool]
            fn echo(&self, text: &str) -> String { text.to_owned() }
        }";
}

#[test]
fn derived_tool_error() {
    let expanded = tool_error::derive(tokens(
        r#"
        #[tool_error(kind = "transient", retryable)]
        pub enum CalendarError<T> where T: Debug {
            Unreachable,
            #[tool_error(kind = "rate_limit", retryable = false)]
            Limited { after: u64 },
            #[tool_error(kind = "internal", partial_side_effects)]
            Broken(T),
        }"#,
    ));
    assert_eq!(errors_in(&expanded), Vec::<String>::new());
    expect_file!["../snapshots/derived_tool_error.rs"].assert_eq(&pretty(&expanded));
}

#[test]
fn derived_tool_error_of_a_struct() {
    let expanded = tool_error::derive(tokens("#[tool_error(kind = \"auth\")] struct Expired;"));
    assert_eq!(errors_in(&expanded), Vec::<String>::new());
    expect_file!["../snapshots/derived_tool_error_of_a_struct.rs"].assert_eq(&pretty(&expanded));
}
