//! Commands about the server, which clients and benchmarks send first: INFO, COMMAND, CONFIG, CLIENT, HELLO,
//! CLUSTER.

use super::commands::{AfterCommand, COMMANDS, RedisCommand, ServingCore};
use super::reply;
use super::request::{MOST_BULK_BYTES, RequestArguments, number};
use super::slots::{Cluster, SLOTS, slot_of};
use std::fmt::Write as _;
use units::LINE_BYTES;

fn lower(bytes: &[u8]) -> Vec<u8> {
    bytes.to_ascii_lowercase()
}

fn text(out: &mut Vec<u8>, text: &str) -> AfterCommand {
    reply::bulk(out, text.as_bytes());
    AfterCommand::GoOn
}

fn ok(out: &mut Vec<u8>) -> AfterCommand {
    reply::simple(out, "OK");
    AfterCommand::GoOn
}

pub fn info(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let asked: Vec<Vec<u8>> = arguments.from(1).map(lower).collect();
    let all = [&b"all"[..], b"default", b"everything"];
    let wanted = |name: &str| {
        asked.is_empty()
            || asked.iter().any(|word| word == name.as_bytes() || all.contains(&word.as_slice()))
    };
    let mut report = String::new();
    for (name, lines) in sections(core) {
        if wanted(&name.to_ascii_lowercase()) {
            let _ = write!(report, "# {name}\r\n{lines}\r\n");
        }
    }
    text(out, &report)
}

fn sections(core: &ServingCore<'_>) -> Vec<(&'static str, String)> {
    let (lines, counts, look_ups) = (core.keys.lines(), &core.counts, core.keys.look_ups);
    let used = (lines.count() - lines.free_count()) as u64 * LINE_BYTES;
    let node = &core.cluster.nodes[core.node];
    let mode = if core.cluster.is_shared() { "cluster" } else { "standalone" };
    vec![
        (
            "Server",
            format!(
                "server_name:slice-kvs\r\nslice_kvs_version:{}\r\nredis_mode:{mode}\r\n\
                 process_id:{}\r\ntcp_port:{}\r\n",
                env!("CARGO_PKG_VERSION"),
                std::process::id(),
                node.address.port(),
            ),
        ),
        ("Clients", format!("connected_clients:{}\r\n", counts.clients)),
        (
            "Memory",
            format!(
                "used_memory:{used}\r\nmaxmemory:{}\r\nmaxmemory_policy:noeviction\r\n",
                lines.count() as u64 * LINE_BYTES
            ),
        ),
        (
            "Stats",
            format!(
                "total_connections_received:{}\r\ntotal_commands_processed:{}\r\n\
                 total_error_replies:{}\r\nkeyspace_hits:{}\r\nkeyspace_misses:{}\r\n",
                counts.connections,
                counts.commands,
                counts.errors,
                look_ups.hot + look_ups.cold,
                look_ups.missed,
            ),
        ),
        (
            "Slices",
            format!(
                "placement:{}\r\ncore:{}\r\nslice:{}\r\nhot_keys:{}\r\nhot_lines:{}\r\n\
                 keyspace_hits_hot:{}\r\nrankings:{}\r\n",
                core.placement.name(),
                node.core,
                node.slice.0,
                core.keys.hot_keys(),
                lines.hot_count(),
                look_ups.hot,
                counts.rankings,
            ),
        ),
        ("Cluster", format!("cluster_enabled:{}\r\n", u8::from(core.cluster.is_shared()))),
        (
            "Keyspace",
            match core.keys.len() {
                0 => String::new(),
                keys => format!("db0:keys={keys},expires=0,avg_ttl=0\r\n"),
            },
        ),
    ]
}

/// The subcommand in lower case; empty if there is none.
fn subcommand(arguments: RequestArguments<'_>) -> Vec<u8> {
    if arguments.len() > 1 { lower(arguments.get(1)) } else { Vec::new() }
}

fn unknown_subcommand(
    core: &mut ServingCore<'_>,
    command: &str,
    given: &[u8],
    out: &mut Vec<u8>,
) -> AfterCommand {
    let given = String::from_utf8_lossy(given);
    let text =
        format!("ERR unknown subcommand or wrong number of arguments for '{given}' of {command}");
    core.refuse(out, &text)
}

pub fn command(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let named = |name: &[u8]| {
        COMMANDS.iter().find(|known| known.name.as_bytes().eq_ignore_ascii_case(name))
    };
    match subcommand(arguments).as_slice() {
        b"" => {
            reply::array(out, COMMANDS.len());
            COMMANDS.iter().for_each(|known| describe(known, out));
        }
        b"count" if arguments.len() == 2 => reply::integer(out, COMMANDS.len() as u64),
        b"docs" => reply::array(out, 0),
        b"info" => {
            reply::array(out, arguments.len() - 2);
            for name in arguments.from(2) {
                match named(name) {
                    Some(known) => describe(known, out),
                    None => out.extend_from_slice(b"*-1\r\n"),
                }
            }
        }
        other => return unknown_subcommand(core, "command", other, out),
    }
    AfterCommand::GoOn
}

