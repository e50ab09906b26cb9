//! `serve`: the store behind RESP2 over TCP, as benchmarks and clients of Redis speak it.
//!
//! Each core has a thread, a port, and the keys of some hash slots, as a node of a Redis Cluster. The cores
//! share nothing; a client that asks the wrong core is redirected to the right one (MOVED). A single core
//! serves all keys and is not a cluster.
//!
//! | module | contents |
//! | --- | --- |
//! | [`request`], [`inline_commands`], [`reply`] | the protocol |
//! | [`lines`], [`keyspace`], [`ranking`] | items in hot and cold lines; their index; the choice of hot items |
//! | [`commands`], [`set_commands`], [`server_commands`], [`slots`] | the commands; the core of each key |
//! | [`connection`], [`worker`] | a client; the thread of a core |
//! | [`summary`] | the statistics at the end |

mod commands;
mod connection;
mod inline_commands;
mod keyspace;
mod lines;
mod ranking;
mod reply;
mod request;
mod server_commands;
mod set_commands;
mod slots;
mod summary;
mod worker;

use crate::machine::{self, pin_to_core};
use crate::numa::SocketTopology;
use crate::placement::{Pools, ValuePlacement, make_pools, slices_of_cores};
use crate::{KvsFormat, TableOptions};
use clap::Args;
use commands::{CoreCounts, ServingCore};
use keyspace::Keyspace;
use lines::Line;
use mio::net::TcpListener;
use mio::{Poll, Waker};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use slots::{Cluster, ClusterNode};
use std::error::Error;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use summary::Summary;
use units::LINE_BYTES;
use worker::{WAKER, Worker};

/// Serve keys and values to clients of Redis (RESP2 over TCP) until Ctrl-C
///
/// Each core listens on a port of its own, from --port on, and serves the keys of its hash slots: several
/// cores are a Redis Cluster (redis-benchmark --cluster, memtier_benchmark --cluster-mode, redis-cli -c).
/// There is no password: every program that reaches the address reads and writes all keys.
#[derive(Args, Debug)]
pub struct ServeArguments {
    #[command(flatten)]
    files: TableOptions,
    /// Placement of hot values
    #[arg(long, value_enum, default_value = "slice-aware")]
    placement: ValuePlacement,
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Port of the first core; each further core has the next one. 0: any that are free
    #[arg(long, default_value_t = 6379)]
    port: u16,
    /// Lines of 64 bytes for each core's values: an item of up to 52 bytes takes one, 60 bytes each further one
    #[arg(long, default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    lines: u32,
    /// Lines of each core for its hottest items: they should fit a slice
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    hot_lines: u32,
    /// Commands between two rankings of a core's keys
    #[arg(long, default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1024..))]
    rank_every: u32,
    /// Clients of each core at the same time
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    max_clients: u32,
    /// Form of the statistics at the end
    #[arg(long, value_enum, default_value = "text")]
    format: KvsFormat,
}

/// Serves until SIGINT or SIGTERM.
pub fn run(arguments: &ServeArguments) -> Result<(), Box<dyn Error>> {
    let (table, map, latencies) = arguments.files.read()?;
    let cores = &arguments.files.cores;
    let of_cores = slices_of_cores(&latencies, cores)?;
    let topology = SocketTopology::from_sysfs();
    topology.check_same_socket(cores)?;
    // Pages come from the memory of the core that maps them.
    pin_to_core(cores[0]).map_err(|error| machine::pin_failure_message(cores[0], &error))?;
    let counts = [arguments.hot_lines as usize, arguments.lines as usize];
    let mut pools = make_pools(&map, arguments.placement, &of_cores, counts)?;
    topology.check_memory(&mut pools.memory, cores[0])?;
    let (listeners, cluster) = listen(arguments, &of_cores)?;
    // Before the server is announced: a signal may follow at once.
    let signals = Signals::new([SIGINT, SIGTERM])?;
    for caveat in machine::caveats(&table.table.part, &machine::cpu_info()) {
        eprintln!("note: {caveat}");
    }
    if let Some(reason) = pools.memory.plain_reason() {
        eprintln!("note: memory without regard to slices: {reason}");
    }
    announce(&cluster, arguments.placement)?;
    let summary = serve(arguments, &mut pools, listeners, &Arc::new(cluster), signals)?;
    match arguments.format {
        KvsFormat::Text => print!("{summary}"),
        KvsFormat::Json => println!("{}", serde_json::to_string_pretty(&summary)?),
    }
    Ok(())
}

