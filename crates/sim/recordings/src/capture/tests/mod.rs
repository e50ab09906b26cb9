//! Results of reading capture files, valid and invalid.

use std::borrow::Cow;
use std::path::Path;
use std::{env, fs, process};

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::{
    EnhancedPacketBlock, EnhancedPacketOption as PacketOption,
};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption as IfOption;
use pcap_file::pcapng::blocks::simple_packet::SimplePacketBlock;
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::pcapng::{Block, PcapNgWriter, RawBlock};
use pcap_file::{DataLink, Endianness, TsResolution};
use proptest::prelude::*;

use super::test_files::*;
use super::*;
use crate::compression::Compression;
use crate::compression::test_files::{Cycled, packed};

const BOTH_ORDERS: [Endianness; 2] = [Endianness::Big, Endianness::Little];

fn parse(file: &[u8]) -> Result<Recording, CaptureFault> {
    from_reader(file, &CaptureOptions::default())
}

/// The note on deviations of a file that is read.
fn note(file: &[u8]) -> String {
    parse(file).expect("the file is read").oddities.to_string()
}

fn times_ps(capture: &Recording) -> Vec<u64> {
    capture.packets.iter().map(|packet| packet.since_start.0).collect()
}

fn sizes(capture: &Recording) -> Vec<u64> {
    capture.packets.iter().map(|packet| packet.frame_bytes.0).collect()
}

fn ng_writer() -> PcapNgWriter<Vec<u8>> {
    PcapNgWriter::with_endianness(Vec::new(), Endianness::Little).unwrap()
}

/// The message for a file of these bytes, as a user sees it.
fn refusal(bytes: &[u8]) -> String {
    let fault = parse(bytes).expect_err("the file should be refused");
    CaptureError { path: "x.pcap".into(), fault }.to_string()
}

#[track_caller]
fn assert_refused(bytes: &[u8], words: &[&str]) {
    let message = refusal(bytes);
    for word in words {
        assert!(message.contains(word), "'{word}' is not in: {message}");
    }
}

mod no_input_panics;
mod what_is_read;
mod what_is_refused;
