//! The commands that a core answers.

use super::about;
use super::keyspace::Keyspace;
use super::reply;
use super::request::{Arguments, number};
use super::slots::{Cluster, slot_of};
use super::storing;
use crate::placement::Placement;
use std::net::IpAddr;
use std::sync::Arc;

/// Longest reply: a client that asks for more than it could take is cut off.
pub const MOST_REPLY_BYTES: usize = 64 << 20;

/// What one core serves.
pub struct Core<'m> {
    pub keys: Keyspace<'m>,
    pub cluster: Arc<Cluster>,
    /// Which node of the cluster it is.
    pub node: usize,
    pub placement: Placement,
    /// The address at which the client that asks has reached this core.
    pub here: Option<IpAddr>,
    pub counts: Counts,
}

/// What a core has done so far.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Counts {
    pub connections: u64,
    pub clients: u64,
    pub commands: u64,
    pub errors: u64,
    pub rankings: u64,
}

/// What becomes of the connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    GoOn,
    Close,
}

/// A command: its name, what it takes, and where its keys are.
pub struct Command {
    pub name: &'static str,
    /// Arguments with the name; at least so many if negative.
    pub arity: i32,
    pub flags: &'static [&'static str],
    /// First and last key, and the step between keys, as Redis states it.
    pub keys: (i32, i32, i32),
    run: fn(&mut Core<'_>, Arguments<'_>, &mut Vec<u8>) -> Next,
}

macro_rules! commands {
    ($($name:literal $arity:literal [$($flag:literal)*] $keys:expr => $run:expr;)*) => {
        &[$(Command { name: $name, arity: $arity, flags: &[$($flag),*], keys: $keys, run: $run }),*]
    };
}

const NO_KEYS: (i32, i32, i32) = (0, 0, 0);

pub static COMMANDS: &[Command] = commands! {
    "get" 2 ["readonly" "fast"] (1, 1, 1) => get;
    "set" -3 ["write" "denyoom"] (1, 1, 1) => storing::set;
    "del" -2 ["write"] (1, -1, 1) => del;
    "exists" -2 ["readonly" "fast"] (1, -1, 1) => exists;
    "mget" -2 ["readonly" "fast"] (1, -1, 1) => mget;
    "mset" -3 ["write" "denyoom"] (1, -1, 2) => storing::mset;
    "ping" -1 ["fast"] NO_KEYS => ping;
    "echo" 2 ["fast"] NO_KEYS => |_, arguments, out| { reply::bulk(out, arguments.get(1)); Next::GoOn };
    "quit" -1 ["fast"] NO_KEYS => |_, _, out| { reply::simple(out, "OK"); Next::Close };
    "select" 2 ["fast"] NO_KEYS => select;
    "dbsize" 1 ["readonly" "fast"] NO_KEYS => dbsize;
    "flushall" -1 ["write"] NO_KEYS => flush;
    "flushdb" -1 ["write"] NO_KEYS => flush;
    "info" -1 [] NO_KEYS => about::info;
    "command" -1 [] NO_KEYS => about::command;
    "config" -2 ["admin"] NO_KEYS => about::config;
    "client" -2 [] NO_KEYS => about::client;
    "cluster" -2 [] NO_KEYS => about::cluster;
    "hello" -1 ["fast"] NO_KEYS => about::hello;
};

