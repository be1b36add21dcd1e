//! Looks at every string in a JSON text, decoded, so that an escape hides nothing.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Calls `look` with each string of the JSON text, keys too, until one gives an answer, and gives that. What stands
/// under a key in `except` is left out.
///
/// # Errors
///
/// It is not JSON, or nested deeper than 127 levels.
pub fn find_in_strings<T>(
    json: &str,
    except: &[&str],
    look: &dyn Fn(&str) -> Option<T>,
) -> Result<Option<T>, serde_json::Error> {
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Search {
        found: &mut found,
        except,
        look,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}

struct Search<'a, T> {
    found: &'a mut Option<T>,
    except: &'a [&'a str],
    look: &'a dyn Fn(&str) -> Option<T>,
}

impl<T> Search<'_, T> {
    fn inner(&mut self) -> Search<'_, T> {
        Search {
            found: self.found,
            except: self.except,
            look: self.look,
        }
    }

    fn look_at(&mut self, text: &str) {
        if self.found.is_none() {
            *self.found = (self.look)(text);
        }
    }
}

impl<'de, T> DeserializeSeed<'de> for Search<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T> Visitor<'de> for Search<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.look_at(text);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if self.except.contains(&key.as_ref()) {
                map.next_value::<serde::de::IgnoredAny>()?;
            } else {
                self.look_at(&key);
                map.next_value_seed(self.inner())?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(self.inner())?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(json: &str) -> Option<bool> {
        find_in_strings(json, &["old"], &|text| {
            text.contains("needle").then_some(true)
        })
        .unwrap()
    }

    #[test]
    fn strings_are_found_decoded_at_every_depth() {
        let cases = [
            (r#""needle""#, Some(true)),
            (r#"{"a":[1,true,null,2.5,{"b":"a needle"}]}"#, Some(true)),
            (r#"{"a":"n\u0065edle"}"#, Some(true)),
            (r#"{"needle":1}"#, Some(true)),
            (r#"{"old":["needle"],"new":"x"}"#, None),
            (r#"{"old":"x","new":"needle"}"#, Some(true)),
            (r#"{"a":"nee","b":"dle"}"#, None),
            ("{}", None),
        ];
        for (json, expected) in cases {
            assert_eq!(find(json), expected, "{json}");
        }
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for json in ["", "needle", r#""a" "b""#, r#"{"a":}"#, deep.as_str()] {
            assert!(find_in_strings(json, &[], &|_| Some(())).is_err(), "{json}");
        }
    }
}
