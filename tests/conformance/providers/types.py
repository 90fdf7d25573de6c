"""Asking a type whether it accepts a value."""

import functools

import pydantic


@functools.cache
def adapter(kind):
    return pydantic.TypeAdapter(kind)


def problems(kind, value, **options) -> list[str]:
    """Why a type refuses a value; nothing where it accepts it."""
    try:
        adapter(kind).validate_python(value, **options)
    except pydantic.ValidationError as error:
        return [f"{kind.__name__}: {'/'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]]
    return []


def exactly(kind, value) -> list[str]:
    """Like `problems`, and what the type does not know counts as refused: dropped by it, it would not be sent."""
    found = problems(kind, value)
    if found:
        return found
    kept = adapter(kind).dump_python(adapter(kind).validate_python(value), mode="json", by_alias=True, exclude_unset=True)
    return [] if kept == value else [f"{getattr(kind, '__name__', kind)}: it keeps {kept} of {value}"[:1000]]
