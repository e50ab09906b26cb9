//! `skipline-dsa digest`: the digests of the NVMe/TCP PDUs in a capture.
//!
//! [`stream`] puts segments of TCP in order, [`connections`] finds PDUs in them and has their digests
//! judged, [`report`] counts and prints; [`make`] writes a capture instead, by [`frames`].

mod connections;
mod frames;
mod make;
mod report;
mod stream;

use crate::failure::Failure;
use clap::ValueEnum;
use connections::Connections;
use dsa_client::client::{self, Client, Options};
use dsa_client::error::Error;
use recordings::capture::{CutShort, read_tcp};
use report::Report;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check the CRC-32C digests of NVMe/TCP PDUs in a capture, by a device where that pays.
#[derive(clap::Args)]
pub struct Arguments {
    /// A pcap or pcapng file; with --make, the pcap file that is written.
    capture: PathBuf,
    /// Ports of controllers; connections that begin with an ICReq are found on any port.
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_values_t = [4420, 8009])]
    port: Vec<u16>,
    /// Who computes: a device from the threshold on, a device always, or the CPU.
    #[arg(long, value_name = "WAY", value_enum, default_value_t = Way::Automatic)]
    path: Way,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Write a capture of so many PDUs at random, or some more, with digests, to check others by.
    #[arg(long, value_name = "PDUS", conflicts_with = "json")]
    make: Option<usize>,
    /// Where the random numbers of --make begin.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "make")]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Way {
    /// A device where it pays and there is one, else the CPU.
    Automatic,
    /// A device, whatever the size.
    Device,
    /// The CPU.
    Cpu,
}

impl Way {
    fn path(self) -> client::Path {
        match self {
            Self::Automatic => client::Path::Automatic,
            Self::Device => client::Path::Device,
            Self::Cpu => client::Path::Cpu,
        }
    }
}

/// Checks a capture, or makes one.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let options = Options::default().or_environment().map_err(Failure::bad_input)?;
    let client = Client::open(&options).map_err(Failure::bad_input)?;
    let path = arguments.path.path();
    if let Some(pdus) = arguments.make {
        return make::run(&arguments.capture, pdus, arguments.seed, &client, path);
    }
    let report = check(arguments, &client, path)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", report.to_json(&client.statistics()))?;
    } else {
        report.write(&client.statistics(), &mut out)?;
    }
    Ok(ExitCode::from(u8::from(!report.is_right())))
}

fn check(arguments: &Arguments, client: &Client, path: client::Path) -> Result<Report, Failure> {
    let mut connections = Connections::new(&arguments.port, client, path);
    let mut failed = None;
    let read = read_tcp(&arguments.capture, CutShort::Read, |segment| {
        if failed.is_none() {
            failed = connections.take(segment).err();
        }
    });
    let read = read.map_err(Failure::bad_input)?;
    let report = match failed {
        None => connections.end(read.cut_in.map(|cut| cut.to_string())),
        Some(error) => Err(error),
    };
    let report = report.map_err(|error| failure(&error))?;
    if report.connections.is_empty() {
        return Err(Failure::bad_input(format!(
            "capture '{}' has no NVMe/TCP: of its {} TCP connection(s) in {} packet(s) none begins \
             with an ICReq, or has data and a controller's port ({}); --port names others",
            arguments.capture.display(),
            report.others,
            read.packets,
            arguments.port.iter().map(u16::to_string).collect::<Vec<_>>().join(", "),
        )));
    }
    Ok(report)
}

/// Without a device that was asked for, the input is bad; all else has failed.
fn failure(error: &Error) -> Failure {
    match error {
        Error::NoDevice(_) => Failure::bad_input(error),
        _ => Failure::failed(error),
    }
}
