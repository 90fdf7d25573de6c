impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64, other: CloseAccountArgs) {
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
    struct __ToolCloseAccountArgs {
        id: u64,
        other: CloseAccountArgs,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for __ToolCloseAccountArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<u64>("id", ""),
            <CloseAccountArgs as __tool::ToolParameter>::ROW.named("other", ""),
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            __source
                .decode(
                    &mut [
                        &mut __f0,
                        <CloseAccountArgs as __tool::ToolParameter>::slot(&mut __f1),
                    ],
                )?;
            __Ok(Self {
                id: __tool::filled(__f0),
                other: __tool::filled(__f1),
            })
        }
    }
    fn __tool_close_account<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: __ToolCloseAccountArgs = __call.arguments()?;
        match Bank::close_account(__this, __args.id, __args.other) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    fn __tool_confirm_close_account(__text: &str) -> bool {
        __tool::decode_arguments::<__ToolCloseAccountArgs>(__text)
            .map_or(
                true,
                |__args| {
                    use __tool::{ConfirmKind as _, NoConfirmKind as _};
                    let __decide = <Bank>::is_large;
                    (&&__tool::confirm_function::<__ToolCloseAccountArgs, _>(&__decide))
                        .__tool_confirms()
                        .confirms::<__ToolCloseAccountArgs, _>(__decide, &__args)
                },
            )
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
                            __tool::parameters::<__ToolCloseAccountArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Bank::close_account"))
                        .confirm(__tool::Confirm::When(__tool_confirm_close_account)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Bank"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > (|| __tool::discovery!(Bank))
    }
};
