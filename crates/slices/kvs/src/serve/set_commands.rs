//! SET and MSET.

use super::commands::{AfterCommand, ServingCore, reply_ok, reply_value};
use super::lines::Full;
use super::reply;
use super::request::RequestArguments;

/// Most bytes of a key.
pub const MOST_KEY_BYTES: usize = 4096;

/// Options of SET.
#[derive(Default)]
struct SetOptions {
    /// NX: set the key only if it is missing.
    if_missing: bool,
    /// XX: set the key only if it is present.
    if_present: bool,
    /// GET: reply with the old value.
    returns_old: bool,
}

impl SetOptions {
    fn read(arguments: RequestArguments<'_>) -> Result<Self, &'static str> {
        let mut options = Self::default();
        for option in arguments.from(3) {
            match option.to_ascii_lowercase().as_slice() {
                b"nx" => options.if_missing = true,
                b"xx" => options.if_present = true,
                b"get" => options.returns_old = true,
                // Values do not expire, so there is no time to live to keep.
                b"keepttl" => {}
                b"ex" | b"px" | b"exat" | b"pxat" => return Err("ERR values do not expire here"),
                _ => return Err("ERR syntax error"),
            }
        }
        if options.if_missing && options.if_present { Err("ERR syntax error") } else { Ok(options) }
    }
}

pub fn set(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let (key, value) = (arguments.get(1), arguments.get(2));
    if arguments.len() == 3 {
        return match store(core, &[(key, value)]) {
            Ok(()) => reply_ok(out),
            Err(text) => core.refuse(out, &text),
        };
    }
    let options = match SetOptions::read(arguments) {
        Ok(options) => options,
        Err(text) => return core.refuse(out, text),
    };
    let present = core.keys.contains(key);
    let takes_place = !(options.if_missing && present || options.if_present && !present);
    let start = out.len();
    match (options.returns_old, takes_place) {
        (true, _) => reply_value(core, key, out),
        (false, true) => reply::simple(out, "OK"),
        (false, false) => reply::null(out),
    }
    if takes_place && let Err(text) = store(core, &[(key, value)]) {
        out.truncate(start);
        return core.refuse(out, &text);
    }
    AfterCommand::GoOn
}

pub fn mset(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    if arguments.len().is_multiple_of(2) {
        return core.refuse(out, "ERR wrong number of arguments for 'mset' command");
    }
    let keys = arguments.from(1).step_by(2);
    let pairs: Vec<(&[u8], &[u8])> = keys.zip(arguments.from(2).step_by(2)).collect();
    match store(core, &pairs) {
        Ok(()) => reply_ok(out),
        Err(text) => core.refuse(out, &text),
    }
}

/// Sets all keys, or none if there are too few lines.
fn store(core: &mut ServingCore<'_>, pairs: &[(&[u8], &[u8])]) -> Result<(), String> {
    if let Some((key, _)) = pairs.iter().find(|(key, _)| key.len() > MOST_KEY_BYTES) {
        return Err(format!("ERR a key of {} bytes; allowed: up to {MOST_KEY_BYTES}", key.len()));
    }
    if let [(key, value)] = pairs {
        return core.keys.set(key, value).map_err(|Full| FULL.into());
    }
    let needed: usize = pairs.iter().map(|(key, value)| core.keys.further_lines(key, value)).sum();
    if needed > core.keys.lines().free_count() {
        return Err(FULL.into());
    }
    for (key, value) in pairs {
        core.keys.set(key, value).expect("lines were counted, for keys that are given twice too");
    }
    Ok(())
}

/// Redis's error for a full memory.
const FULL: &str = "OOM command not allowed when used memory > 'maxmemory'.";
