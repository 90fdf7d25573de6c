impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64) {
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
    struct CloseAccountArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for CloseAccountArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self { id: __tool::filled(__f.0) })
        }
    }
    fn __tool_close_account<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: CloseAccountArgs = __call.arguments()?;
        __tool::done(
            __call,
            Bank::close_account(__this, __args.id),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl __tool::MainToolsetBlock for Bank {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("bank")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("close_account", __tool_close_account)
                .description("Close an account.")
                .parameters::<CloseAccountArgs>()
                .at(0, __tool::path!("::Bank::close_account"))
                .confirm(__tool::Confirm::Always)
                .instance_confirm(|__this| __this.settings.asks),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > ()
    }
};
