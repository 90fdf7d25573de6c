impl Bank {
    /// Move money.
    pub async fn transfer(&self, to: &str, amount: u64) -> Result<Receipt, BankError> {
        ::tool_core::__private::body::<Result<Receipt, BankError>>()
            .__tool_span(::tool_core::__private::function!("::Bank::transfer"))
            .run_async(move |__typed| async move {
                if let ::core::option::Option::Some(__typed) = __typed.value() {
                    return __typed;
                }
                todo!()
            })
            .await
    }
}
///The arguments of the tool `transfer`.
pub struct TransferArgs<'__de> {
    ///To whom
    pub to: ::tool_core::__private::Text<'__de>,
    ///`amount`
    pub amount: u64,
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    impl<'__de> __tool::ArgumentStruct<'__de> for TransferArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<__String>("to", "To whom"),
            __Row::new::<u64>("amount", ""),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None);
            __from.decode([&mut __f.0, &mut __f.1])?;
            __Ok(Self {
                to: __tool::filled(__f.0),
                amount: __tool::filled(__f.1),
            })
        }
    }
    impl<'__de> __tool::serde::Deserialize<'__de> for TransferArgs<'__de> {
        fn deserialize<__D: __tool::serde::Deserializer<'__de>>(
            __from: __D,
        ) -> __Result<Self, __D::Error> {
            __tool::deserialize_arguments(__from)
        }
    }
    fn __tool_transfer<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: TransferArgs<'_> = __call.arguments()?;
        let __method = async move {
            Bank::transfer(__this, &*__args.to, __args.amount).await
        };
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    fn __confirm_tool_transfer(__text: &str) -> __tool::ApprovalNeed {
        __tool::decode_arguments::<TransferArgs<'_>>(__text)
            .map_or(
                __tool::ApprovalNeed::Yes,
                |__args| {
                    let __decide: fn(&TransferArgs<'_>) -> _ = |args: &TransferArgs| {
                        args.amount > 100
                    };
                    __tool::ApprovalNeed::from(__decide(&__args))
                },
            )
    }
    impl __tool::MainToolsetBlock for Bank {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("bank")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("transfer", __tool_transfer)
                .description("Move money.")
                .parameters::<TransferArgs<'_>>()
                .at(0, __tool::path!("::Bank::transfer"))
                .confirm(__tool::Confirm::When(__confirm_tool_transfer))
                .output(|__generator| {
                    __tool::of_type::<Result<Receipt, BankError>>().__schema(__generator)
                }),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > ()
    }
};
