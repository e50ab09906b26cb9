//! Resolves a file with all that it inherits.
//!
//! The file's own facts come first. For a table that names files itself, the facts of these files
//! follow; for others those of the machine's card, then those of the files that the whole file names,
//! in their order. Default software costs come last.

use crate::Kind;
use crate::builtin;
use crate::error::FactsError;
use crate::file::{FactFile, Inherits};
use crate::relation::{Fact, Tables};
use std::sync::Arc;
use toml::{Table, Value};

/// Longest chain of files that inherit from one another.
const DEEPEST: usize = 16;
/// Tables of a platform that come from its card.
const OF_CARD: [&str; 2] = ["nic", "pcie"];

/// Reads a file that another one names. The first text is the path of the naming file; it is empty if
/// the second text is a path that a name stands for. Returns path and text, or the error.
pub type Find<'f> = dyn Fn(&str, &str) -> Result<(String, String), String> + 'f;

/// A file with all that it inherits.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Every fact; an inherited one gives in `origin` the file that states it.
    pub document: Table,
    /// Paths of all files that were read, the file itself first.
    pub files: Vec<String>,
    /// Facts of the file itself whose value it would inherit anyway.
    pub restated: Vec<Restated>,
    /// Whether it describes a component, which cannot be run.
    pub is_part: bool,
}

/// A fact that a file states and would inherit as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Restated {
    /// Table and key of the fact.
    pub key: String,
    /// As the file states it.
    pub own: Value,
    /// As it would be inherited.
    pub inherited: Value,
}

/// Reads the file of `kind` at `path`, with all that it inherits from files that `find` reads.
///
/// # Errors
/// If a text is not TOML, or if a named file cannot be read, inherits from itself, or lacks the table
/// to inherit.
pub fn resolve(
    kind: Kind,
    path: &str,
    text: &str,
    find: &Find<'_>,
) -> Result<Resolved, FactsError> {
    let file = FactFile::parse_once(path, text)?;
    let mut reader = FactReader { find, files: vec![path.into()], chain: vec![path.into()] };
    let mut tables = reader.inherited(kind, &file)?;
    reader.add_software(kind, &file, &mut tables)?;
    let restated = restated(&file, &tables);
    overlay(&mut tables, &file);
    let mut document = file.rest.clone();
    for (name, facts) in tables {
        let facts = facts.into_iter().map(|(key, fact)| (key, fact.into_entry(&file)));
        document.insert(name, Value::Table(facts.collect()));
    }
    Ok(Resolved { document, files: reader.files, restated, is_part: file.is_part })
}

struct FactReader<'f> {
    find: &'f Find<'f>,
    files: Vec<String>,
    /// Files that are being read, from the requested one down to the current one.
    chain: Vec<String>,
}

