impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64) {
        crate::tools::__private::body::<()>()
            .__tool_span(
                "close_account",
                crate::tools::__private::function_id!("::Bank::close_account"),
            )
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
    use __tool::locals::*;
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct CloseAccountArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for CloseAccountArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self { id: __tool::filled(__f0) })
        }
    }
    fn __tool_close_account<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: CloseAccountArgs = __call.arguments()?;
        match Bank::close_account(__this, __args.id) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
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
                            __tool::parameters::<CloseAccountArgs>(),
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
