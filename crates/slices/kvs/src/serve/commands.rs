//! The commands of a core.

use super::keyspace::Keyspace;
use super::reply;
use super::request::{RequestArguments, number};
use super::server_commands;
use super::set_commands;
use super::slots::{Cluster, slot_of};
use crate::placement::ValuePlacement;
use std::net::IpAddr;
use std::sync::Arc;

/// Longest reply in bytes: a client that requests more is disconnected.
pub const MOST_REPLY_BYTES: usize = 64 << 20;

/// The keys of one core, its node of the cluster, and its counters.
pub struct ServingCore<'m> {
    pub keys: Keyspace<'m>,
    pub cluster: Arc<Cluster>,
    /// Index of the core's node in the cluster.
    pub node: usize,
    pub placement: ValuePlacement,
    /// The server's address to which the current client is connected.
    pub local_address: Option<IpAddr>,
    pub counts: CoreCounts,
}

/// Counters of a core since its start.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct CoreCounts {
    pub connections: u64,
    pub clients: u64,
    pub commands: u64,
    pub errors: u64,
    pub rankings: u64,
}

/// Fate of the connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCommand {
    GoOn,
    Close,
}

/// A command: name, number of arguments, flags, and positions of its keys.
pub struct RedisCommand {
    pub name: &'static str,
    /// Number of arguments including the name; if negative, the least number.
    pub arity: i32,
    pub flags: &'static [&'static str],
    /// Positions of first and last key, and the step between keys, as in Redis's COMMAND.
    pub keys: (i32, i32, i32),
    run: fn(&mut ServingCore<'_>, RequestArguments<'_>, &mut Vec<u8>) -> AfterCommand,
}

macro_rules! commands {
    ($($name:literal $arity:literal [$($flag:literal)*] $keys:expr => $run:expr;)*) => {
        &[$(RedisCommand { name: $name, arity: $arity, flags: &[$($flag),*], keys: $keys, run: $run }),*]
    };
}

const NO_KEYS: (i32, i32, i32) = (0, 0, 0);

pub static COMMANDS: &[RedisCommand] = commands! {
    "get" 2 ["readonly" "fast"] (1, 1, 1) => get;
    "set" -3 ["write" "denyoom"] (1, 1, 1) => set_commands::set;
    "del" -2 ["write"] (1, -1, 1) => del;
    "exists" -2 ["readonly" "fast"] (1, -1, 1) => exists;
    "mget" -2 ["readonly" "fast"] (1, -1, 1) => mget;
    "mset" -3 ["write" "denyoom"] (1, -1, 2) => set_commands::mset;
    "ping" -1 ["fast"] NO_KEYS => ping;
    "echo" 2 ["fast"] NO_KEYS => |_, arguments, out| { reply::bulk(out, arguments.get(1)); AfterCommand::GoOn };
    "quit" -1 ["fast"] NO_KEYS => |_, _, out| { reply::simple(out, "OK"); AfterCommand::Close };
    "select" 2 ["fast"] NO_KEYS => select;
    "dbsize" 1 ["readonly" "fast"] NO_KEYS => dbsize;
    "flushall" -1 ["write"] NO_KEYS => flush;
    "flushdb" -1 ["write"] NO_KEYS => flush;
    "info" -1 [] NO_KEYS => server_commands::info;
    "command" -1 [] NO_KEYS => server_commands::command;
    "config" -2 ["admin"] NO_KEYS => server_commands::config;
    "client" -2 [] NO_KEYS => server_commands::client;
    "cluster" -2 [] NO_KEYS => server_commands::cluster;
    "hello" -1 ["fast"] NO_KEYS => server_commands::hello;
};

