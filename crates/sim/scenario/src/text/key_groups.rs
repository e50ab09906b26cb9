//! One table of a file whose keys belong to several structures.
//!
//! serde's flatten would do the same, but it ignores unknown keys and does not name the wrong key.

use crate::text::document;
use crate::text::error::{InputError, suggest};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use toml::Table;

/// The keys of a table that no structure has taken yet.
#[derive(Debug)]
pub(crate) struct KeyGroups<'f> {
    file: &'f str,
    table: Table,
}

impl<'f> KeyGroups<'f> {
    /// The keys of `table`, all of which `All` must know; `file` is its name in messages.
    ///
    /// # Errors
    /// Names the first key that is unknown.
    pub(crate) fn of<All: JsonSchema + 'static>(
        file: &'f str,
        table: Table,
    ) -> Result<Self, InputError> {
        let known = names::<All>();
        match table.keys().find(|key| !known.contains(key)) {
            None => Ok(Self { file, table }),
            Some(key) => {
                let (key, known) = (key.clone(), suggest(key, &known));
                Err(InputError::UnknownKey { file: file.into(), key, known })
            }
        }
    }

    /// The structure built from its own keys.
    ///
    /// # Errors
    /// As [`document::interpret`].
    pub(crate) fn take<G: DeserializeOwned + JsonSchema + 'static>(
        &mut self,
    ) -> Result<G, InputError> {
        let mut own = Table::new();
        for name in names::<G>() {
            own.extend(self.table.remove_entry(&name));
        }
        document::interpret(self.file, own)
    }
}

/// Names of the keys of a structure. A schema is built once: a sweep asks for each of its points.
#[must_use]
pub(crate) fn names<V: JsonSchema + 'static>() -> Vec<String> {
    static KNOWN: Mutex<Option<HashMap<TypeId, Vec<String>>>> = Mutex::new(None);
    let asked = TypeId::of::<V>();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().entry(asked).or_insert_with(names_in_schema::<V>).clone()
}

fn names_in_schema<V: JsonSchema>() -> Vec<String> {
    let schema = schema_for!(V).to_value();
    let properties = schema["properties"].as_object();
    properties.map(|known| known.keys().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Cores {
        cores: u32,
    }

    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Traffic {
        pattern: String,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct All {
        #[serde(flatten)]
        cores: Cores,
        #[serde(flatten)]
        traffic: Traffic,
    }

    fn groups(text: &str) -> Result<KeyGroups<'static>, InputError> {
        KeyGroups::of::<All>("a.toml", document::parse("a.toml", text)?)
    }

    #[test]
    fn each_structure_takes_its_own_keys() {
        let mut groups = groups("cores = 2\npattern = 'x'").expect("is valid");
        let (traffic, cores): (Traffic, Cores) =
            (groups.take().expect("is valid"), groups.take().expect("is valid"));
        assert_eq!((cores.cores, traffic.pattern.as_str()), (2, "x"));
        assert!(groups.table.is_empty());
    }

    #[test]
    fn a_key_of_no_structure_is_refused_with_the_nearest_one_of_all() {
        let error = groups("patern = 'x'").expect_err("must be refused").to_string();
        assert_eq!(error, "a.toml: unknown key `patern`; did you mean `pattern`?");
    }

    #[test]
    fn a_value_of_the_wrong_kind_names_its_key() {
        let mut groups = groups("cores = 'many'").expect("its keys are known");
        let error = groups.take::<Cores>().expect_err("must be refused").to_string();
        assert!(error.starts_with("a.toml: `cores`: \"many\" is a text"), "{error}");
    }
}