/// Listens on a port for each core.
fn listen(
    arguments: &ServeArguments,
    of_cores: &[units::SliceId],
) -> Result<(Vec<TcpListener>, Cluster), String> {
    let mut nodes = Vec::new();
    let mut listeners = Vec::new();
    for (number, (&core, &slice)) in arguments.files.cores.iter().zip(of_cores).enumerate() {
        let port = match arguments.port {
            0 => Some(0),
            first => u16::try_from(number).ok().and_then(|number| first.checked_add(number)),
        };
        let Some(port) = port else {
            return Err(format!("--port {}: no port is left for core {core}", arguments.port));
        };
        let asked = SocketAddr::new(arguments.bind, port);
        let listener = TcpListener::bind(asked)
            .map_err(|error| format!("cannot listen on {asked}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        nodes.push(ClusterNode { core, slice, address });
        listeners.push(listener);
    }
    Ok((listeners, Cluster { nodes }))
}

/// Prints the address of each core; clients and tests wait for the last line.
fn announce(cluster: &Cluster, placement: ValuePlacement) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (number, node) in cluster.nodes.iter().enumerate() {
        let (first, last) = cluster.slots_of(number);
        let (core, address, slice) = (node.core, node.address, node.slice.0);
        writeln!(out, "core {core}: {address}, slots {first} to {last}, slice {slice}")?;
    }
    writeln!(out, "serving, placement {}", placement.name())?;
    out.flush()
}

/// The hot and cold lines of each core.
fn lines_of_cores(pools: &mut Pools) -> Vec<[Vec<&mut Line>; 2]> {
    let start = pools.memory.start();
    let mut all: Vec<Option<&mut Line>> =
        pools.memory.as_lines_mut().iter_mut().map(Some).collect();
    let mut taken = |addresses: &Vec<u64>| {
        let take = |address: &u64| {
            let number = units::narrow::usize_from((address - start) / LINE_BYTES);
            all[number].take().expect("every line has one owner")
        };
        addresses.iter().map(take).collect()
    };
    pools.lines.iter().map(|[hot, cold]| [taken(hot), taken(cold)]).collect()
}

fn serve(
    arguments: &ServeArguments,
    pools: &mut Pools,
    listeners: Vec<TcpListener>,
    cluster: &Arc<Cluster>,
    mut signals: Signals,
) -> Result<Summary, Box<dyn Error>> {
    let stop = AtomicBool::new(false);
    let cores = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut wakers = Vec::new();
        for (node, (lines, listener)) in
            lines_of_cores(pools).into_iter().zip(listeners).enumerate()
        {
            let [hot, cold] = lines;
            let poll = Poll::new()?;
            wakers.push(Waker::new(poll.registry(), WAKER)?);
            let core = ServingCore {
                keys: Keyspace::new(hot, cold),
                cluster: Arc::clone(cluster),
                node,
                placement: arguments.placement,
                local_address: None,
                counts: CoreCounts::default(),
            };
            let most_clients = arguments.max_clients as usize;
            let rank_every = arguments.rank_every.into();
            let worker = Worker { poll, listener, core, stop: &stop, most_clients, rank_every };
            let number = cluster.nodes[node].core;
            // A thread that cannot go on ends the others, too.
            let ends = signals.handle();
            threads.push(scope.spawn(move || {
                let served = pin_to_core(number).and_then(|()| worker.serve());
                ends.close();
                served.map_err(|error| machine::pin_failure_message(number, &error))
            }));
        }
        let _ = signals.forever().next();
        stop.store(true, Ordering::Relaxed);
        wakers.iter().for_each(|waker| {
            // A thread that has ended cannot be woken.
            let _ = waker.wake();
        });
        let joined = threads.into_iter().map(|thread| thread.join().expect("does not panic"));
        Ok::<_, Box<dyn Error>>(joined.collect::<Result<Vec<ServingCore<'_>>, String>>()?)
    })?;
    Ok(Summary::new(&cores))
}
