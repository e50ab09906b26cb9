//! SET and MSET.

use super::commands::{Core, Next, bulk_of, done};
use super::lines::Full;
use super::reply;
use super::request::Arguments;

/// Longest key: an index of keys that are as long as values would be the store itself.
pub const MOST_KEY_BYTES: usize = 4096;

/// When a SET takes place, and what it answers.
#[derive(Default)]
struct SetOptions {
    if_missing: bool,
    if_there: bool,
    gives_old: bool,
}

impl SetOptions {
    fn read(arguments: Arguments<'_>) -> Result<Self, &'static str> {
        let mut options = Self::default();
        for option in arguments.from(3) {
            match option.to_ascii_lowercase().as_slice() {
                b"nx" => options.if_missing = true,
                b"xx" => options.if_there = true,
                b"get" => options.gives_old = true,
                // Values do not expire: there is nothing to keep.
                b"keepttl" => {}
                b"ex" | b"px" | b"exat" | b"pxat" => return Err("ERR values do not expire here"),
                _ => return Err("ERR syntax error"),
            }
        }
        if options.if_missing && options.if_there { Err("ERR syntax error") } else { Ok(options) }
    }
}

pub fn set(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    let (key, value) = (arguments.get(1), arguments.get(2));
    if arguments.len() == 3 {
        return match store(core, &[(key, value)]) {
            Ok(()) => done(out),
            Err(text) => core.refuse(out, &text),
        };
    }
    let options = match SetOptions::read(arguments) {
        Ok(options) => options,
        Err(text) => return core.refuse(out, text),
    };
    let there = core.keys.contains(key);
    let takes_place = !(options.if_missing && there || options.if_there && !there);
    let start = out.len();
    match (options.gives_old, takes_place) {
        (true, _) => bulk_of(core, key, out),
        (false, true) => reply::simple(out, "OK"),
        (false, false) => reply::null(out),
    }
    if takes_place && let Err(text) = store(core, &[(key, value)]) {
        out.truncate(start);
        return core.refuse(out, &text);
    }
    Next::GoOn
}

pub fn mset(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    if arguments.len().is_multiple_of(2) {
        return core.refuse(out, "ERR wrong number of arguments for 'mset' command");
    }
    let keys = arguments.from(1).step_by(2);
    let pairs: Vec<(&[u8], &[u8])> = keys.zip(arguments.from(2).step_by(2)).collect();
    match store(core, &pairs) {
        Ok(()) => done(out),
        Err(text) => core.refuse(out, &text),
    }
}

/// Sets all or nothing.
fn store(core: &mut Core<'_>, pairs: &[(&[u8], &[u8])]) -> Result<(), String> {
    if let Some((key, _)) = pairs.iter().find(|(key, _)| key.len() > MOST_KEY_BYTES) {
        return Err(format!("ERR a key of {} bytes; allowed: up to {MOST_KEY_BYTES}", key.len()));
    }
    if let [(key, value)] = pairs {
        return core.keys.set(key, value).map_err(|Full| FULL.into());
    }
    let needed: usize = pairs.iter().map(|(key, value)| core.keys.further_lines(key, value)).sum();
    if needed > core.keys.lines().free() {
        return Err(FULL.into());
    }
    for (key, value) in pairs {
        core.keys.set(key, value).expect("lines were counted, for keys that are there twice too");
    }
    Ok(())
}

/// As Redis says it.
const FULL: &str = "OOM command not allowed when used memory > 'maxmemory'.";
