//! A key-value store whose hot values lie in the cache slice of the core that reads them, beside the
//! same store without regard to slices (the application of CacheDirector, EuroSys'19).
//!
//! - [`store`]: hash index and lines of one core; [`load`]: popularity of keys, requests.
//! - [`placement`]: which line each value gets; [`run`]: answers and times; [`report`]: what it prints.
//! - [`machine`], [`numa`]: whether the table can be meant for this machine, its cores and its memory.
//! - [`serve`]: the store for clients of Redis.

mod load;
mod machine;
mod numa;
mod placement;
mod report;
mod run;
mod serve;
mod store;

use crate::numa::Topology;
use clap::{Args, Parser, Subcommand, ValueEnum};
use load::{Load, Popularity, Request};
use placement::Placement;
use report::{Report, Setting};
use slices::nearest::Latencies;
use slices::{LatencyFile, SliceMap, TableFile, published};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Distribution {
    Uniform,
    Zipf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A key-value store with hot values in the slice of their core, beside one without regard to slices
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    comparison: Comparison,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
}

/// What all ways to run need.
#[derive(Args, Debug)]
struct Files {
    /// Slice table of the part, as `skipline-host slices map` writes it; published:NAME for a published one
    // Optional for the parser: `serve` has its own.
    #[arg(long, required = true)]
    table: Option<PathBuf>,
    /// Latencies from cores to slices: TOML with part, source, kind and cycles
    #[arg(long, required = true)]
    latencies: Option<PathBuf>,
    /// Cores that serve, each its own keys
    #[arg(long, value_delimiter = ',', default_value = "0")]
    cores: Vec<usize>,
}

#[derive(Args, Debug)]
struct Comparison {
    #[command(flatten)]
    files: Files,
    /// Placements to compare, round by round in turn
    #[arg(long, value_enum, value_delimiter = ',', default_value = "normal,slice-aware")]
    placements: Vec<Placement>,
    /// Keys of each core; a value has 56 bytes
    #[arg(long, default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    keys: u32,
    /// Hot keys of each core: they should fit a slice, 64 bytes each
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..))]
    hot_keys: u32,
    /// Popularity of keys
    #[arg(long, value_enum, default_value = "zipf")]
    distribution: Distribution,
    /// The k-th most popular key is asked for in proportion to 1 / k^SKEW
    #[arg(long, default_value_t = 0.99)]
    skew: f64,
    /// Share of requests that write
    #[arg(long, default_value_t = 0.05)]
    writes: f64,
    /// Requests to each core in a round
    #[arg(long, alias = "questions", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    requests: u32,
    /// Rounds of each placement
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn read<T, E: Error>(path: &Path, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

impl Files {
    /// The table, as read and for look-ups, and the latencies, which belong together.
    fn read(&self) -> Result<(TableFile, SliceMap, Latencies), String> {
        let mut cores = self.cores.clone();
        cores.sort_unstable();
        if let Some(twice) = cores.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--cores: {} is there twice", twice[0]));
        }
        let [table_path, latencies_path] = [&self.table, &self.latencies].map(Option::as_deref);
        let (Some(table_path), Some(latencies_path)) = (table_path, latencies_path) else {
            return Err("--table and --latencies are needed".into());
        };
        let table = match published::of_path(table_path) {
            Some(published) => published.map_err(|error| format!("--table: {error}"))?.file(),
            None => read(table_path, TableFile::read)?,
        };
        let map = SliceMap::new(&table).map_err(|e| format!("{}: {e}", table_path.display()))?;
        let LatencyFile { latencies, .. } = read(latencies_path, LatencyFile::read)?;
        if latencies.slices() != map.slices() as usize {
            let (given, needed) = (latencies.slices(), map.slices());
            let file = latencies_path.display();
            return Err(format!("{file}: {given} slices; the table has {needed}"));
        }
        Ok((table, map, latencies))
    }
}

impl Comparison {
    fn check(&self) -> Result<(), String> {
        let share = |name: &str, value: f64, most: f64| match (0.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("--{name} {value}; allowed: 0 to {most}")),
        };
        share("writes", self.writes, 1.0)?;
        share("skew", self.skew, 10.0)
    }

    /// Requests of each core: those that warm up, and those of the rounds.
    fn requests(&self) -> [Vec<Vec<Request>>; 2] {
        let popularity = match self.distribution {
            Distribution::Uniform => Popularity::Uniform,
            Distribution::Zipf => Popularity::Zipf(self.skew),
        };
        let mut loads: Vec<Load> = (0..self.files.cores.len() as u64)
            .map(|core| {
                Load::new(self.keys as usize, popularity, self.writes, self.seed.wrapping_add(core))
            })
            .collect();
        [(); 2].map(|()| {
            let draw = |load: &mut Load| (0..self.requests).map(|_| load.draw()).collect();
            loads.iter_mut().map(draw).collect()
        })
    }
}

fn compare(options: &Comparison) -> Result<Report, Box<dyn Error>> {
    options.check()?;
    let (table, map, latencies) = options.files.read()?;
    let cores = &options.files.cores;
    let of_cores = placement::slices_of_cores(&latencies, cores)?;
    let topology = Topology::of_this_machine();
    topology.check_cores(cores)?;
    // Pages come from the memory of the core that maps them.
    machine::stay_on(cores[0]).map_err(|error| machine::cannot_run_on(cores[0], &error))?;
    let [warm_up, requests] = options.requests();
    let keys = options.keys as usize;
    let hot = run::hot_keys(&warm_up, keys, options.hot_keys as usize);
    let mut placed = Vec::new();
    let mut settings = Vec::new();
    for &placement in &options.placements {
        let mut values = placement::place(&map, placement, &of_cores, &hot, keys)?;
        topology.check_memory(&mut values.memory, cores[0])?;
        settings.push(Setting::new(placement, &map, &values, &of_cores, &hot)?);
        placed.push(values);
    }
    let mut stores: Vec<_> = placed.iter_mut().map(run::fill).collect();
    for stores in &mut stores {
        run::round(cores, stores, &warm_up)?;
    }
    for _ in 0..options.rounds {
        for (setting, stores) in settings.iter_mut().zip(&mut stores) {
            setting.add(&run::round(cores, stores, &requests)?);
        }
    }
    let caveats = machine::caveats(&table.table.part, &machine::cpu_info());
    Ok(Report::new(caveats, cores, &of_cores, settings))
}

fn main() -> ExitCode {
    let options = Options::parse();
    let ended = match &options.command {
        Some(Command::Serve(arguments)) => serve::run(arguments).map(|()| ExitCode::SUCCESS),
        None => compare(&options.comparison).map(|report| {
            match options.comparison.format {
                Format::Json => {
                    println!(
                        "{}",
                        serde_json::to_string_pretty(&report).expect("numbers and text")
                    );
                }
                Format::Text => print!("{report}"),
            }
            report.exit_code()
        }),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}
