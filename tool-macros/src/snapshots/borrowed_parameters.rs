/// Take everything that can be lent.
fn lent(
    a: &str,
    b: Option<&str>,
    c: &[u32],
    d: Option<&[u32]>,
    e: &Point,
    f: Option<&Point>,
    g: Cow<'_, str>,
    h: Option<Cow<'_, str>>,
    i: &[&str],
    j: Vec<&str>,
    r#type: &str,
) {
    ::tool_core::__private::tool_span!("lent", "::lent", ()).run(move || -> () {})
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    struct LentArgs<'__de> {
        a: __tool::Text<'__de>,
        b: __Option<__tool::Text<'__de>>,
        c: __Vec<u32>,
        d: __Option<__Vec<u32>>,
        e: Point,
        f: __Option<Point>,
        g: __tool::Text<'__de>,
        h: __Option<__tool::Text<'__de>>,
        i: __Vec<__tool::Text<'__de>>,
        j: __Vec<__tool::Text<'__de>>,
        r#type: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for LentArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<__String>("a", ""),
            __Row::new::<__Option<__String>>("b", ""),
            __Row::new::<__Vec<u32>>("c", ""),
            __Row::new::<__Option<__Vec<u32>>>("d", ""),
            __Row::new::<Point>("e", ""),
            __Row::new::<__Option<Point>>("f", ""),
            __Row::new::<__String>("g", ""),
            __Row::new::<__Option<__String>>("h", ""),
            __Row::new::<__Vec<__String>>("i", ""),
            __Row::new::<__Vec<__String>>("j", ""),
            __Row::new::<__String>("type", ""),
        ];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            let mut __f5 = __None;
            let mut __f6 = __None;
            let mut __f7 = __None;
            let mut __f8 = __None;
            let mut __f9 = __None;
            let mut __f10 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    1 => __f1 = __Some(__f.value()?),
                    2 => __f2 = __Some(__f.value()?),
                    3 => __f3 = __Some(__f.value()?),
                    4 => __f4 = __Some(__f.value()?),
                    5 => __f5 = __Some(__f.value()?),
                    6 => __f6 = __Some(__f.value()?),
                    7 => __f7 = __Some(__f.value()?),
                    8 => __f8 = __Some(__f.value()?),
                    9 => __f9 = __Some(__f.value()?),
                    _ => __f10 = __Some(__f.value()?),
                }
            }
            __Ok(Self {
                a: __f.required(__f0, 0)?,
                b: __f.required(__f1, 1)?,
                c: __f.required(__f2, 2)?,
                d: __f.required(__f3, 3)?,
                e: __f.required(__f4, 4)?,
                f: __f.required(__f5, 5)?,
                g: __f.required(__f6, 6)?,
                h: __f.required(__f7, 7)?,
                i: __f.required(__f8, 8)?,
                j: __f.required(__f9, 9)?,
                r#type: __f.required(__f10, 10)?,
            })
        }
    }
    fn __tool_lent<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<LentArgs<'__a>>()?;
        __Ok(
            __tool::respond!(
                __call, lent(& * __args.a, __args.b.as_deref(), & * __args.c, __args.d
                .as_deref(), & __args.e, __args.f.as_ref(), __args.g.into_cow(), __args.h
                .map(__tool::Text::into_cow), & * __args.i.iter().map(| __text | & * *
                __text).collect:: < __Vec < & str >> (), __args.j.iter().map(| __text | &
                * * __text).collect:: < __Vec < & str >> (), & * __args.r#type)
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "lent",
            "Take everything that can be lent.",
            __tool_lent,
            <LentArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(::core::file!(), 0, __tool::path!("::lent"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& lent), & __TOOL_SPEC)
    }
};
