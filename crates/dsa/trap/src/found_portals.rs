//! Portals that were mapped without a call of this library: by a system call, by `mremap`, by a library in a
//! link namespace of its own. They are found when an instruction writes to one.

use crate::identities;
use crate::portals::{self, MappedPortal};
use crate::private_libc;
use crate::run;
use crate::thread_locals::local;
use dsa::hardware::PORTAL_BYTES;
use libc::c_int;
use std::sync::atomic::Ordering;

/// A mapping of a file of the run.
struct FileMapping {
    inode: u64,
}

/// The portal at an address; if none is known there, one that is found among the mappings of the process.
pub fn at(address: u64) -> Option<&'static MappedPortal> {
    portals::at(address).or_else(|| {
        let run = run::current().filter(|_| local().starts_engines.get() == 0)?;
        let mapping = mapping_at(address, run.registers.files.load(Ordering::Acquire))?;
        let identity = identities::identify_inode(run, mapping.inode)?;
        portals::add(address & !(PORTAL_BYTES as u64 - 1), identity).ok()?;
        portals::at(address)
    })
}

/// The shared mapping at an address, if its file is in a file system. It allocates nothing.
fn mapping_at(address: u64, file_system: u64) -> Option<FileMapping> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with zero.
    let maps = unsafe { private_libc::open(c"/proc/self/maps".as_ptr(), flags, 0) };
    if maps < 0 {
        return None;
    }
    let found = search(maps, address, file_system);
    // SAFETY: the descriptor is this function's.
    unsafe { libc::close(maps) };
    found
}

fn search(maps: c_int, address: u64, file_system: u64) -> Option<FileMapping> {
    let mut line = [0_u8; 128];
    let mut length = 0;
    let mut buffer = [0_u8; 1024];
    loop {
        // SAFETY: the buffer has as many bytes.
        let read = unsafe { libc::read(maps, buffer.as_mut_ptr().cast(), buffer.len()) };
        let text = buffer.get(..usize::try_from(read).ok()?).filter(|text| !text.is_empty())?;
        for &byte in text {
            if byte != b'\n' {
                // The path behind the inode number is not needed.
                if let Some(place) = line.get_mut(length) {
                    *place = byte;
                    length += 1;
                }
                continue;
            }
            let (range, found) = parse(&line[..length], file_system)?;
            if range.contains(&address) {
                return found;
            }
            length = 0;
        }
    }
}

/// The addresses of a line of `/proc/self/maps`, and the file, if it is in the file system and shared.
fn parse(line: &[u8], file_system: u64) -> Option<(std::ops::Range<u64>, Option<FileMapping>)> {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let number = |text: &[u8], radix| u64::from_str_radix(str::from_utf8(text).ok()?, radix).ok();
    let (start, end) = split(fields.next()?, b'-')?;
    let range = number(start, 16)?..number(end, 16)?;
    let is_shared = fields.next()?.get(3) == Some(&b's');
    let (major, minor) = split(fields.nth(1)?, b':')?;
    let device = libc::makedev(
        units::narrow::fit(number(major, 16)?),
        units::narrow::fit(number(minor, 16)?),
    );
    let inode = number(fields.next()?, 10)?;
    let is_of_run = is_shared && device == file_system;
    Some((range, is_of_run.then_some(FileMapping { inode })))
}

fn split(text: &[u8], by: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == by)?;
    Some((&text[..at], &text[at + 1..]))
}
