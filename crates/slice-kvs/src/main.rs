//! A key-value store whose hot values lie in the cache slice of the core that reads them, beside the
//! same store without regard to slices (the application of CacheDirector, EuroSys'19).
//!
//! - [`store`]: hash index and lines of one core; [`load`]: popularity of keys, requests.
//! - [`placement`]: which line each value gets; [`run`]: answers and times; [`report`]: what it prints.
//! - [`machine`]: whether the table can be meant for this machine.

mod load;
mod machine;
mod placement;
mod report;
mod run;
mod store;

use clap::{Parser, ValueEnum};
use load::{Load, Popularity, Request};
use placement::Placement;
use report::{Report, Setting};
use slices::{LatencyFile, SliceMap, TableFile};
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
#[command(version)]
struct Options {
    /// Slice table of the part, as `skipline-host slices map` writes it
    #[arg(long)]
    table: PathBuf,
    /// Latencies from cores to slices: TOML with part, source, kind and cycles
    #[arg(long)]
    latencies: PathBuf,
    /// Cores that serve, each its own keys
    #[arg(long, value_delimiter = ',', default_value = "0")]
    cores: Vec<usize>,
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

impl Options {
    fn check(&self) -> Result<(), String> {
        let share = |name: &str, value: f64, most: f64| match (0.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("--{name} {value}; allowed: 0 to {most}")),
        };
        share("writes", self.writes, 1.0)?;
        share("skew", self.skew, 10.0)?;
        let mut cores = self.cores.clone();
        cores.sort_unstable();
        match cores.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => Err(format!("--cores: {} is there twice", twice[0])),
            None => Ok(()),
        }
    }

    /// Requests of each core: those that warm up, and those of the rounds.
    fn requests(&self) -> [Vec<Vec<Request>>; 2] {
        let popularity = match self.distribution {
            Distribution::Uniform => Popularity::Uniform,
            Distribution::Zipf => Popularity::Zipf(self.skew),
        };
        let mut loads: Vec<Load> = (0..self.cores.len() as u64)
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

fn serve(options: &Options) -> Result<Report, Box<dyn Error>> {
    options.check()?;
    let table = read(&options.table, TableFile::read)?;
    let map = SliceMap::new(&table).map_err(|e| format!("{}: {e}", options.table.display()))?;
    let latencies = read(&options.latencies, LatencyFile::read)?;
    if latencies.latencies.slices() != map.slices() as usize {
        let (given, needed) = (latencies.latencies.slices(), map.slices());
        let file = options.latencies.display();
        return Err(format!("{file}: {given} slices; the table has {needed}").into());
    }
    let of_cores = placement::slices_of_cores(&latencies.latencies, &options.cores)?;
    let [warm_up, requests] = options.requests();
    let keys = options.keys as usize;
    let hot = run::hot_keys(&warm_up, keys, options.hot_keys as usize);
    let mut placed = Vec::new();
    let mut settings = Vec::new();
    for &placement in &options.placements {
        let values = placement::place(&map, placement, &of_cores, &hot, keys)?;
        settings.push(Setting::new(placement, &map, &values, &of_cores, &hot)?);
        placed.push(values);
    }
    let mut stores: Vec<_> = placed.iter_mut().map(run::fill).collect();
    for stores in &mut stores {
        run::round(&options.cores, stores, &warm_up)?;
    }
    for _ in 0..options.rounds {
        for (setting, stores) in settings.iter_mut().zip(&mut stores) {
            setting.add(&run::round(&options.cores, stores, &requests)?);
        }
    }
    let caveats = machine::caveats(&table.table.part, &machine::cpu_info());
    Ok(Report::new(caveats, &options.cores, &of_cores, settings))
}

fn main() -> ExitCode {
    let options = Options::parse();
    match serve(&options) {
        Ok(report) if options.format == Format::Json => {
            println!("{}", serde_json::to_string_pretty(&report).expect("numbers and text"));
            report.exit_code()
        }
        Ok(report) => {
            print!("{report}");
            report.exit_code()
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
