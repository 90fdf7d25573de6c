/// Manage Google Calendar events.
impl GoogleCalendar {
    /// Create a new calendar event.
    async fn create_event(
        &self,
        ctx: &RunContext,
        title: String,
        start_time: Timestamp,
        duration_minutes: u32,
        attendees: Option<Vec<String>>,
        description: Option<&str>,
    ) -> Result<Event, CalendarError> {
        ::tool_core::__private::body::<Result<Event, CalendarError>>()
            .__tool_span(
                ::tool_core::__private::function!("::GoogleCalendar::create_event"),
            )
            .run_async(move |__typed| async move {
                if let ::core::option::Option::Some(__typed) = __typed.value() {
                    return __typed;
                }
                self.insert(title).await
            })
            .await
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct CreateEventArgs<'__de> {
        title: String,
        start_time: Timestamp,
        duration_minutes: u32,
        attendees: Option<Vec<String>>,
        description: __Option<__tool::Text<'__de>>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for CreateEventArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<String>("title", "Event title"),
            __Row::new::<Timestamp>("start_time", "Start of the event, RFC 3339"),
            __Row::new::<u32>("duration_minutes", "Length in minutes")
                .default_literal("30")
                .constraints(&[__Limit::integers(__Some(5), __Some(480), false)]),
            __Row::new::<Option<Vec<String>>>("attendees", "Addresses of the attendees"),
            __Row::new::<__Option<__String>>("description", "Text shown in the event"),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None, __None, __None, __None);
            let __decoded = __from
                .read([&mut __f.0, &mut __f.1, &mut __f.2, &mut __f.3, &mut __f.4])?;
            let __args = Self {
                title: __tool::filled(__f.0),
                start_time: __tool::filled(__f.1),
                duration_minutes: __f.2.unwrap_or_else(|| -> u32 { 30 }),
                attendees: __tool::filled(__f.3),
                description: __tool::filled(__f.4),
            };
            __from.check(2, __tool::in_range(&__args.duration_minutes, Self::row(2)))?;
            __from.accept(__decoded, __args)
        }
    }
    fn __tool_create_event<'__a>(
        __this: &'__a GoogleCalendar,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: CreateEventArgs<'_> = __call.arguments()?;
        let __contexts = (__tool::context::<&RunContext>(__call)?,);
        let __method = async move {
            GoogleCalendar::create_event(
                    __this,
                    __contexts.0,
                    __args.title,
                    __args.start_time,
                    __args.duration_minutes,
                    __args.attendees,
                    __args.description.as_deref(),
                )
                .await
        };
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    impl __tool::MainToolsetBlock for GoogleCalendar {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "google_calendar",
            )
            .description("Manage Google Calendar events.")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("create_event", __tool_create_event)
                .description("Create a new calendar event.")
                .parameters::<CreateEventArgs<'_>>()
                .at(0, __tool::path!("::GoogleCalendar::create_event"))
                .category(__tool::Category::Action)
                .confirm(__tool::Confirm::Always)
                .timeout(__tool::milliseconds(5000))
                .uses_context()
                .output(|__generator| {
                    __tool::of_type::<Result<Event, CalendarError>>()
                        .__schema(__generator)
                }),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < GoogleCalendar > ()
    }
};
