//! A function of a loaded library, by its name: what `dlsym` does, without a call.
//!
//! All of it is written byte by byte with volatile reads: a loop that the compiler turned into `memcmp` or
//! `strlen` would call the function that is searched for.

use std::ffi::CStr;

/// Head of the loader's list of libraries [glibc: link.h].
#[repr(C)]
struct RDebug {
    version: i32,
    first: *const LinkMap,
}

// SAFETY: the loader changes it under a lock of its own; libraries in use stay in it.
unsafe impl Sync for RDebug {}

#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const u8,
    dynamic: *const [usize; 2],
    next: *const LinkMap,
}

unsafe extern "C" {
    #[link_name = "_r_debug"]
    static LOADED: RDebug;
}

/// Tags of the dynamic section [System V ABI; GNU extensions].
const STRINGS: usize = 5;
const SYMBOLS: usize = 6;
const GNU_HASH: usize = 0x6fff_fef5;
const VERSIONS: usize = 0x6fff_fff0;
/// Type of a symbol whose value is a function that returns the address.
const INDIRECT_FUNCTION: u8 = 10;
/// Bit of a version: not the one that new programs are linked with.
const HIDDEN: u16 = 0x8000;

/// A symbol [System V ABI, symbol table].
#[derive(Clone, Copy)]
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

/// Tables of a loaded library.
struct Library {
    base: usize,
    strings: usize,
    symbols: usize,
    hash: usize,
    versions: usize,
}

fn read<T: Copy>(address: usize) -> T {
    // SAFETY: the callers' addresses are those of tables of loaded libraries.
    unsafe { std::ptr::with_exposed_provenance::<T>(address).read_volatile() }
}

/// Address of a function of the library with this file name; `None` if that is not loaded, or does not have it.
pub fn find(library: &CStr, name: &CStr) -> Option<usize> {
    // SAFETY: the loader has it.
    let mut next = unsafe { LOADED.first };
    loop {
        // SAFETY: an element of the loader's list, or null.
        let map = unsafe { next.as_ref() }?;
        if ends_with(map.name as usize, library) {
            return Library::new(map)?.function(name);
        }
        next = map.next;
    }
}

fn byte_of(text: &CStr, number: usize) -> u8 {
    read(text.as_ptr() as usize + number)
}

/// Whether a path ends with a slash and the name, or is the name.
fn ends_with(path: usize, name: &CStr) -> bool {
    let (mut at, mut file) = (path, path);
    if path == 0 {
        return false;
    }
    loop {
        match read::<u8>(at) {
            0 => break,
            b'/' => file = at + 1,
            _ => {}
        }
        at += 1;
    }
    is_text(file, name)
}

fn is_text(address: usize, text: &CStr) -> bool {
    let mut number = 0;
    loop {
        let byte = byte_of(text, number);
        if read::<u8>(address + number) != byte {
            return false;
        }
        if byte == 0 {
            return true;
        }
        number += 1;
    }
}

fn hash_of(name: &CStr) -> u32 {
    let (mut hash, mut number) = (5381_u32, 0);
    loop {
        match byte_of(name, number) {
            0 => return hash,
            byte => hash = hash.wrapping_mul(33).wrapping_add(byte.into()),
        }
        number += 1;
    }
}

impl Library {
    fn new(map: &LinkMap) -> Option<Self> {
        let mut own = Self { base: map.base, strings: 0, symbols: 0, hash: 0, versions: 0 };
        let mut entry = map.dynamic as usize;
        loop {
            let (tag, value) = (read::<usize>(entry), read::<usize>(entry + 8));
            // The loader adds the base in place, where it can write the section.
            let address = if value < map.base { map.base.wrapping_add(value) } else { value };
            match tag {
                0 => break,
                STRINGS => own.strings = address,
                SYMBOLS => own.symbols = address,
                GNU_HASH => own.hash = address,
                VERSIONS => own.versions = address,
                _ => {}
            }
            entry += 16;
        }
        (own.strings != 0 && own.symbols != 0 && own.hash != 0).then_some(own)
    }

    /// Address of a function: in its default version, if it has one.
    fn function(&self, name: &CStr) -> Option<usize> {
        let word = |number: usize| read::<u32>(self.hash + 4 * number);
        let (buckets, first, filters) = (word(0), word(1), word(2) as usize);
        let hash = hash_of(name);
        if buckets == 0 {
            return None;
        }
        let bucket = 4 + 2 * filters + (hash % buckets) as usize;
        let mut number = word(bucket);
        if number < first {
            return None;
        }
        let chains = 4 + 2 * filters + buckets as usize;
        let mut hidden = None;
        loop {
            let link = word(chains + (number - first) as usize);
            if link | 1 == hash | 1
                && let Some((address, is_hidden)) = self.definition(number as usize, name)
            {
                if !is_hidden {
                    return Some(address);
                }
                hidden = hidden.or(Some(address));
            }
            if link & 1 != 0 {
                return hidden;
            }
            number += 1;
        }
    }

    /// Address of symbol number `number`, and whether its version is hidden; `None` if it has another name or
    /// no definition.
    fn definition(&self, number: usize, name: &CStr) -> Option<(usize, bool)> {
        let symbol: Symbol = read(self.symbols + number * size_of::<Symbol>());
        if symbol.section == 0 || !is_text(self.strings + symbol.name as usize, name) {
            return None;
        }
        let is_hidden = self.versions != 0 && read::<u16>(self.versions + 2 * number) & HIDDEN != 0;
        let address = self.base.wrapping_add(symbol.value);
        if symbol.info & 0xf != INDIRECT_FUNCTION {
            return Some((address, is_hidden));
        }
        // SAFETY: a function of the library, which chooses by the CPU and takes no arguments on x86.
        let choose: extern "C" fn() -> usize =
            unsafe { std::mem::transmute::<usize, extern "C" fn() -> usize>(address) };
        Some((choose(), is_hidden))
    }
}
