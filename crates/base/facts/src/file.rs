//! One file before inheritance: its facts by table, and the files that it inherits from.

use crate::error::FactsError;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use toml::{Table, Value};

/// Most files that are remembered; far more than a machine inherits from.
const REMEMBERED: usize = 256;

/// Files by path and text that were parsed before.
type ParsedFiles = HashMap<(String, String), Arc<FactFile>>;

/// Keys of a file, or of one of its tables, that control inheritance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inherits {
    /// Names or paths of other files; the first that has a fact provides it.
    pub(crate) extends: Vec<String>,
    /// Why facts of other machines are assumed to be the same; it is quoted in their sources.
    pub(crate) because: Option<String>,
}

/// A file of facts.
#[derive(Clone, Debug)]
pub(crate) struct FactFile {
    pub(crate) path: String,
    /// The name that sources use for the subject, such as `the Gold 6140`.
    pub(crate) name: Option<String>,
    /// A component's facts hold for every subject that contains it.
    pub(crate) is_part: bool,
    pub(crate) inherits: Inherits,
    /// Tables and facts that are not inherited although a named file has them.
    pub(crate) without: Vec<String>,
    /// The card in the machine's slot; its facts apply to the machine.
    pub(crate) card: Option<String>,
    pub(crate) tables: BTreeMap<String, OwnTable>,
    /// The title, and unknown keys.
    pub(crate) rest: Table,
}

/// A table of a file.
#[derive(Clone, Debug)]
pub(crate) struct OwnTable {
    pub(crate) inherits: Inherits,
    pub(crate) facts: Table,
}

impl FactFile {
    /// As [`FactFile::parse`]; a text that was parsed before is not parsed again: each point of a sweep
    /// inherits from the same files.
    pub(crate) fn parse_once(path: &str, text: &str) -> Result<Arc<Self>, FactsError> {
        static KNOWN: Mutex<Option<ParsedFiles>> = Mutex::new(None);
        let asked = (path.to_string(), text.to_string());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known().get_or_insert_default().get(&asked) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(Self::parse(path, text)?);
        let mut known = known();
        let files = known.get_or_insert_default();
        if files.len() >= REMEMBERED {
            files.clear();
        }
        files.insert(asked, Arc::clone(&file));
        Ok(file)
    }

    fn parse(path: &str, text: &str) -> Result<Self, FactsError> {
        let mut rest: Table = text.parse().map_err(|error: toml::de::Error| {
            let reason = error.to_string().trim_end().into();
            FactsError::Syntax { file: path.into(), reason }
        })?;
        let keys = Keys { path, table: "" };
        let is_part = rest.contains_key("part");
        keys.text(&mut rest, "part")?;
        let name = keys.text(&mut rest, "name")?;
        let card = keys.text(&mut rest, "card")?;
        let without = keys.texts(&mut rest, "without")?;
        let inherits = keys.inherits(&mut rest)?;
        let mut tables = BTreeMap::new();
        let names: Vec<String> = rest.keys().cloned().collect();
        for table in names {
            if let Some(Value::Table(facts)) = rest.get_mut(&table) {
                let mut facts = std::mem::take(facts);
                let inherits = Keys { path, table: &table }.inherits(&mut facts)?;
                refuse_marks(path, &table, &facts)?;
                rest.remove(&table);
                tables.insert(table, OwnTable { inherits, facts });
            }
        }
        let path = path.into();
        Ok(Self { path, name, is_part, inherits, without, card, tables, rest })
    }

    /// The name that sources use for the subject, or else its file name.
    pub(crate) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// Refuses marks of origin: resolution determines where a fact comes from, a file must not state it.
fn refuse_marks(path: &str, table: &str, facts: &Table) -> Result<(), FactsError> {
    let marked = facts.iter().find_map(|(key, fact)| Some((key, fact.get("origin")?)));
    marked.map_or(Ok(()), |(key, origin)| {
        let key = format!("{table}.{key}.origin");
        let allowed = "unknown key; the origin of a fact is the file that states it";
        Err(FactsError::refused(path, &key, &origin.to_string(), allowed))
    })
}

/// Takes the keys that control inheritance out of a table of a file.
struct Keys<'f> {
    path: &'f str,
    table: &'f str,
}

impl Keys<'_> {
    fn inherits(&self, table: &mut Table) -> Result<Inherits, FactsError> {
        let extends = self.texts(table, "extends")?;
        let because = self.text(table, "because")?;
        if let (Some(because), true) = (&because, extends.is_empty()) {
            let allowed = "only beside `extends`, whose files it gives the reason for";
            return Err(self.refused("because", because, allowed));
        }
        Ok(Inherits { extends, because })
    }

    fn text(&self, table: &mut Table, key: &str) -> Result<Option<String>, FactsError> {
        match table.remove(key) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.refused(key, &other.to_string(), "a text")),
            None => Ok(None),
        }
    }

    /// One text, or a list of them.
    fn texts(&self, table: &mut Table, key: &str) -> Result<Vec<String>, FactsError> {
        let refuse =
            |value: &Value| self.refused(key, &value.to_string(), "a text, or a list of texts");
        match table.remove(key) {
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(list)) => {
                let text = |entry: &Value| entry.as_str().map(String::from);
                list.iter().map(|entry| text(entry).ok_or_else(|| refuse(entry))).collect()
            }
            Some(other) => Err(refuse(&other)),
            None => Ok(Vec::new()),
        }
    }

    fn refused(&self, key: &str, value: &str, allowed: &str) -> FactsError {
        let key = match self.table {
            "" => key.into(),
            table => format!("{table}.{key}"),
        };
        FactsError::refused(self.path, &key, value, allowed)
    }
}
