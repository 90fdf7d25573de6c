/// Plan a trip.
fn trip(city: &str) -> String {
    city.to_owned()
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
    fn __tool_trip<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let mut __f0 = __None::<__tool::Text<'__a>>;
        __call.decode(&mut [&mut __f0])?;
        let __f0 = __tool::filled(__f0);
        match trip(&*__f0) {
            __value => __Ok(__tool::respond_text!(prompt_result, __call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::PromptSpec<()> = __tool::PromptSpec::new(
            __tool::ToolSpec::new(
                    "trip",
                    "Plan a trip.",
                    __tool_trip,
                    &[__Row::new::<__String>("city", "")],
                )
                .at(::core::file!(), 0, __tool::path!("::trip")),
        )
        .complete(
            &[
                (
                    "city",
                    |_, __request| __tool::completion(async move {
                        __tool::completed!((cities) (& __request))
                    }),
                ),
            ],
        );
    __tool::inventory::submit! {
        __tool::Registration::prompt(|| __tool::type_id_of(& trip), & __TOOL_SPEC)
    }
};
