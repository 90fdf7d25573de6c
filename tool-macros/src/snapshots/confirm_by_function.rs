impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64, other: CloseAccountArgs) {
        crate::tools::__private::body::<()>()
            .__tool_span(crate::tools::__private::function!("::Bank::close_account"))
            .run(move || -> () {})
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use crate::tools::__private::{self as __tool, prelude::*};
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
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None);
            __from
                .decode([
                    &mut __f.0,
                    <CloseAccountArgs as __tool::ToolParameter>::slot(&mut __f.1),
                ])?;
            __Ok(Self {
                id: __tool::filled(__f.0),
                other: __tool::filled(__f.1),
            })
        }
    }
    fn __tool_close_account<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: __ToolCloseAccountArgs = __call.arguments()?;
        __tool::done(
            __call,
            Bank::close_account(__this, __args.id, __args.other),
            |__value| __value.__split().__value().__error(),
        )
    }
    fn __confirm_tool_close_account(__text: &str) -> __tool::ApprovalNeed {
        __tool::decode_arguments::<__ToolCloseAccountArgs>(__text)
            .map_or(
                __tool::ApprovalNeed::Yes,
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
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("bank")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("close_account", __tool_close_account)
                .description("Close an account.")
                .parameters::<__ToolCloseAccountArgs>()
                .at(0, __tool::path!("::Bank::close_account"))
                .confirm(__tool::Confirm::When(__confirm_tool_close_account)),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > ()
    }
};
