//! Thresholds: the sizes from which on a device ends an operation sooner than the CPU.

use crate::error::Error;
use dsa::hardware::Opcode;
use std::io::Read;
use std::path::Path;
use toml::{Table, Value};

/// A file of thresholds has some hundred bytes; a device may never end.
const LIMIT_BYTES: u64 = 64 << 10;

/// The size of each operation, in bytes, from which on the automatic path takes a device. Default: published
/// sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Source of the sizes: a command, or a publication.
    pub source: String,
    synchronous: [u64; 19],
    asynchronous: [u64; 19],
}

/// Names of operations in the file, and the operations that share a name.
const NAMES: [(&str, &[Opcode]); 13] = [
    ("copy", &[Opcode::Move]),
    ("dualcast", &[Opcode::Dualcast]),
    ("fill", &[Opcode::Fill]),
    ("compare", &[Opcode::Compare]),
    ("compare-pattern", &[Opcode::ComparePattern]),
    ("create-delta", &[Opcode::CreateDelta]),
    ("apply-delta", &[Opcode::ApplyDelta]),
    ("crc", &[Opcode::Crc]),
    ("copy-crc", &[Opcode::CopyCrc]),
    ("dif-check", &[Opcode::DifCheck]),
    ("dif-insert", &[Opcode::DifInsert, Opcode::DixGenerate]),
    ("dif-strip", &[Opcode::DifStrip]),
    ("dif-update", &[Opcode::DifUpdate]),
];

impl Default for Thresholds {
    /// The sizes that the ASPLOS'24 study reports for data in the LLC or in DRAM, for all operations.
    fn default() -> Self {
        let mut published = Self {
            source: "ASPLOS'24 study of DSA: 4 KiB synchronously, 128 B asynchronously".to_owned(),
            synchronous: [0; 19],
            asynchronous: [0; 19],
        };
        for (_, opcodes) in NAMES {
            for opcode in opcodes {
                published.synchronous[number(*opcode)] = 4096;
                published.asynchronous[number(*opcode)] = 128;
            }
        }
        published
    }
}

impl Thresholds {
    /// The same sizes for every operation.
    #[must_use]
    pub fn uniform(synchronous_bytes: u64, asynchronous_bytes: u64, source: &str) -> Self {
        Self {
            source: source.to_owned(),
            synchronous: [synchronous_bytes; 19],
            asynchronous: [asynchronous_bytes; 19],
        }
    }

