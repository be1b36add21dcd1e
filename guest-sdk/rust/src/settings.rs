//! A policy's settings: the entries of its configuration as a Rust type.
//!
//! In the configuration a setting is a TOML value. The host hands it over as text: a string as it is, anything else
//! (number, boolean, list, table) as JSON. What the type wants decides how the text is read. A field that wants a
//! string takes the text as it is, and so does the name of an enum's case; every other field reads it as JSON. A field
//! without a type of its own (`serde_json::Value`, an untagged enum) takes JSON where the text is JSON, and else the
//! text as a string.
//!
//! Settings that don't fit are never replaced by defaults. Put `#[serde(default)]` on a field that may be missing, and
//! `#[serde(deny_unknown_fields)]` on the struct so that a misspelt setting is an error and not silence.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::bindings::settings::store;

/// Why the settings don't fit their type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

impl de::Error for SettingsError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        if expected.is_empty() {
            return Self(format!("unknown setting `{field}`: this policy has none"));
        }
        Self(format!(
            "unknown setting `{field}`; there are: `{}`",
            expected.join("`, `")
        ))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("the setting `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self(format!("the setting `{field}` is there twice"))
    }
}

/// Reads the settings from the host. What [`policy!`](crate::policy!) calls for each decision.
///
/// # Errors
///
/// The host could not hand them out, or they don't fit the type. The text is for the host's log.
pub fn read<T: DeserializeOwned>() -> Result<T, String> {
    let entries = store::get_all().map_err(|error| match error {
        store::Error::Upstream(reason) | store::Error::Io(reason) => {
            format!("the settings could not be read: {reason}")
        }
    })?;
    from_entries(&entries).map_err(|error| error.to_string())
}

/// Reads settings from keys and their texts.
///
/// # Errors
///
/// They don't fit the type. The error names the setting.
pub(crate) fn from_entries<T: DeserializeOwned>(
    entries: &[(String, String)],
) -> Result<T, SettingsError> {
    T::deserialize(Entries {
        entries: entries.iter(),
        pending: None,
    })
}

/// All settings, as a map.
struct Entries<'de> {
    entries: std::slice::Iter<'de, (String, String)>,
    /// The entry whose key was taken and whose value was not.
    pending: Option<&'de (String, String)>,
}

impl<'de> Deserializer<'de> for Entries<'de> {
    type Error = SettingsError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingsError> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = SettingsError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, SettingsError> {
        self.pending = self.entries.next();
        match self.pending {
            Some((key, _)) => seed
                .deserialize(BorrowedStrDeserializer::new(key))
                .map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, SettingsError> {
        let Some((key, text)) = self.pending.take() else {
            return Err(SettingsError("a value was asked for before its key".into()));
        };
        seed.deserialize(Text(text))
            .map_err(|error| SettingsError(format!("the setting `{key}`: {}", error.0)))
    }
}

/// The text of one setting.
struct Text<'de>(&'de str);

impl<'de> Text<'de> {
    /// Reads the text as JSON, in the way that `read` asks for.
    fn json<T>(
        self,
        read: impl FnOnce(&mut Json<'de>) -> serde_json::Result<T>,
    ) -> Result<T, SettingsError> {
        let mut json = Json::from_str(self.0);
        match read(&mut json).and_then(|value| json.end().map(|()| value)) {
            Ok(value) => Ok(value),
            Err(error) if error.is_data() => {
                let message = error.to_string();
                // A place in the JSON text, which nobody wrote: it was TOML.
                let place = message.rfind(" at line ").unwrap_or(message.len());
                Err(SettingsError(message[..place].to_owned()))
            }
            Err(_) => Err(SettingsError(
                "it is a string, and another kind of value is wanted".into(),
            )),
        }
    }
}

type Json<'de> = serde_json::Deserializer<serde_json::de::StrRead<'de>>;

/// Methods that read the text as JSON.
macro_rules! read_as_json {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingsError> {
            self.json(|json| json.$method(visitor))
        })+
    };
}

/// Methods that take the text as it is.
macro_rules! read_as_text {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingsError> {
            visitor.visit_borrowed_str(self.0)
        })+
    };
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = SettingsError;

    read_as_text! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    read_as_json! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_seq deserialize_map
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingsError> {
        // Both ways need the visitor, so look first whether the text is JSON at all.
        if serde_json::from_str::<de::IgnoredAny>(self.0).is_ok() {
            self.json(|json| json.deserialize_any(visitor))
        } else {
            visitor.visit_borrowed_str(self.0)
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingsError> {
        // It is there. TOML has no null.
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        cases: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        // A case with a value is a table with one key; a case without one is its bare name.
        if self.0.starts_with('{') {
            self.json(|json| json.deserialize_enum(name, cases, visitor))
        } else {
            visitor.visit_enum(BorrowedStrDeserializer::new(self.0))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        self.json(|json| json.deserialize_unit_struct(name, visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        self.json(|json| json.deserialize_tuple(length, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        self.json(|json| json.deserialize_tuple_struct(name, length, visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SettingsError> {
        self.json(|json| json.deserialize_struct(name, fields, visitor))
    }
}

#[cfg(test)]
mod tests;
