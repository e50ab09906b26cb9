//! Files that a program has in memory, by name: what is given to a page in a browser, which has no files.

use std::collections::BTreeMap;
use std::io::{self, Cursor, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static FILES: Mutex<BTreeMap<String, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

/// Puts a file there; one of the same name is replaced.
pub fn put(name: &str, content: Vec<u8>) {
    all().insert(name.into(), content.into());
}

/// Removes a file, if it is there.
pub fn remove(name: &str) {
    all().remove(name);
}

fn all() -> MutexGuard<'static, BTreeMap<String, Arc<[u8]>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn content(path: &Path) -> io::Result<Arc<[u8]>> {
    let found = path.to_str().and_then(|name| all().get(name).cloned());
    found.ok_or_else(|| ErrorKind::NotFound.into())
}

/// Files in memory that are read front to back.
pub mod streams {
    use super::{Arc, Cursor, Path, content, io};

    /// Opens a file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn open(path: &Path) -> io::Result<Cursor<Arc<[u8]>>> {
        content(path).map(Cursor::new)
    }
}

/// Files in memory that are read whole.
pub mod texts {
    use super::{Path, content, io};
    use crate::text_content::{text, too_long};

    pub use crate::text_content::{KEYS_LIMIT_BYTES, LIMIT_BYTES};

    /// Reads a scenario, a platform or another file of keys, without the byte order mark at its start.
    ///
    /// # Errors
    /// If there is no such file, it is not UTF-8, is empty but for white space, or is longer than
    /// [`KEYS_LIMIT_BYTES`].
    pub fn read_keys(path: &str) -> io::Result<String> {
        let content = content(Path::new(path))?;
        match content.len() as u64 > KEYS_LIMIT_BYTES {
            true => Err(too_long(KEYS_LIMIT_BYTES)),
            false => text(content.to_vec()),
        }
    }

    /// Reads what may be a text.
    ///
    /// # Errors
    /// If there is no such file, or it is longer than [`LIMIT_BYTES`].
    pub fn read_bytes(path: &str) -> io::Result<Vec<u8>> {
        let content = content(Path::new(path))?;
        match content.len() as u64 > LIMIT_BYTES {
            true => Err(too_long(LIMIT_BYTES)),
            false => Ok(content.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_file_is_read_as_often_as_one_likes_until_it_is_removed() {
        put("memory.toml", b"\xef\xbb\xbfcores = 2\n".to_vec());
        for _ in 0..2 {
            assert_eq!(texts::read_keys("memory.toml").expect("is there"), "cores = 2\n");
            assert_eq!(texts::read_bytes("memory.toml").expect("is there").len(), 13);
        }
        let mut content = Vec::new();
        let opened = streams::open(Path::new("memory.toml"));
        opened.expect("is there").read_to_end(&mut content).expect("is in memory");
        assert_eq!(&content[3..], b"cores = 2\n");
        remove("memory.toml");
        let error = texts::read_keys("memory.toml").expect_err("was removed");
        assert_eq!(crate::reason(&error), "no such file");
    }

    #[test]
    fn what_is_no_text_of_keys_is_refused() {
        for (name, content, told) in [
            ("packed.toml", vec![0x1f, 0x8b, 8, 0], "packed by gzip"),
            ("empty.toml", b" \n".to_vec(), "it is empty"),
            ("long.toml", vec![b'a'; (4 << 20) + 1], "longer than 4 MiB"),
        ] {
            put(name, content);
            let error = texts::read_keys(name).expect_err("is refused");
            assert!(error.to_string().contains(told), "{error}");
            remove(name);
        }
    }
}
