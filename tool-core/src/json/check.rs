//! Values that nobody reads: held to the grammar, and to unique keys, all the same.

use super::access::Object;
use super::decoder::Decoder;
use super::error::Error;

impl Decoder<'_> {
    /// Checks one value and goes past it. Recursion is bounded by the depth that `open` allows.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        match self.peek() {
            b'"' => self.check_string(),
            b'{' => self.check_object(),
            b'[' => self.check_array(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.check_number(),
            _ => Err(self.syntax("expected a value")),
        }
    }

    fn check_array(&mut self) -> Result<(), Error> {
        self.open()?;
        let mut index = 0;
        while self.next_element(index == 0)? {
            self.check().map_err(|error| error.under_index(index))?;
            index += 1;
        }
        Ok(())
    }

    fn check_object(&mut self) -> Result<(), Error> {
        let mut object = Object::open(self, true)?;
        while object.next_unique()?.is_some() {
            object.check_value()?;
        }
        Ok(())
    }
}
