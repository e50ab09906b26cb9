//! Converts a TOML value to a type, and notes the path of an error, and keys that the type does not know.
//!
//! `serde_path_to_error` around `serde_ignored` around [`Value`] does the same. Each of the three wraps every
//! visitor of every type, and the compiler spent most of its time for this crate on them.

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};
use std::cell::RefCell;
use std::fmt;
use toml::Value;
use toml::de::Error;

/// Paths that a conversion notes: keys, joined by dots; entries of lists are numbered.
#[derive(Debug, Default)]
pub(crate) struct ConversionNotes {
    /// Keys that the type does not know.
    pub(crate) unknown: Vec<String>,
    /// The value or key that was refused; `None` if it is the whole document.
    pub(crate) refused: Option<String>,
}

/// Converts a value.
pub(crate) fn convert<V: DeserializeOwned>(value: Value) -> (Result<V, Error>, ConversionNotes) {
    let notes = RefCell::default();
    let result = V::deserialize(TrackedValue {
        value,
        place: ValuePlace { path: &ValuePath::Whole, notes: &notes },
    });
    (result, notes.into_inner())
}

/// Where a value stands in its document.
enum ValuePath<'p> {
    Whole,
    Key(&'p ValuePath<'p>, &'p str),
    Entry(&'p ValuePath<'p>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = match self {
            Self::Whole => return Ok(()),
            Self::Key(parent, _) | Self::Entry(parent, _) => parent,
        };
        parent.fmt(f)?;
        if !matches!(parent, Self::Whole) {
            f.write_str(".")?;
        }
        match self {
            Self::Whole => Ok(()),
            Self::Key(_, key) => f.write_str(key),
            Self::Entry(_, number) => number.fmt(f),
        }
    }
}

#[derive(Clone, Copy)]
struct ValuePlace<'p> {
    path: &'p ValuePath<'p>,
    notes: &'p RefCell<ConversionNotes>,
}

impl ValuePlace<'_> {
    /// Converts with a place below this one, and notes it if nothing below it was refused.
    fn below<R>(
        self,
        path: &ValuePath<'_>,
        convert: impl FnOnce(ValuePlace<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        convert(ValuePlace { path, notes: self.notes }).inspect_err(|_| {
            self.notes.borrow_mut().refused.get_or_insert_with(|| path.to_string());
        })
    }
}

struct TrackedValue<'p> {
    value: Value,
    place: ValuePlace<'p>,
}

impl<'de> Deserializer<'de> for TrackedValue<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Integer(value) => visitor.visit_i64(value),
            Value::Float(value) => visitor.visit_f64(value),
            Value::String(value) => visitor.visit_string(value),
            Value::Datetime(value) => visitor.visit_string(value.to_string()),
            Value::Array(entries) => {
                let all = entries.len();
                let mut entries =
                    TrackedList { left: entries.into_iter().enumerate(), place: self.place };
                let list = visitor.visit_seq(&mut entries)?;
                match entries.left.len() {
                    0 => Ok(list),
                    _ => Err(Error::invalid_length(all, &"fewer elements in array")),
                }
            }
            Value::Table(table) => visitor.visit_map(TrackedTable {
                left: table.into_iter(),
                next: None,
                place: self.place,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Variants are names here, and contain nothing that could be refused.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.place.notes.borrow_mut().unknown.push(self.place.path.to_string());
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string unit seq bytes byte_buf map
        unit_struct tuple_struct tuple struct identifier
    }
}

struct TrackedList<'p> {
    left: std::iter::Enumerate<std::vec::IntoIter<Value>>,
    place: ValuePlace<'p>,
}

impl<'de> SeqAccess<'de> for TrackedList<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((number, value)) = self.left.next() else { return Ok(None) };
        let path = ValuePath::Entry(self.place.path, number);
        self.place.below(&path, |place| seed.deserialize(TrackedValue { value, place })).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct TrackedTable<'p> {
    left: toml::map::IntoIter<String, Value>,
    next: Option<(String, Value)>,
    place: ValuePlace<'p>,
}

impl<'de> MapAccess<'de> for TrackedTable<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        let (key, _) = self.next.insert((key, value));
        let path = ValuePath::Key(self.place.path, key);
        self.place.below(&path, |_| seed.deserialize(key.as_str().into_deserializer())).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, value) = self.next.take().ok_or_else(|| Error::custom("value is missing"))?;
        let path = ValuePath::Key(self.place.path, &key);
        self.place.below(&path, |place| seed.deserialize(TrackedValue { value, place }))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}
