//! The generation of a model, which its name tells.

/// Returns the generation of a model: 2 for `gemini-2.5-flash`. `None` if its name does not tell.
pub(crate) fn generation_of(model: &str) -> Option<u32> {
    let (_, rest) = model.split_once("gemini-")?;
    rest.split(['.', '-']).next()?.parse().ok()
}
