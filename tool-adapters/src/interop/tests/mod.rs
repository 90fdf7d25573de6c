//! Tests.

#[cfg(test)]
mod async_openai;
#[cfg(test)]
mod convert;
#[cfg(test)]
mod genai;
#[cfg(test)]
mod rig;
