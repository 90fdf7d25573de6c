#[cfg(feature = "clock")]
impl Clock {
    /// Seconds since the epoch.
    #[cfg(unix)]
    #[deprecated]
    fn now(&self, digits: u8) -> u64 {
        ::tool_core::__private::tool_span!("now", "::Clock::now", u64)
            .run(move || -> u64 { 0 })
    }
    /// Seconds since the epoch.
    #[cfg(windows)]
    fn now(&self) -> u64 {
        ::tool_core::__private::tool_span!("now", "::Clock::now", u64)
            .run(move || -> u64 { 0 })
    }
}
#[cfg(feature = "clock")]
#[allow(deprecated, clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    #[cfg(unix)]
    struct NowArgs {
        digits: u8,
    }
    #[cfg(unix)]
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<u8>("digits", "")
                .constraints(&[__Limit::integers(__Some(0), __Some(9), false)]),
        ];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    _ => f0 = __Some(fields.value()?),
                }
            }
            let args = Self {
                digits: fields.required(f0, 0)?,
            };
            fields.check(0, __tool::in_range(&args.digits, &Self::PARAMETERS[0]))?;
            __Ok(args)
        }
    }
    #[cfg(unix)]
    fn __tool_now<'__a>(
        this: &'__a Clock,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<NowArgs>()?;
        __Ok(__tool::respond!(call, Clock::now(this, args.digits)))
    }
    #[cfg(windows)]
    struct NowArgs {}
    #[cfg(windows)]
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            fields.next(Self::PARAMETERS)?;
            __Ok(Self {})
        }
    }
    #[cfg(windows)]
    fn __tool_now<'__a>(
        this: &'__a Clock,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        call.decode::<NowArgs>()?;
        __Ok(__tool::respond!(call, Clock::now(this)))
    }
    impl __tool::MainToolsetBlock for Clock {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "clock",
                "",
                &[
                    #[cfg(unix)]
                    __tool::ToolSpec::new(
                            "now",
                            "Seconds since the epoch.",
                            __tool_now,
                            <NowArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Clock::now"))
                        .output(|g| __tool::output!(g, u64)),
                    #[cfg(windows)]
                    __tool::ToolSpec::new(
                            "now",
                            "Seconds since the epoch.",
                            __tool_now,
                            <NowArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Clock::now"))
                        .output(|g| __tool::output!(g, u64)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Clock"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Clock > (|| __tool::discovery!(Clock))
    }
};
