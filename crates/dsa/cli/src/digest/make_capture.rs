//! Writes a capture of random PDUs with digests, by which other programs can be checked.

use super::frames::Frames;
use crate::failure::CommandFailure;
use dsa_client::client::{OffloadClient, Path};
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use nvme_tcp::conversation::{ConnectionShape, Sender, SentPdu, generate};
use nvme_tcp::negotiation::EnabledDigests;
use nvme_tcp::seal::Sealer;
use nvme_tcp::tally::DigestTally;
use pcap_file::PcapError;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::{BufWriter, Write};
use std::path::Path as FilePath;
use std::process::ExitCode;

/// PDUs whose digests are under way at a time.
const MOST_UNDER_WAY: usize = 64;
/// Most bytes of data in a PDU.
const MOST_DATA_BYTES: u32 = 128 << 10;
/// Digests of the connections, in turn.
const DIGESTS: [EnabledDigests; 4] = [
    EnabledDigests { header: true, data: true },
    EnabledDigests { header: true, data: false },
    EnabledDigests { header: false, data: true },
    EnabledDigests { header: false, data: false },
];

/// Writes a capture of at least `pdus` PDUs on four connections, one for each choice of digests; the file is
/// complete or not there.
pub fn run(
    to: &FilePath,
    pdus: usize,
    seed: u64,
    client: &OffloadClient,
    path: Path,
) -> Result<ExitCode, CommandFailure> {
    if pdus == 0 {
        return Err(CommandFailure::bad_input("--make 0: a capture has one PDU or more"));
    }
    let cannot = |error: &dyn std::fmt::Display| {
        CommandFailure::bad_input(format!("{} cannot be written: {error}", to.display()))
    };
    let output = OutputFile::prepare(to, WriteOptions::RESULT);
    let writer = output.and_then(|output| output.begin()).map_err(|it| cannot(&it.reason))?;
    let mut frames = Frames::new(BufWriter::new(writer)).map_err(|error| cannot(&error))?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sealer = Sealer::new(client, path, MOST_UNDER_WAY);
    let mut count = 0;
    for (number, digests) in (0..).zip(DIGESTS) {
        let shape = ConnectionShape {
            digests,
            pdus: pdus.div_ceil(DIGESTS.len()),
            most_data_bytes: MOST_DATA_BYTES,
            // tshark 4.0 looks for data right behind the header digest.
            is_padded: false,
            is_terminated: number % 2 == 1,
        };
        let pdus = generate(&mut random, &shape, &mut sealer).map_err(|error| match error {
            dsa_client::error::Error::NoDevice(_) => CommandFailure::bad_input(error),
            _ => CommandFailure::failed(error),
        })?;
        count += pdus.len();
        write_connection(&mut frames, number, &mut random, &pdus)
            .map_err(|error| cannot(&error))?;
    }
    let writer = frames.into_writer().into_inner().map_err(|error| cannot(&error))?;
    writer.finish().map_err(|error| cannot(&error.reason))?;
    let (headers, data) = sealer.tallies();
    let mut out = std::io::stdout().lock();
    let (headers, data) = (shares(&headers), shares(&data));
    writeln!(
        out,
        "{}: {count} PDUs; header digests: {headers}; data digests: {data}",
        to.display()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a connection; PDUs of one sender follow each other without a gap, as in a stream.
fn write_connection<W: Write>(
    frames: &mut Frames<W>,
    number: u16,
    random: &mut impl RngCore,
    pdus: &[SentPdu],
) -> Result<(), PcapError> {
    frames.open(number, [random.next_u32(), random.next_u32()])?;
    for together in pdus.chunk_by(|(before, _), (after, _)| before == after) {
        let bytes: Vec<u8> = together.iter().flat_map(|(_, sealed)| sealed.bytes()).collect();
        let sender = together.first().map_or(Sender::Host, |(sender, _)| *sender);
        frames.send(sender, &bytes)?;
    }
    frames.close()
}

fn shares(tally: &DigestTally) -> String {
    format!("device {}, CPU {}, both {}", tally.device, tally.cpu, tally.both)
}