impl Core<'_> {
    /// Answers a request.
    pub fn answer(&mut self, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
        if arguments.len() == 0 {
            return Next::GoOn;
        }
        self.counts.commands += 1;
        let name = arguments.get(0);
        // A page in a browser of this machine can send HTTP here, with commands in its body. Redis ends
        // at these words, too.
        if name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:") {
            self.counts.errors += 1;
            return Next::Close;
        }
        let known = |command: &&Command| command.name.as_bytes().eq_ignore_ascii_case(name);
        let Some(command) = COMMANDS.iter().find(known) else {
            return self.refuse(out, &unknown(arguments));
        };
        let given = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
        if given < command.arity.abs() || (command.arity > 0 && given != command.arity) {
            let text = format!("ERR wrong number of arguments for '{}' command", command.name);
            return self.refuse(out, &text);
        }
        match self.elsewhere(command, arguments) {
            Some(error) => self.refuse(out, &error),
            None => (command.run)(self, arguments, out),
        }
    }

    pub fn refuse(&mut self, out: &mut Vec<u8>, text: &str) -> Next {
        self.counts.errors += 1;
        reply::error(out, text);
        Next::GoOn
    }

    /// The error that sends a client to the core of its keys, as Redis Cluster does.
    fn elsewhere(&self, command: &Command, arguments: Arguments<'_>) -> Option<String> {
        let (first, _, step) = command.keys;
        if !self.cluster.is_shared() || first == 0 {
            return None;
        }
        let step = usize::try_from(step).unwrap_or(1);
        let last = if command.keys.1 < 0 { arguments.len() } else { 2 };
        let mut slots = arguments.from(1).take(last - 1).step_by(step).map(slot_of);
        let slot = slots.next()?;
        if slots.any(|other| other != slot) {
            return Some("CROSSSLOT Keys in request don't hash to the same slot".into());
        }
        let node = self.cluster.node_of(slot);
        (node != self.node).then(|| {
            let (host, port) = self.reached_at(node);
            format!("MOVED {slot} {host}:{port}")
        })
    }

    /// Host and port of a core for the client that asks: at the address that it used itself, where the
    /// server listens on all.
    pub fn reached_at(&self, node: usize) -> (IpAddr, u16) {
        let address = self.cluster.nodes[node].address;
        let host = if address.ip().is_unspecified() { self.here } else { None };
        (host.unwrap_or(address.ip()), address.port())
    }
}

fn unknown(arguments: Arguments<'_>) -> String {
    const SHOWN: usize = 128;
    let shown =
        |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned();
    let mut given = String::new();
    for argument in arguments.from(1) {
        if given.len() >= SHOWN {
            break;
        }
        given += &format!("'{}' ", shown(argument));
    }
    let name = shown(arguments.get(0));
    format!("ERR unknown command '{name}', with args beginning with: {given}")
}

fn get(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    bulk_of(core, arguments.get(1), out);
    Next::GoOn
}

#[inline]
pub fn bulk_of(core: &mut Core<'_>, key: &[u8], out: &mut Vec<u8>) {
    match core.keys.look_up(key) {
        Some(item) => {
            reply::bulk_start(out, core.keys.value_bytes(item));
            core.keys.copy_value(item, out);
            reply::bulk_end(out);
        }
        None => reply::null(out),
    }
}

fn mget(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    reply::array(out, arguments.len() - 1);
    for key in arguments.from(1) {
        if out.len() > MOST_REPLY_BYTES {
            return Next::Close;
        }
        bulk_of(core, key, out);
    }
    Next::GoOn
}

pub fn done(out: &mut Vec<u8>) -> Next {
    reply::simple(out, "OK");
    Next::GoOn
}

fn del(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    let removed = arguments.from(1).filter(|key| core.keys.remove(key)).count();
    reply::integer(out, removed as u64);
    Next::GoOn
}

fn exists(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    let there = arguments.from(1).filter(|key| core.keys.contains(key)).count();
    reply::integer(out, there as u64);
    Next::GoOn
}

fn ping(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    match arguments.len() {
        1 => reply::simple(out, "PONG"),
        2 => reply::bulk(out, arguments.get(1)),
        _ => return core.refuse(out, "ERR wrong number of arguments for 'ping' command"),
    }
    Next::GoOn
}

fn select(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    match number(arguments.get(1)) {
        Some(0) => done(out),
        Some(_) if core.cluster.is_shared() => {
            core.refuse(out, "ERR SELECT is not allowed in cluster mode")
        }
        Some(_) => core.refuse(out, "ERR DB index is out of range"),
        None => core.refuse(out, "ERR value is not an integer or out of range"),
    }
}

fn dbsize(core: &mut Core<'_>, _: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    reply::integer(out, core.keys.len() as u64);
    Next::GoOn
}

fn flush(core: &mut Core<'_>, arguments: Arguments<'_>, out: &mut Vec<u8>) -> Next {
    let is_mode =
        |word: &[u8]| word.eq_ignore_ascii_case(b"async") || word.eq_ignore_ascii_case(b"sync");
    if arguments.len() > 2 || arguments.from(1).any(|word| !is_mode(word)) {
        return core.refuse(out, "ERR syntax error");
    }
    core.keys.clear();
    done(out)
}
