impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64) {
        crate::tools::__private::tool_span!("close_account", "::Bank::close_account", ())
            .run(move || -> () {})
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use crate::tools::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct CloseAccountArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for CloseAccountArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    _ => __f0 = __Some(__f.value()?),
                }
            }
            __Ok(Self { id: __f.required(__f0, 0)? })
        }
    }
    fn __tool_close_account<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<CloseAccountArgs>()?;
        __Ok(__tool::respond!(__call, Bank::close_account(__this, __args.id)))
    }
    impl __tool::MainToolsetBlock for Bank {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "bank",
                "",
                &[
                    __tool::ToolSpec::new(
                            "close_account",
                            "Close an account.",
                            __tool_close_account,
                            <CloseAccountArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(::core::file!(), 0, __tool::path!("::Bank::close_account"))
                        .confirm(__tool::Confirm::Always)
                        .instance_confirm(|__this| __this.settings.asks),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Bank"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > (|| __tool::discovery!(Bank))
    }
};
