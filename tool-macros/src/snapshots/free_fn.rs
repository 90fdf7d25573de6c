/// Add two numbers.
fn add(a: i64, b: i64) -> i64 {
    ::tool_core::__private::body::<i64>()
        .__tool_span(::tool_core::__private::function!("::add"))
        .run(move || -> i64 { a + b })
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    struct AddArgs {
        a: i64,
        b: i64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for AddArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<i64>("a", ""),
            __Row::new::<i64>("b", "")
                .default_computed(|| __tool::to_json(
                    &(|| <i64 as ::core::default::Default>::default())(),
                )),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None);
            __from.decode([&mut __f.0, &mut __f.1])?;
            __Ok(Self {
                a: __tool::filled(__f.0),
                b: __f.1.unwrap_or_else(|| <i64 as ::core::default::Default>::default()),
            })
        }
    }
    fn __tool_add<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: AddArgs = __call.arguments()?;
        __tool::done(
            __call,
            add(__args.a, __args.b),
            |__value| __value.__split().__value().__error(),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new("add", __tool_add)
        .description("Add two numbers.")
        .parameters::<AddArgs>()
        .at(0, __tool::path!("::add"))
        .output(|__generator| __tool::of_type::<i64>().__schema(__generator));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& add), & __TOOL_SPEC)
    }
};
