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
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f1 = __None;
            let mut f2 = __None;
            let mut f3 = __None;
            let mut f4 = __None;
            let mut f5 = __None;
            let mut f6 = __None;
            let mut f7 = __None;
            let mut f8 = __None;
            let mut f9 = __None;
            let mut f10 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    1 => f1 = __Some(fields.value()?),
                    2 => f2 = __Some(fields.value()?),
                    3 => f3 = __Some(fields.value()?),
                    4 => f4 = __Some(fields.value()?),
                    5 => f5 = __Some(fields.value()?),
                    6 => f6 = __Some(fields.value()?),
                    7 => f7 = __Some(fields.value()?),
                    8 => f8 = __Some(fields.value()?),
                    9 => f9 = __Some(fields.value()?),
                    _ => f10 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                a: fields.required(f0, 0)?,
                b: fields.required(f1, 1)?,
                c: fields.required(f2, 2)?,
                d: fields.required(f3, 3)?,
                e: fields.required(f4, 4)?,
                f: fields.required(f5, 5)?,
                g: fields.required(f6, 6)?,
                h: fields.required(f7, 7)?,
                i: fields.required(f8, 8)?,
                j: fields.required(f9, 9)?,
                r#type: fields.required(f10, 10)?,
            })
        }
    }
    fn __tool_lent<'__a>(
        _: &'__a (),
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<LentArgs<'__a>>()?;
        __Ok(
            __tool::respond!(
                call, lent(& * args.a, args.b.as_deref(), & * args.c, args.d.as_deref(),
                & args.e, args.f.as_ref(), args.g.into_cow(), args.h
                .map(__tool::Text::into_cow), & * args.i.iter().map(| text | & * * text)
                .collect:: < __Vec < & str >> (), args.j.iter().map(| text | & * * text)
                .collect:: < __Vec < & str >> (), & * args.r#type)
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "lent",
            "Take everything that can be lent.",
            __tool_lent,
            <LentArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(file!(), 0, concat!(module_path!(), "::lent"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& lent), & __TOOL_SPEC)
    }
};
