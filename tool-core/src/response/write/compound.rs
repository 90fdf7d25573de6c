//! Containers: one type for all kinds, as the method that ends one tells its kind.

use super::keys::Key;
use super::{Error, Writer};
use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};

/// An open container.
pub(in crate::response) struct Compound<'a> {
    writer: &'a mut Writer,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Rest,
    /// No container: its one field holds JSON.
    Verbatim,
}

/// What a struct is called that stands for JSON text; the same as its one field.
fn is_verbatim(name: &str) -> bool {
    // The second only where something enables serde_json's `arbitrary_precision`.
    name == "$serde_json::private::RawValue" || name == "$serde_json::private::Number"
}

impl<'a> Compound<'a> {
    pub(super) fn array(writer: &'a mut Writer) -> Result<Self, Error> {
        writer.open("[")?;
        Ok(Self { writer, state: State::First })
    }

    pub(super) fn object(writer: &'a mut Writer) -> Result<Self, Error> {
        writer.open("{")?;
        Ok(Self { writer, state: State::First })
    }

    pub(super) fn structure(writer: &'a mut Writer, name: &'static str) -> Result<Self, Error> {
        if is_verbatim(name) {
            return Ok(Self { writer, state: State::Verbatim });
        }
        Self::object(writer)
    }

    /// Whether this is the first member; the next is not.
    #[inline]
    fn first(&mut self) -> bool {
        let first = self.state == State::First;
        self.state = State::Rest;
        first
    }

    /// Goes to the next element.
    fn next(&mut self) -> Result<(), Error> {
        if self.first() { Ok(()) } else { self.writer.push(",") }
    }

    /// Goes to the value of the next field.
    fn key(&mut self, key: &'static str) -> Result<(), Error> {
        if self.state == State::Verbatim {
            return self.verbatim(key);
        }
        let first = self.first();
        self.writer.field(first, key)
    }

    #[cold]
    fn verbatim(&mut self, key: &str) -> Result<(), Error> {
        if !is_verbatim(key) {
            return Err(Error::no_value());
        }
        self.writer.expect_verbatim();
        Ok(())
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.next()?;
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.key(key)?;
        value.serialize(&mut *self.writer)
    }

    fn end_structure(self) -> Result<(), Error> {
        if self.state == State::Verbatim { Ok(()) } else { self.writer.close("}") }
    }
}

impl SerializeSeq for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("]")
    }
}

impl SerializeTuple for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("]")
    }
}

impl SerializeTupleStruct for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("]")
    }
}

impl SerializeTupleVariant for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close_variant("]}")
    }
}

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.next()?;
        key.serialize(Key(&mut *self.writer))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.writer.push(":")?;
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("}")
    }
}

impl SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.end_structure()
    }
}

impl SerializeStructVariant for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close_variant("}}")
    }
}
