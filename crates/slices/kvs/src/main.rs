//! A key-value store whose hot values are in the cache slice of the core that reads them, compared with
//! the same store without regard to slices (the application of CacheDirector, EuroSys'19).
//!
//! - [`store`]: hash index and lines of one core; [`load`]: popularity of keys, requests.
//! - [`placement`]: the line of each value; [`run`]: serves and times requests; [`report`]: the output.
//! - [`machine`], [`numa`]: checks that the table fits this machine, its cores and its memory.
//! - [`serve`]: the store for clients of Redis.

mod load;
mod machine;
mod numa;
mod placement;
mod report;
mod run;
mod serve;
mod store;

use crate::numa::SocketTopology;
use clap::{Args, Parser, Subcommand, ValueEnum};
use load::{KeyPopularity, KeyRequest, RequestLoad};
use placement::ValuePlacement;
use report::{KvsReport, Setting};
use slices::nearest::Latencies;
use slices::{LatencyFile, SliceMap, TableFile, published};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Popularity of keys, as an option.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Distribution {
    Uniform,
    Zipf,
}

/// Format of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KvsFormat {
    Text,
    Json,
}

/// A key-value store with hot values in the slice of their core, beside one without regard to slices
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct KvsOptions {
    #[command(subcommand)]
    command: Option<KvsCommand>,
    #[command(flatten)]
    comparison: ComparisonOptions,
}

#[derive(Debug, Subcommand)]
enum KvsCommand {
    Serve(serve::ServeArguments),
}

/// The files about slices, and the cores that serve.
#[derive(Args, Debug)]
struct TableOptions {
    /// Slice table of the part, as `skipline-host slices map` writes it; published:NAME for a published one
    // Optional for the parser: `serve` has its own.
    #[arg(long, required = true)]
    table: Option<PathBuf>,
    /// Latencies from cores to slices: TOML with part, source, kind and cycles
    #[arg(long, required = true)]
    latencies: Option<PathBuf>,
    /// Cores that serve; each has keys of its own
    #[arg(long, value_delimiter = ',', default_value = "0")]
    cores: Vec<usize>,
}

#[derive(Args, Debug)]
struct ComparisonOptions {
    #[command(flatten)]
    files: TableOptions,
    /// Placements to compare, in turn in each round
    #[arg(long, value_enum, value_delimiter = ',', default_value = "normal,slice-aware")]
    placements: Vec<ValuePlacement>,
    /// Keys of each core; a value has 56 bytes
    #[arg(long, default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    keys: u32,
    /// Hot keys of each core: they should fit a slice, 64 bytes each
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..))]
    hot_keys: u32,
    /// Popularity of keys
    #[arg(long, value_enum, default_value = "zipf")]
    distribution: Distribution,
    /// Requests for the k-th most popular key are in proportion to 1 / k^SKEW
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
    format: KvsFormat,
}

fn read<T, E: Error>(path: &Path, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

impl TableOptions {
    /// Reads the table and the latencies, and checks that they have the same number of slices.
    fn read(&self) -> Result<(TableFile, SliceMap, Latencies), String> {
        let mut cores = self.cores.clone();
        cores.sort_unstable();
        if let Some(twice) = cores.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--cores: {} is given twice", twice[0]));
        }
        let [table_path, latencies_path] = [&self.table, &self.latencies].map(Option::as_deref);
        let (Some(table_path), Some(latencies_path)) = (table_path, latencies_path) else {
            return Err("--table and --latencies are needed".into());
        };
        let table = match published::from_path(table_path) {
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

impl ComparisonOptions {
    fn check(&self) -> Result<(), String> {
        let share = |name: &str, value: f64, most: f64| match (0.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("--{name} {value}; allowed: 0 to {most}")),
        };
        share("writes", self.writes, 1.0)?;
        share("skew", self.skew, 10.0)
    }

    /// Draws the requests for each core: those of the warm-up, and those of each round.
    fn requests(&self) -> [Vec<Vec<KeyRequest>>; 2] {
        let popularity = match self.distribution {
            Distribution::Uniform => KeyPopularity::Uniform,
            Distribution::Zipf => KeyPopularity::Zipf(self.skew),
        };
        let mut loads: Vec<RequestLoad> = (0..self.files.cores.len() as u64)
            .map(|core| {
                RequestLoad::new(
                    self.keys as usize,
                    popularity,
                    self.writes,
                    self.seed.wrapping_add(core),
                )
            })
            .collect();
        [(); 2].map(|()| {
            let draw = |load: &mut RequestLoad| (0..self.requests).map(|_| load.draw()).collect();
            loads.iter_mut().map(draw).collect()
        })
    }
}

fn compare(options: &ComparisonOptions) -> Result<KvsReport, Box<dyn Error>> {
    options.check()?;
    let (table, map, latencies) = options.files.read()?;
    let cores = &options.files.cores;
    let of_cores = placement::slices_of_cores(&latencies, cores)?;
    let topology = SocketTopology::from_sysfs();
    topology.check_same_socket(cores)?;
    // Pages come from the memory of the core that maps them.
    machine::pin_to_core(cores[0])
        .map_err(|error| machine::pin_failure_message(cores[0], &error))?;
    let [warm_up, requests] = options.requests();
    let keys = options.keys as usize;
    let hot = run::hot_keys(&warm_up, keys, options.hot_keys as usize);
    let mut placed = Vec::new();
    let mut settings = Vec::new();
    for &placement in &options.placements {
        let mut values = placement::place_values(&map, placement, &of_cores, &hot, keys)?;
        topology.check_memory(&mut values.memory, cores[0])?;
        settings.push(Setting::new(placement, &map, &values, &of_cores, &hot)?);
        placed.push(values);
    }
    let mut stores: Vec<_> = placed.iter_mut().map(run::fill_stores).collect();
    for stores in &mut stores {
        run::run_round(cores, stores, &warm_up)?;
    }
    for _ in 0..options.rounds {
        for (setting, stores) in settings.iter_mut().zip(&mut stores) {
            setting.add(&run::run_round(cores, stores, &requests)?);
        }
    }
    let caveats = machine::caveats(&table.table.part, &machine::cpu_info());
    Ok(KvsReport::new(caveats, cores, &of_cores, settings))
}

fn main() -> ExitCode {
    let options = KvsOptions::parse();
    let ended = match &options.command {
        Some(KvsCommand::Serve(arguments)) => serve::run(arguments).map(|()| ExitCode::SUCCESS),
        None => compare(&options.comparison).map(|report| {
            match options.comparison.format {
                KvsFormat::Json => {
                    println!(
                        "{}",
                        serde_json::to_string_pretty(&report).expect("numbers and text")
                    );
                }
                KvsFormat::Text => print!("{report}"),
            }
            report.exit_code()
        }),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}
