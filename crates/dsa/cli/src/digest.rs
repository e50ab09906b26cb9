//! `skipline-dsa digest`: the digests of the NVMe/TCP PDUs in a capture.
//!
//! [`stream`] puts segments of TCP in order, [`connections`] finds PDUs in them and verifies their digests,
//! [`report`] counts and prints; [`make_capture`] writes a capture instead, by [`frames`].

mod connections;
mod frames;
mod make_capture;
mod report;
mod stream;

use crate::failure::CommandFailure;
use clap::ValueEnum;
use connections::Connections;
use dsa_client::client::{self, OffloadClient, Options};
use dsa_client::error::Error;
use recordings::capture::{CutShort, Segments, Tunnels, read_tcp};
use report::DigestReport;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check the CRC-32C digests of NVMe/TCP PDUs in a capture, by a device where that pays.
#[derive(clap::Args)]
pub struct DigestArguments {
    /// A pcap or pcapng file; with --make, the pcap file that is written.
    capture: PathBuf,
    /// Ports of controllers; connections that begin with an ICReq are found on any port.
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_values_t = [4420, 8009])]
    port: Vec<u16>,
    /// Compute digests by a device from the threshold on, by a device always, or by the CPU.
    #[arg(long, value_name = "WAY", value_enum, default_value_t = DigestPath::Automatic)]
    path: DigestPath,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Write a capture of at least this number of random PDUs with digests, to check other programs by.
    #[arg(long, value_name = "PDUS", conflicts_with = "json")]
    make: Option<usize>,
    /// Seed of the random numbers of --make.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "make")]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum DigestPath {
    /// A device from the threshold on, where there is one, else the CPU.
    Automatic,
    /// A device, whatever the size.
    Device,
    /// The CPU.
    Cpu,
}

impl DigestPath {
    fn client_path(self) -> client::Path {
        match self {
            Self::Automatic => client::Path::Automatic,
            Self::Device => client::Path::Device,
            Self::Cpu => client::Path::Cpu,
        }
    }
}

/// Checks a capture, or writes one (--make). The exit code is 1 if a digest is wrong or missing, or bytes are
/// not a PDU.
pub fn run(arguments: &DigestArguments) -> Result<ExitCode, CommandFailure> {
    let options = Options::default().with_environment().map_err(CommandFailure::bad_input)?;
    let client = OffloadClient::open(&options).map_err(CommandFailure::bad_input)?;
    let path = arguments.path.client_path();
    if let Some(pdus) = arguments.make {
        return make_capture::run(&arguments.capture, pdus, arguments.seed, &client, path);
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

fn check(
    arguments: &DigestArguments,
    client: &OffloadClient,
    path: client::Path,
) -> Result<DigestReport, CommandFailure> {
    let mut connections = Connections::new(&arguments.port, client, path);
    let mut failed = None;
    let read = read_tcp(&arguments.capture, CutShort::Read, |segment| {
        if failed.is_none() {
            failed = connections.take(segment).err();
        }
    });
    let read = read.map_err(CommandFailure::bad_input)?;
    let report = match failed {
        None => connections.end(read.cut_in.map(|cut| cut.to_string())),
        Some(error) => Err(error),
    };
    // Without a device --path asks for what is not there.
    let mut report = report.map_err(|error| match error {
        Error::NoDevice(_) => CommandFailure::bad_input(error),
        _ => CommandFailure::failed(error),
    })?;
    report.deviations = (!read.oddities.is_empty()).then(|| read.oddities.to_string());
    report.tunnels = tunnels_note(&read.tunnels);
    if report.connections.is_empty() {
        return Err(no_connection(arguments, &report, &read));
    }
    Ok(report)
}

/// Why a capture has no connection of NVMe/TCP.
fn no_connection(
    arguments: &DigestArguments,
    report: &DigestReport,
    read: &Segments,
) -> CommandFailure {
    let ports: Vec<String> = arguments.port.iter().map(u16::to_string).collect();
    CommandFailure::bad_input(format!(
        "capture '{}' has no NVMe/TCP: of its {} TCP connection(s) in {} packet(s) none begins with an \
         ICReq, or has data and a controller's port ({}); --port names others{}",
        arguments.capture.display(),
        report.others,
        read.packets,
        ports.join(", "),
        tunnels_note(&read.tunnels).map_or(String::new(), |note| format!(". {note}"))
    ))
}

/// The sentence about packets in tunnels; `None` if there are none.
fn tunnels_note(tunnels: &Tunnels) -> Option<String> {
    (tunnels.total() > 0).then(|| {
        format!(
            "{} packet(s) are in tunnels, which are not opened ({tunnels}): capture behind the tunnel's \
             end, or on its virtual interface",
            tunnels.total()
        )
    })
}