    /// Reads a file that `skipline-dsa tune` writes: `source`, and the tables `[synchronous]` and
    /// `[asynchronous]` with a size in bytes, or `"never"`, by operation. An operation that is not named has
    /// the size of [`Self::default`].
    ///
    /// # Errors
    /// [`Error::Thresholds`] if the file cannot be read or is not valid, with the line or the key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |why: String| Error::Thresholds { path: path.to_owned(), why };
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(LIMIT_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| wrong(error.to_string()))?;
        if text.len() as u64 > LIMIT_BYTES {
            return Err(wrong(format!(
                "longer than {} KiB, which no such file is",
                LIMIT_BYTES >> 10
            )));
        }
        Self::parse(&text).map_err(wrong)
    }

    /// Reads the text of a file, as [`Self::read`] does.
    ///
    /// # Errors
    /// The problem in words, with the line or the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut read = Self::default();
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("source", Value::String(source)) => read.source.clone_from(source),
                ("synchronous", Value::Table(sizes)) => fill(&mut read.synchronous, key, sizes)?,
                ("asynchronous", Value::Table(sizes)) => fill(&mut read.asynchronous, key, sizes)?,
                _ => {
                    return Err(format!(
                        "{key}: unknown key, or not of its type; allowed are source (text), \
                         [synchronous] and [asynchronous]"
                    ));
                }
            }
        }
        Ok(read)
    }

    /// The text of a file with these thresholds, for [`Self::read`].
    #[must_use]
    pub fn to_toml(&self) -> String {
        let sizes = |by_operation: &[u64; 19]| -> Table {
            let value = |bytes: u64| match i64::try_from(bytes) {
                Ok(bytes) => Value::Integer(bytes),
                Err(_) => Value::String("never".to_owned()),
            };
            NAMES
                .iter()
                .map(|(name, all)| ((*name).to_owned(), value(by_operation[number(all[0])])))
                .collect()
        };
        let mut table = Table::new();
        table.insert("source".to_owned(), Value::String(self.source.clone()));
        table.insert("synchronous".to_owned(), Value::Table(sizes(&self.synchronous)));
        table.insert("asynchronous".to_owned(), Value::Table(sizes(&self.asynchronous)));
        toml::to_string(&table).unwrap_or_else(|error| unreachable!("a plain table: {error}"))
    }

    /// The size in bytes from which on a device is used if the caller waits; `u64::MAX`: never.
    #[inline]
    #[must_use]
    pub fn synchronous_bytes(&self, opcode: Opcode) -> u64 {
        self.synchronous[number(opcode)]
    }

    /// The size in bytes from which on a device is used if the caller continues meanwhile; `u64::MAX`: never.
    #[inline]
    #[must_use]
    pub fn asynchronous_bytes(&self, opcode: Opcode) -> u64 {
        self.asynchronous[number(opcode)]
    }

    /// Sets both sizes of an operation, in bytes; `u64::MAX`: never.
    pub fn set(&mut self, opcode: Opcode, synchronous_bytes: u64, asynchronous_bytes: u64) {
        self.synchronous[number(opcode)] = synchronous_bytes;
        self.asynchronous[number(opcode)] = asynchronous_bytes;
    }

    /// The names of operations in files.
    pub fn names() -> impl Iterator<Item = (&'static str, Opcode)> {
        NAMES.iter().map(|(name, opcodes)| (*name, opcodes[0]))
    }
}

fn fill(sizes: &mut [u64; 19], table: &str, given: &Table) -> Result<(), String> {
    for (name, value) in given {
        let Some((_, opcodes)) = NAMES.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
            return Err(format!(
                "{table}.{name}: not an operation; allowed are {}",
                known.join(", ")
            ));
        };
        let bytes = match value {
            Value::Integer(bytes) => u64::try_from(*bytes).ok(),
            Value::String(never) if never == "never" => Some(u64::MAX),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| {
            format!("{table}.{name} = {value}: a size in bytes is needed, or \"never\"")
        })?;
        for opcode in *opcodes {
            sizes[number(*opcode)] = bytes;
        }
    }
    Ok(())
}

/// The index of an operation in [`Opcode::ALL`].
#[inline]
fn number(opcode: Opcode) -> usize {
    crate::statistics::index(opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut own = Thresholds::uniform(5000, 300, "a test");
        own.set(Opcode::Compare, u64::MAX, 77);
        let read = Thresholds::parse(&own.to_toml()).expect("is read");
        for (_, opcode) in Thresholds::names() {
            assert_eq!(read.synchronous_bytes(opcode), own.synchronous_bytes(opcode));
            assert_eq!(read.asynchronous_bytes(opcode), own.asynchronous_bytes(opcode));
        }
        assert_eq!(read.source, "a test");
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let refused = Thresholds::read(Path::new("/dev/zero")).expect_err("never ends");
        assert!(refused.to_string().contains("longer than 64 KiB"), "{refused}");
    }

    #[test]
    fn wrong_files_are_refused_by_key_and_value() {
        let wrong = |text| Thresholds::parse(text).expect_err("is refused");
        assert!(wrong("[synchronous]\ncpoy = 1").contains("synchronous.cpoy: not an operation"));
        assert!(wrong("[asynchronous]\ncopy = -1").contains("asynchronous.copy = -1"));
        assert!(wrong("[asynchronous]\ncopy = \"often\"").contains("\"never\""));
        assert!(wrong("sources = 1").contains("sources: unknown key"));
        assert!(wrong("[synchronous").contains("line 1"));
    }
}
