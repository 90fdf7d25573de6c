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
        ::tool_core::__private::tool_span!(
            "create_event", "::GoogleCalendar::create_event", Result < Event,
            CalendarError >
        )
            .run_async(async move {
                ::tool_core::__private::returns!(Result < Event, CalendarError >);
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
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    1 => __f1 = __Some(__f.value()?),
                    2 => __f2 = __Some(__f.value()?),
                    3 => __f3 = __Some(__f.value()?),
                    _ => __f4 = __Some(__f.value()?),
                }
            }
            let __args = Self {
                title: __f.required(__f0, 0)?,
                start_time: __f.required(__f1, 1)?,
                duration_minutes: __f2.unwrap_or_else(|| -> u32 { 30 }),
                attendees: __f.required(__f3, 3)?,
                description: __f.required(__f4, 4)?,
            };
            __f.check(
                2,
                __tool::in_range(&__args.duration_minutes, &Self::PARAMETERS[2]),
            )?;
            __Ok(__args)
        }
    }
    fn __tool_create_event<'__a>(
        __this: &'__a GoogleCalendar,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<CreateEventArgs<'__a>>()?;
        let __ctx0 = __tool::context::<&RunContext>(__call)?;
        __Ok(
            __tool::pending(async move {
                __tool::respond!(
                    __call, GoogleCalendar::create_event(__this, __ctx0, __args.title,
                    __args.start_time, __args.duration_minutes, __args.attendees, __args
                    .description.as_deref()). await
                )
            }),
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
                            <CreateEventArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
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
