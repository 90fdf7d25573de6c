//! The members of a JSON object, before their values are read.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

/// The members of an object, in order. Names may repeat.
pub(crate) struct RawObject<'a>(Vec<RawMember<'a>>);

struct RawMember<'a> {
    name: String,
    value: &'a RawValue,
}

impl<'a> RawObject<'a> {
    /// Returns the values of all members of that name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &'a RawValue> {
        let named = self.0.iter().filter(move |member| member.name == name);
        named.map(|member| member.value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = RawObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value()?;
            members.push(RawMember { name, value });
        }
        Ok(RawObject(members))
    }
}
