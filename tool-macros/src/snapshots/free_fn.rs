/// Add two numbers.
fn add(a: i64, b: i64) -> i64 {
    ::tool_core::__private::body::<i64>()
        .__tool_span("add", ::tool_core::__private::function_id!("::add"))
        .run(move || -> i64 { a + b })
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
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            __source.decode(&mut [&mut __f0, &mut __f1])?;
            __Ok(Self {
                a: __tool::filled(__f0),
                b: __f1.unwrap_or_else(|| <i64 as ::core::default::Default>::default()),
            })
        }
    }
    fn __tool_add<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: AddArgs = __call.arguments()?;
        match add(__args.a, __args.b) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "add",
            "Add two numbers.",
            __tool_add,
            __tool::parameters::<AddArgs>(),
        )
        .at(::core::file!(), 0, __tool::path!("::add"))
        .output(__tool::output!(i64));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& add), & __TOOL_SPEC)
    }
};
