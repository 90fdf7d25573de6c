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
    fn __tool_create_event<'__a>(
        __this: &'__a GoogleCalendar,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let mut __f0 = __None::<String>;
        let mut __f1 = __None::<Timestamp>;
        let mut __f2 = __None::<u32>;
        let mut __f3 = __None::<Option<Vec<String>>>;
        let mut __f4 = __None::<__Option<__tool::Text<'__a>>>;
        let __decoded = __call
            .read(&mut [&mut __f0, &mut __f1, &mut __f2, &mut __f3, &mut __f4])?;
        let __f2 = __f2.unwrap_or_else(|| -> u32 { 30 });
        let __f4 = __tool::filled(__f4);
        __call.check(2, __tool::in_range(&__f2, __call.parameter(2)))?;
        __call.accept(__decoded)?;
        let __ctx0 = __tool::context::<&RunContext>(__call)?;
        __Ok(
            __tool::start(
                __call,
                async move {
                    GoogleCalendar::create_event(
                            __this,
                            __ctx0,
                            __tool::filled(__f0),
                            __tool::filled(__f1),
                            __f2,
                            __tool::filled(__f3),
                            __f4.as_deref(),
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
                            &[
                                __Row::new::<String>("title", "Event title"),
                                __Row::new::<
                                    Timestamp,
                                >("start_time", "Start of the event, RFC 3339"),
                                __Row::new::<u32>("duration_minutes", "Length in minutes")
                                    .default_literal("30")
                                    .constraints(
                                        &[__Limit::integers(__Some(5), __Some(480), false)],
                                    ),
                                __Row::new::<
                                    Option<Vec<String>>,
                                >("attendees", "Addresses of the attendees"),
                                __Row::new::<
                                    __Option<__String>,
                                >("description", "Text shown in the event"),
                            ],
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
