/// Plan a trip.
fn trip(city: &str) -> String {
    city.to_owned()
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    struct TripArgs<'__de> {
        city: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for TripArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<__String>("city", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                city: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_trip<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: TripArgs<'_> = __call.arguments()?;
        match trip(&*__args.city) {
            __value => __Ok(__tool::respond_text!(prompt_result, __call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::PromptSpec<()> = __tool::PromptSpec::new(
            __tool::ToolSpec::new("trip", __tool_trip)
                .description("Plan a trip.")
                .parameters::<TripArgs<'_>>()
                .at(0, __tool::path!("::trip")),
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