impl FactReader<'_> {
    /// All facts that a file inherits.
    fn inherited(&mut self, kind: Kind, file: &FactFile) -> Result<Tables, FactsError> {
        let mut tables = Tables::new();
        for wanted in &file.inherits.extends {
            let (parent, facts) = self.load(kind, file, "extends", wanted)?;
            take_over(&mut tables, &parent, facts, file, &file.inherits);
        }
        if let Some(wanted) = &file.card {
            let (_, card) = self.load(Kind::Nic, file, "card", wanted)?;
            for (name, facts) in card.into_iter().filter(|(name, _)| OF_CARD.contains(&&**name)) {
                let held =
                    facts.into_iter().map(|(key, fact)| (key, fact.inherited_from_component(file)));
                tables.insert(name, held.collect());
            }
        }
        for (name, own) in &file.tables {
            if own.inherits.extends.is_empty() {
                continue;
            }
            let mut of_table = Tables::new();
            for wanted in &own.inherits.extends {
                let key = format!("{name}.extends");
                let (parent, mut facts) = self.load(kind, file, &key, wanted)?;
                let Some(facts) = facts.remove(name) else {
                    let allowed = format!("{} has no table `{name}`", parent.path);
                    return Err(FactsError::refused(&file.path, &key, wanted, &allowed));
                };
                let facts = Tables::from([(name.clone(), facts)]);
                take_over(&mut of_table, &parent, facts, file, &own.inherits);
            }
            tables.append(&mut of_table);
        }
        file.without.iter().try_for_each(|key| leave_out(&mut tables, file, key))?;
        Ok(tables)
    }

    /// A file and all its facts, inherited ones included.
    fn load(
        &mut self,
        kind: Kind,
        by: &FactFile,
        key: &str,
        wanted: &str,
    ) -> Result<(Arc<FactFile>, Tables), FactsError> {
        let refuse = |allowed: &str| FactsError::refused(&by.path, key, wanted, allowed);
        let found = if wanted.ends_with(".toml") {
            (self.find)(&by.path, wanted)
        } else {
            (self.find)("", &kind.path_of(wanted))
        };
        let (path, text) = found.map_err(|reason| refuse(&unknown(kind, wanted, &reason)))?;
        if self.chain.contains(&path) {
            let way = self.chain.join(" -> ");
            return Err(refuse(&format!("inherits from itself: {way} -> {path}")));
        }
        if self.chain.len() >= DEEPEST {
            return Err(refuse(&format!("more than {DEEPEST} files deep, perhaps in a circle")));
        }
        let parent = FactFile::parse_once(&path, &text)?;
        if let Some((key, value)) = parent.rest.iter().find(|(key, _)| *key != "title") {
            let allowed = "unknown key";
            return Err(FactsError::refused(&path, key, &value.to_string(), allowed));
        }
        if !self.files.contains(&path) {
            self.files.push(path.clone());
        }
        self.chain.push(path);
        let mut tables = self.inherited(kind, &parent)?;
        self.chain.pop();
        overlay(&mut tables, &parent);
        Ok((parent, tables))
    }

    /// Adds the default software costs; a machine without a card serves no packets.
    fn add_software(
        &mut self,
        kind: Kind,
        file: &FactFile,
        tables: &mut Tables,
    ) -> Result<(), FactsError> {
        let serves = |table: &str| tables.contains_key(table) || file.tables.contains_key(table);
        let Some(folder) = kind.software_folder() else { return Ok(()) };
        if file.is_part || (kind == Kind::Platform && !serves("nic")) {
            return Ok(());
        }
        for name in builtin::names_in(folder) {
            let wanted = format!("software/{name}");
            let (costs, facts) = self.load(kind, file, "software", &wanted)?;
            take_over(tables, &costs, facts, file, &Inherits::default());
        }
        Ok(())
    }
}

/// Adds facts of `parent` that `heir` does not have yet.
fn take_over(
    tables: &mut Tables,
    parent: &FactFile,
    facts: Tables,
    heir: &FactFile,
    inherits: &Inherits,
) {
    let because = inherits.because.as_deref();
    for (name, facts) in facts {
        let table = tables.entry(name).or_default();
        for (key, fact) in facts {
            table.entry(key).or_insert_with(|| fact.inherited(parent, heir, because));
        }
    }
}

/// Puts a file's own facts over those that it inherits.
fn overlay(tables: &mut Tables, file: &FactFile) {
    for (name, own) in &file.tables {
        let table = tables.entry(name.clone()).or_default();
        for (key, entry) in &own.facts {
            table.insert(key.clone(), Fact::new(entry.clone(), file));
        }
    }
}

fn leave_out(tables: &mut Tables, file: &FactFile, key: &str) -> Result<(), FactsError> {
    let left_out = match key.split_once('.') {
        Some((table, key)) => tables.get_mut(table).and_then(|facts| facts.remove(key)).is_some(),
        None => tables.remove(key).is_some(),
    };
    let allowed = "a table, or a table's key, that the file would inherit";
    if left_out { Ok(()) } else { Err(FactsError::refused(&file.path, "without", key, allowed)) }
}

fn restated(file: &FactFile, inherited: &Tables) -> Vec<Restated> {
    let mut found = Vec::new();
    for (table, own) in &file.tables {
        for (key, entry) in &own.facts {
            let other = inherited.get(table).and_then(|facts| facts.get(key));
            if let Some(other) =
                other.filter(|other| other.entry.get("value") == entry.get("value"))
            {
                let (key, own) = (format!("{table}.{key}"), entry.clone());
                found.push(Restated { key, own, inherited: other.clone().into_entry(file) });
            }
        }
    }
    found
}

/// The message for a file that cannot be read.
fn unknown(kind: Kind, wanted: &str, reason: &str) -> String {
    let folder = kind.folder();
    let known = builtin::names_in(folder);
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3);
    match nearest {
        Some((_, name)) => format!("{reason}; did you mean `{name}`?"),
        None => format!("{reason}; known in {folder}: {}", known.join(", ")),
    }
}
