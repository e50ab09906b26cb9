//! Every fault of a file is named, with its position and what is allowed.

use super::*;

/// A pcap file with one small frame, and one of its 32-bit fields replaced.
fn pcap_with_field(at: usize, value: u32) -> Vec<u8> {
    let mut file = pcap_of([(0, small_frame(0))]);
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    file
}

fn pcapng_with_unit(code: u8) -> Vec<u8> {
    let mut writer = ng_writer();
    let options = vec![IfOption::IfTsResol(code)];
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, options)).unwrap();
    writer.write_pcapng_block(enhanced(0, 5, &small_frame(0))).unwrap();
    writer.into_inner()
}

#[test]
fn a_file_that_does_not_exist() {
    let message = read("no/such.pcap", &CaptureOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("capture 'no/such.pcap' cannot be opened: "), "{message}");
}

#[test]
fn a_directory() {
    let error = read(env::temp_dir(), &CaptureOptions::default()).unwrap_err();
    assert!(matches!(error.fault, CaptureFault::CannotOpen(_)), "{error}");
    assert!(error.to_string().contains("cannot be opened: it is a directory"), "{error}");
}

#[test]
fn an_empty_file() {
    assert_eq!(refusal(b""), "capture 'x.pcap' is empty; expected is a pcap or pcapng file");
}

#[test]
fn another_format() {
    let words = ["starts with 0x504e470d", "0xa1b2c3d4", "0x4d3cb2a1", "pcapng (0x0a0d0d0a)"];
    assert_refused(b"PNG\r\n\x1a\n\0", &words);
}

#[test]
fn a_compression_that_cannot_be_unpacked_is_named() {
    let words = ["is packed by lz4,", "gzip, xz, zstd and bzip2"];
    assert_refused(&[0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0, 0, 0], &words);
    assert_refused(b"PK\x03\x04\x14\0\0\0\x08\0", &["is packed by zip,"]);
    let mut cut = packed(Compression::Gzip, &pcap_of([(0, small_frame(0))]));
    cut.truncate(cut.len() - 12);
    assert_refused(&cut, &["cannot be unpacked (gzip) beyond byte"]);
}

#[test]
fn a_file_that_ends_within_its_header() {
    assert_refused(&[0xa1, 0xb2], &["ends within its header: 2 of 4 bytes"]);
    let pcap = pcap_of([]);
    assert_refused(&pcap[..23], &["ends within its header: 23 of 24 bytes"]);
    let pcapng = pcapng_of(Endianness::Little, []);
    assert_refused(&pcapng[..7], &["ends within its header: 7 of 8 bytes"]);
    assert_refused(&pcapng[..27], &["ends within its header: 27 of 28 bytes"]);
}

#[test]
fn a_file_that_ends_within_a_packet() {
    let frames = || [(0, small_frame(0)), (1, small_frame(0))];
    let pcap = pcap_of(frames());
    let words = ["truncated: packet 2 at byte 132 needs 108 bytes, 107 are there"];
    assert_refused(&pcap[..pcap.len() - 1], &words);
    let words = ["truncated: packet 2 at byte 132 needs 16 bytes, 3 are there"];
    assert_refused(&pcap[..135], &words);
    let pcapng = pcapng_of(Endianness::Big, frames());
    let words = ["truncated: packet 2 at byte 172 needs 124 bytes, 120 are there"];
    assert_refused(&pcapng[..pcapng.len() - 4], &words);
}

#[test]
fn a_file_that_ends_within_a_skipped_block() {
    let mut writer = ng_writer();
    let block = Block::Unknown(UnknownBlock::new(0xbad, 0, &[0; 100]));
    writer.write_block(&block).unwrap();
    let file = writer.into_inner();
    let words = ["truncated: block at byte 28 needs 112 bytes, 111 are there"];
    assert_refused(&file[..file.len() - 1], &words);
}

#[test]
fn a_packet_that_claims_gigabytes() {
    let mut file = pcap_with_field(32, u32::MAX);
    file[16..20].copy_from_slice(&[0; 4]); // no snap length
    assert_refused(&file, &["claims 4294967295 captured bytes; allowed are 262144"]);
}

#[test]
fn a_block_that_claims_gigabytes() {
    let mut file = pcapng_of(Endianness::Little, [(0, small_frame(0))]);
    file[52..56].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    assert_refused(&file, &["packet 1 at byte 48 claims 4294967280 bytes; allowed are 1048576"]);
}

#[test]
fn a_section_of_more_interfaces_than_any_host_has() {
    let section = |interfaces: usize| {
        let mut writer = ng_writer();
        for _ in 0..interfaces {
            writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, vec![])).unwrap();
        }
        writer.write_pcapng_block(enhanced(interfaces as u32 - 1, 0, &small_frame(0))).unwrap();
        writer.into_inner()
    };
    let most = 1 << 16;
    assert!(parse(&section(most)).is_ok());
    assert!(parse(&section(most).repeat(2)).is_ok(), "each section has its own");
    assert_refused(&section(most + 1), &["its section describes more than 65536 interfaces"]);
}

