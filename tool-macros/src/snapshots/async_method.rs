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
                "create_event",
                ::tool_core::__private::function_id!("::GoogleCalendar::create_event"),
            )
            .run_async(async move {
                ::tool_core::__returns!(Result < Event, CalendarError >);
                self.insert(title).await
            })
            .await
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    use __tool::locals::*;
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
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            let __decoded = __source
                .read(&mut [&mut __f0, &mut __f1, &mut __f2, &mut __f3, &mut __f4])?;
            let __args = Self {
                title: __tool::filled(__f0),
                start_time: __tool::filled(__f1),
                duration_minutes: __f2.unwrap_or_else(|| -> u32 { 30 }),
                attendees: __tool::filled(__f3),
                description: __tool::filled(__f4),
            };
            __source.check(2, __tool::in_range(&__args.duration_minutes, Self::row(2)))?;
            __source.accept(__decoded)?;
            __Ok(__args)
        }
    }
    fn __tool_create_event<'__a>(
        __this: &'__a GoogleCalendar,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: CreateEventArgs<'_> = __call.arguments()?;
        let __ctx0 = __tool::context::<&RunContext>(__call)?;
        __Ok(
            __tool::start(
                __call,
                async move {
                    GoogleCalendar::create_event(
                            __this,
                            __ctx0,
                            __args.title,
                            __args.start_time,
                            __args.duration_minutes,
                            __args.attendees,
                            __args.description.as_deref(),
                        )
                        .await
                },
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    impl __tool::MainToolsetBlock for GoogleCalendar {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "google_calendar",
                "Manage Google Calendar events.",
                &[
                    __tool::ToolSpec::new(
                            "create_event",
                            "Create a new calendar event.",
                            __tool_create_event,
                            __tool::parameters::<CreateEventArgs<'_>>(),
                        )
                        .at(
                            ::core::file!(),
                            0,
                            __tool::path!("::GoogleCalendar::create_event"),
                        )
                        .category(__tool::Category::Action)
                        .confirm(__tool::Confirm::Always)
                        .timeout_ms(5000)
                        .uses_context()
                        .output(__tool::output!(Result < Event, CalendarError >)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::GoogleCalendar"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < GoogleCalendar > (||
        __tool::discovery!(GoogleCalendar))
    }
};