fn describe(command: &RedisCommand, out: &mut Vec<u8>) {
    let number = |out: &mut Vec<u8>, number: i32| {
        out.extend_from_slice(format!(":{number}\r\n").as_bytes());
    };
    reply::array(out, 6);
    reply::bulk(out, command.name.as_bytes());
    number(out, command.arity);
    reply::array(out, command.flags.len());
    command.flags.iter().for_each(|flag| reply::simple(out, flag));
    let (first, last, step) = command.keys;
    [first, last, step].into_iter().for_each(|position| number(out, position));
}

pub fn config(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let asked = subcommand(arguments);
    if asked != b"get" || arguments.len() < 3 {
        return unknown_subcommand(core, "config", &asked, out);
    }
    let patterns: Vec<Vec<u8>> = arguments.from(2).map(lower).collect();
    let values = [
        ("appendonly", "no".to_owned()),
        ("databases", "1".to_owned()),
        ("maxmemory", (core.keys.lines().count() as u64 * LINE_BYTES).to_string()),
        ("maxmemory-policy", "noeviction".to_owned()),
        ("proto-max-bulk-len", MOST_BULK_BYTES.to_string()),
        ("save", String::new()),
        ("timeout", "0".to_owned()),
    ];
    let wanted =
        |name: &str| patterns.iter().any(|pattern| pattern == b"*" || pattern == name.as_bytes());
    let values: Vec<_> = values.into_iter().filter(|(name, _)| wanted(name)).collect();
    reply::array(out, 2 * values.len());
    for (name, value) in values {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, value.as_bytes());
    }
    AfterCommand::GoOn
}

/// CLIENT: libraries send their names and versions, which are accepted and ignored.
pub fn client(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    match (subcommand(arguments).as_slice(), arguments.len()) {
        (b"setname", 3) | (b"setinfo", 4) => ok(out),
        (b"getname", 2) => {
            reply::null(out);
            AfterCommand::GoOn
        }
        (other, _) => unknown_subcommand(core, "client", other, out),
    }
}

/// HELLO, for RESP2 only: RESP3 is refused.
pub fn hello(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let version = (arguments.len() > 1).then(|| number(arguments.get(1)));
    match version {
        None | Some(Some(2)) => {}
        Some(Some(_)) => return core.refuse(out, "NOPROTO unsupported protocol version"),
        Some(None) => {
            let text = "ERR Protocol version is not an integer or out of range";
            return core.refuse(out, text);
        }
    }
    if arguments.len() > 2 {
        return core.refuse(out, "ERR syntax error in HELLO");
    }
    let mode = if core.cluster.is_shared() { "cluster" } else { "standalone" };
    reply::array(out, 10);
    for word in ["server", "slice-kvs", "version", env!("CARGO_PKG_VERSION"), "proto"] {
        reply::bulk(out, word.as_bytes());
    }
    reply::integer(out, 2);
    for word in ["mode", mode, "role", "master"] {
        reply::bulk(out, word.as_bytes());
    }
    AfterCommand::GoOn
}

pub fn cluster(
    core: &mut ServingCore<'_>,
    arguments: RequestArguments<'_>,
    out: &mut Vec<u8>,
) -> AfterCommand {
    let cluster = &core.cluster;
    if !cluster.is_shared() {
        return core.refuse(out, "ERR This instance has cluster support disabled");
    }
    match (subcommand(arguments).as_slice(), arguments.len()) {
        (b"nodes", 2) => {
            let nodes = nodes(core);
            text(out, &nodes)
        }
        (b"slots", 2) => slots(core, out),
        (b"myid", 2) => text(out, &Cluster::name(core.node)),
        (b"keyslot", 3) => {
            reply::integer(out, slot_of(arguments.get(2)).into());
            AfterCommand::GoOn
        }
        (b"info", 2) => {
            let size = cluster.nodes.len();
            let report = format!(
                "cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:{SLOTS}\r\n\
                 cluster_slots_ok:{SLOTS}\r\ncluster_known_nodes:{size}\r\ncluster_size:{size}\r\n"
            );
            text(out, &report)
        }
        (other, _) => unknown_subcommand(core, "cluster", other, out),
    }
}

/// A line for each core. There is no cluster bus; the field of its port is the core's port plus the usual
/// 10,000.
fn nodes(core: &ServingCore<'_>) -> String {
    const BUS: u32 = 10_000;
    let mut lines = String::new();
    for at in 0..core.cluster.nodes.len() {
        let (first, last) = core.cluster.slots_of(at);
        let flags = if at == core.node { "myself,master" } else { "master" };
        let (name, (host, port)) = (Cluster::name(at), core.address_for_client(at));
        let bus = u32::from(port) + BUS;
        let _ =
            writeln!(lines, "{name} {host}:{port}@{bus} {flags} - 0 0 1 connected {first}-{last}");
    }
    lines
}

fn slots(core: &ServingCore<'_>, out: &mut Vec<u8>) -> AfterCommand {
    reply::array(out, core.cluster.nodes.len());
    for at in 0..core.cluster.nodes.len() {
        let (first, last) = core.cluster.slots_of(at);
        let (host, port) = core.address_for_client(at);
        reply::array(out, 3);
        reply::integer(out, first.into());
        reply::integer(out, last.into());
        reply::array(out, 3);
        reply::bulk(out, host.to_string().as_bytes());
        reply::integer(out, port.into());
        reply::bulk(out, Cluster::name(at).as_bytes());
    }
    AfterCommand::GoOn
}
