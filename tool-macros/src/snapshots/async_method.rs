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
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f1 = __None;
            let mut f2 = __None;
            let mut f3 = __None;
            let mut f4 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    1 => f1 = __Some(fields.value()?),
                    2 => f2 = __Some(fields.value()?),
                    3 => f3 = __Some(fields.value()?),
                    _ => f4 = __Some(fields.value()?),
                }
            }
            let args = Self {
                title: fields.required(f0, 0)?,
                start_time: fields.required(f1, 1)?,
                duration_minutes: f2.unwrap_or_else(|| -> u32 { 30 }),
                attendees: fields.required(f3, 3)?,
                description: fields.required(f4, 4)?,
            };
            fields
                .check(
                    2,
                    __tool::in_range(&args.duration_minutes, &Self::PARAMETERS[2]),
                )?;
            __Ok(args)
        }
    }
    fn __tool_create_event<'__a>(
        this: &'__a GoogleCalendar,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<CreateEventArgs<'__a>>()?;
        let ctx0 = __tool::context::<&RunContext>(call)?;
        __Ok(
            __tool::pending(async move {
                __tool::respond!(
                    call, GoogleCalendar::create_event(this, ctx0, args.title, args
                    .start_time, args.duration_minutes, args.attendees, args.description
                    .as_deref()). await
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
                            file!(),
                            0,
                            concat!(module_path!(), "::GoogleCalendar::create_event"),
                        )
                        .category(__tool::Category::Action)
                        .confirm(__tool::Confirm::Always)
                        .timeout_ms(5000)
                        .uses_context()
                        .output(|g| __tool::output!(g, Result < Event, CalendarError >)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::GoogleCalendar"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < GoogleCalendar > (||
        __tool::discovery!(GoogleCalendar))
    }
};