#[test]
fn a_gigabyte_of_blocks_without_a_packet() {
    let section = ng_writer().into_inner();
    let block_bytes = 1_u32 << 20;
    let length = block_bytes.to_le_bytes();
    let zeros = vec![0; block_bytes as usize - 12];
    let block = [&0xbad_u32.to_le_bytes(), &length, &*zeros, &length].concat();
    let packet = pcapng_of(Endianness::Little, [(0, small_frame(0))]);
    let read = |blocks: u64| {
        let blocks = Cycled { piece: block.clone(), at: 0 }.take(blocks << 20);
        from_reader(section.chain(blocks).chain(&*packet), &CaptureOptions::default())
    };
    assert!(read(1023).is_ok());
    let fault = read(1025).expect_err("is refused").to_string();
    assert_eq!(
        fault,
        "is damaged: block at byte 1073741852: there is no packet in the GiB before it"
    );
}

#[test]
fn a_link_type_that_is_not_supported() {
    let words = ["link type 105 (IEEE802_11) in packet 1 at byte 24", "1 (Ethernet)", "101"];
    assert_refused(&pcap_with_field(20, 105), &words);
    assert_refused(&pcap_with_field(20, 9_999), &["link type 9999 (no registered name)"]);

    let mut writer = ng_writer();
    writer.write_pcapng_block(interface(DataLink::USB_LINUX, 0, vec![])).unwrap();
    let unused = writer.get_ref().clone();
    writer.write_pcapng_block(enhanced(0, 0, &[0; 60])).unwrap();
    assert_refused(&writer.into_inner(), &["link type 189 (USB_LINUX);"]);
    // An interface without packets is no reason to refuse a capture.
    assert!(matches!(parse(&unused), Err(CaptureFault::NoPackets)));
}

#[test]
fn a_time_unit_that_is_not_known() {
    let words = ["units of 10^-20 s in packet 1 at byte 60", "10^-0 to 10^-19"];
    assert_refused(&pcapng_with_unit(20), &words);
    assert_refused(&pcapng_with_unit(0x80 | 64), &["units of 2^-64 s"]);
    assert!(parse(&pcapng_with_unit(19)).is_ok());
    assert!(parse(&pcapng_with_unit(0x80 | 63)).is_ok());
}

#[test]
fn a_capture_without_packets() {
    assert_refused(&pcap_of([]), &["holds no packets"]);
    assert_refused(&pcapng_of(Endianness::Little, []), &["holds no packets"]);
}

#[test]
fn records_that_contradict_themselves() {
    let mut pcapng = pcapng_of(Endianness::Little, [(0, small_frame(0))]);
    let end = pcapng.len();
    pcapng[end - 4..].copy_from_slice(&128_u32.to_le_bytes());
    assert_refused(&pcapng, &["packet 1 at byte 48: its length is 124 in front and 128"]);
    pcapng[52..56].copy_from_slice(&7_u32.to_le_bytes());
    assert_refused(&pcapng, &["packet 1 at byte 48: its length of 7 is not a multiple of 4"]);
}

#[test]
fn a_packet_of_an_interface_that_is_not_described() {
    let mut file = pcapng_of(Endianness::Little, [(0, small_frame(0))]);
    file[56] = 3;
    let words = ["packet 1 at byte 48: it is of interface 3, but only 1 are described before"];
    assert_refused(&file, &words);
}

#[test]
fn a_packet_that_claims_more_than_its_block_holds() {
    let mut file = pcapng_of(Endianness::Little, [(0, small_frame(0))]);
    file[68..72].copy_from_slice(&93_u32.to_le_bytes());
    assert_refused(
        &file,
        &["packet 1 at byte 48: it claims 93 captured bytes, but its block has 92"],
    );
}

#[test]
fn a_clock_whose_option_is_malformed() {
    for (code, name) in
        [(9, "if_tsresol has 2 bytes instead of 1"), (14, "if_tsoffset has 2 bytes")]
    {
        let file = pcapng_with_options(&[(code, &[6, 0])], true);
        assert_refused(&file, &["block at byte 28", name, "times cannot be known"]);
    }
}

#[test]
fn a_section_of_a_version_that_is_not_known() {
    let mut file = pcapng_of(Endianness::Little, [(0, small_frame(0))]);
    file[12] = 2;
    assert_refused(&file, &["block at byte 0", "version 2.0 of pcapng; supported is 1"]);
}

#[test]
fn a_capture_longer_than_simulated_time() {
    let day_ns = 86_400 * 1_000_000_000;
    // A packet every ten minutes.
    let spanning = |days: u64| {
        pcap_of((0..=144 * days).map(|number| (number * (day_ns / 144), small_frame(0))))
    };
    let longest = parse(&spanning(106)).unwrap();
    assert_eq!(times_ps(&longest).last(), Some(&(106 * day_ns * 1_000)));
    let refused = refusal(&spanning(300));
    for words in ["spans 300 days", "at most 106 days", "traffic.scale_to_gbps"] {
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn the_message_names_the_file_once() {
    let error = CaptureError { path: Path::new("a/b.pcap").into(), fault: CaptureFault::NoPackets };
    assert_eq!(error.to_string(), "capture 'a/b.pcap' holds no packets");
}
