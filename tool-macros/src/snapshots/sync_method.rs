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
    pub fn now(&self, mut zone: String) -> String {
        ::tool_core::__private::body::<String>()
            .__tool_span("now", ::tool_core::__private::function_id!("::Clock::now"))
            .run(move || -> String {
                zone.push('x');
                zone
            })
    }
    pub const EPOCH: u64 = 0;
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
    struct NowArgs {
        zone: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<String>("zone", "An IANA zone, such as Europe/Berlin"),
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self { zone: __tool::filled(__f0) })
        }
    }
    fn __tool_now<'__a>(
        __this: &'__a Clock,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NowArgs = __call.arguments()?;
        match Clock::now(__this, __args.zone) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    impl __tool::MainToolsetBlock for Clock {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "clock",
                "",
                &[
                    __tool::ToolSpec::new(
                            "now",
                            "What time it is.",
                            __tool_now,
                            __tool::parameters::<NowArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Clock::now"))
                        .returns("The time, RFC 3339")
                        .output(__tool::output!(String)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Clock"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Clock > (|| __tool::discovery!(Clock))
    }
};