impl ServingCore<'_> {
    /// Executes a request and appends the reply to `out`.
    pub fn answer(&mut self, arguments: RequestArguments<'_>, out: &mut Vec<u8>) -> AfterCommand {
        if arguments.len() == 0 {
            return AfterCommand::GoOn;
        }
        self.counts.commands += 1;
        let name = arguments.get(0);
        // A page in a browser of this machine can send HTTP here, with commands in its body. Redis closes
        // the connection at these words, too.
        if name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:") {
            self.counts.errors += 1;
            return AfterCommand::Close;
        }
        let known = |command: &&RedisCommand| command.name.as_bytes().eq_ignore_ascii_case(name);
        let Some(command) = COMMANDS.iter().find(known) else {
            return self.refuse(out, &unknown(arguments));
        };
        let given = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
        if given < command.arity.abs() || (command.arity > 0 && given != command.arity) {
            let text = format!("ERR wrong number of arguments for '{}' command", command.name);
            return self.refuse(out, &text);
        }
        match self.redirection(command, arguments) {
            Some(error) => self.refuse(out, &error),
            None => (command.run)(self, arguments, out),
        }
    }

    /// Replies with an error and counts it.
    pub fn refuse(&mut self, out: &mut Vec<u8>, text: &str) -> AfterCommand {
        self.counts.errors += 1;
        reply::error(out, text);
        AfterCommand::GoOn
    }

    /// The error that redirects a client to the core of its keys, as Redis Cluster does; `None` if that is
    /// this core.
    fn redirection(
        &self,
        command: &RedisCommand,
        arguments: RequestArguments<'_>,
    ) -> Option<String> {
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
            let (host, port) = self.address_for_client(node);
            format!("MOVED {slot} {host}:{port}")
        })
    }

    /// Host and port of a core for the current client. If the server listens on all addresses, the host is
    /// the address to which the client is connected.
    pub fn address_for_client(&self, node: usize) -> (IpAddr, u16) {
        let address = self.cluster.nodes[node].address;
        let host = if address.ip().is_unspecified() { self.local_address } else { None };
        (host.unwrap_or(address.ip()), address.port())
    }
}

fn unknown(arguments: RequestArguments<'_>) -> String {
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

fn get(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    reply_value(core, arguments.get(1), out);
    AfterCommand::GoOn
}

/// Replies with the value of a key, or null.
#[inline]
pub fn reply_value(core: &mut ServingCore<'_>, key: &[u8], out: &mut Vec<u8>) {
    match core.keys.look_up(key) {
        Some(item) => {
            reply::bulk_start(out, core.keys.value_bytes(item));
            core.keys.copy_value(item, out);
            reply::bulk_end(out);
        }
        None => reply::null(out),
    }
}

fn mget(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    reply::array(out, arguments.len() - 1);
    for key in arguments.from(1) {
        if out.len() > MOST_REPLY_BYTES {
            return AfterCommand::Close;
        }
        reply_value(core, key, out);
    }
    AfterCommand::GoOn
}

/// Appends the reply OK to the output.
pub fn reply_ok(out: &mut Vec<u8>) -> AfterCommand {
    reply::simple(out, "OK");
    AfterCommand::GoOn
}

fn del(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let removed = arguments.from(1).filter(|key| core.keys.remove(key)).count();
    reply::integer(out, removed as u64);
    AfterCommand::GoOn
}

fn exists(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let present = arguments.from(1).filter(|key| core.keys.contains(key)).count();
    reply::integer(out, present as u64);
    AfterCommand::GoOn
}

fn ping(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    match arguments.len() {
        1 => reply::simple(out, "PONG"),
        2 => reply::bulk(out, arguments.get(1)),
        _ => return core.refuse(out, "ERR wrong number of arguments for 'ping' command"),
    }
    AfterCommand::GoOn
}

fn select(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    match number(arguments.get(1)) {
        Some(0) => reply_ok(out),
        Some(_) if core.cluster.is_shared() => {
            core.refuse(out, "ERR SELECT is not allowed in cluster mode")
        }
        Some(_) => core.refuse(out, "ERR DB index is out of range"),
        None => core.refuse(out, "ERR value is not an integer or out of range"),
    }
}

fn dbsize(core: &mut ServingCore<'_>, _: RequestArguments<'_>, out: &mut Vec<u8>) -> AfterCommand {
    reply::integer(out, core.keys.len() as u64);
    AfterCommand::GoOn
}

fn flush(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let is_mode =
        |word: &[u8]| word.eq_ignore_ascii_case(b"async") || word.eq_ignore_ascii_case(b"sync");
    if arguments.len() > 2 || arguments.from(1).any(|word| !is_mode(word)) {
        return core.refuse(out, "ERR syntax error");
    }
    core.keys.clear();
    reply_ok(out)
}
