//! Every supported variant of both formats gives the packets that were written.

use super::*;
use units::Picos;

const TEN_MINUTES_PS: u64 = 600 * 1_000_000_000_000;
const CUT_SHORT: CaptureOptions = CaptureOptions {
    cut_short: CutShort::Read,
    scale_to_gbps: None,
    longest_gap: Picos(TEN_MINUTES_PS),
};

#[test]
fn pcap_in_every_variant_gives_the_same_packets() {
    let frames = [(1_000_000, small_frame(0)), (3_000_000, small_frame(1))];
    for order in BOTH_ORDERS {
        for unit in [TsResolution::MicroSecond, TsResolution::NanoSecond] {
            let capture = parse(&pcap_with(order, unit, frames.clone())).unwrap();
            assert_eq!(times_ps(&capture), [0, 2_000_000_000], "{order:?} {unit:?}");
            assert_eq!(sizes(&capture), [92, 93]);
            assert_eq!(capture.flows.len(), 2);
        }
    }
}

#[test]
fn nanoseconds_are_kept() {
    let capture = parse(&pcap_of([(1, small_frame(0)), (8, small_frame(0))])).unwrap();
    assert_eq!(times_ps(&capture), [0, 7_000]);
}

#[test]
fn pcap_files_of_old_versions_have_their_lengths_in_the_other_order() {
    let packet = PcapPacket::new(std::time::Duration::ZERO, 1_442, &[0; 64]);
    for (major, minor, is_swapped) in
        [(2, 0, true), (2, 2, true), (2, 3, true), (2, 3, false), (543, 0, true), (2, 4, false)]
    {
        for endianness in BOTH_ORDERS {
            let (version_major, version_minor) = (major, minor);
            let header =
                PcapHeader { version_major, version_minor, endianness, ..PcapHeader::default() };
            let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
            writer.write_packet(&packet).unwrap();
            let mut file = writer.into_writer();
            if is_swapped {
                file[32..40].rotate_left(4);
            }
            let recording = parse(&file).unwrap();
            assert_eq!(sizes(&recording), [1_442], "{major}.{minor} {endianness:?}");
            assert!(recording.oddities.is_empty());
        }
    }
}

#[test]
fn pcapng_of_both_byte_orders_gives_the_same_packets() {
    for order in BOTH_ORDERS {
        let file = pcapng_of(order, [(10, small_frame(0)), (13, small_frame(1))]);
        let capture = parse(&file).unwrap();
        assert_eq!(times_ps(&capture), [0, 3_000_000], "{order:?}");
        assert_eq!(sizes(&capture), [92, 93]);
    }
}

#[test]
fn interfaces_of_a_pcapng_file_have_their_own_links_and_clocks() {
    let ip = ipv4_udp(7, 8, 172);
    let frame = on_ethernet(0x0800, &ip);
    let mut writer = ng_writer();
    let nanoseconds = vec![IfOption::IfTsResol(9)];
    let binary = vec![IfOption::IfTsResol(0x80 | 10), IfOption::IfTsOffset(1)];
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, nanoseconds)).unwrap();
    writer.write_pcapng_block(interface(DataLink::RAW, 0, binary)).unwrap();
    writer.write_pcapng_block(enhanced(0, 1_000_000_000, &frame)).unwrap();
    writer.write_pcapng_block(enhanced(1, 512, &ip)).unwrap(); // 1 s + 512 / 1024 s
    let capture = parse(&writer.into_inner()).unwrap();
    assert_eq!(times_ps(&capture), [0, 500_000_000_000]);
    assert_eq!(sizes(&capture), [214, 214]);
    assert_eq!(capture.flows.len(), 1);
}

#[test]
fn times_finer_than_a_picosecond_are_rounded_down() {
    for (unit, ticks, picos) in
        [(13, 99, 9), (19, u64::MAX, 1_844_674_407_370), (0x80 | 63, 1 << 62, 500_000_000_000)]
    {
        let mut writer = ng_writer();
        let options = vec![IfOption::IfTsResol(unit)];
        writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, options)).unwrap();
        for ticks in [0, ticks] {
            writer.write_pcapng_block(enhanced(0, ticks, &small_frame(0))).unwrap();
        }
        assert_eq!(times_ps(&parse(&writer.into_inner()).unwrap()), [0, picos], "{unit}");
    }
}

#[test]
fn a_new_section_has_its_own_byte_order_and_interfaces() {
    let mut file = pcapng_of(Endianness::Little, [(10, small_frame(0))]);
    file.extend(pcapng_of(Endianness::Big, [(11, small_frame(1))]));
    let capture = parse(&file).unwrap();
    assert_eq!(times_ps(&capture), [0, 1_000_000]);
}

#[test]
fn simple_packets_have_the_time_of_the_packet_before() {
    let frame = small_frame(0);
    let simple =
        || SimplePacketBlock { original_len: frame.len() as u32, data: Cow::Borrowed(&frame) };
    let mut writer = ng_writer();
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 65_535, vec![])).unwrap();
    writer.write_pcapng_block(simple()).unwrap();
    writer.write_pcapng_block(enhanced(0, 100, &frame)).unwrap();
    writer.write_pcapng_block(enhanced(0, 102, &frame)).unwrap();
    writer.write_pcapng_block(simple()).unwrap();
    let capture = parse(&writer.into_inner()).unwrap();
    assert_eq!(times_ps(&capture), [0, 0, 2_000_000, 2_000_000]);
    assert_eq!(sizes(&capture), [92; 4]);
}

#[test]
fn blocks_that_are_not_packets_are_skipped() {
    let mut writer = ng_writer();
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, vec![])).unwrap();
    // A name resolution block whose padding is missing, and a large block of no known kind.
    for (kind, body) in [(4, vec![0, 9, 1, 0, 7, 0, 0, 0]), (0xbad, vec![0; 3 << 20])] {
        let len = body.len() as u32 + 12;
        let body = Cow::Owned(body);
        let block = RawBlock { type_: kind, initial_len: len, body, trailer_len: len };
        writer.write_raw_block(&block).unwrap();
    }
    writer.write_pcapng_block(enhanced(0, 100, &small_frame(0))).unwrap();
    assert_eq!(parse(&writer.into_inner()).unwrap().packets.len(), 1);
}

#[test]
fn sizes_are_those_on_the_wire_even_if_less_was_captured() {
    let frame = on_ethernet(0x0800, &ipv4_udp(1, 2, 1_400));
    let header = PcapHeader { snaplen: 64, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    let packet = PcapPacket::new(std::time::Duration::ZERO, 1_442, &frame[..64]);
    writer.write_packet(&packet).unwrap();
    let capture = parse(&writer.into_writer()).unwrap();
    assert_eq!(sizes(&capture), [1_442]);
    assert!(capture.flows[0].ports.is_some());
}

#[test]
fn the_fcs_of_a_capture_that_has_it_does_not_count() {
    let mut file = pcap_of([(0, small_frame(0))]);
    file[23] = 0x24; // 2 x 16 bits of FCS, flag "FCS length present"
    assert_eq!(sizes(&parse(&file).unwrap()), [88]);

    // In bits; in bytes if it would be less than one.
    for length in [32, 4] {
        let mut writer = ng_writer();
        let options = vec![IfOption::IfFcsLen(length)];
        writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, options)).unwrap();
        writer.write_pcapng_block(enhanced(0, 0, &small_frame(0))).unwrap();
        assert_eq!(sizes(&parse(&writer.into_inner()).unwrap()), [88], "{length}");
    }
}

#[test]
fn the_flags_of_a_packet_state_its_fcs() {
    let with_options = |options: Vec<PacketOption<'static>>| {
        let mut writer = ng_writer();
        let fcs_of_all = vec![IfOption::IfFcsLen(16)];
        writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, fcs_of_all)).unwrap();
        writer.write_pcapng_block(interface(DataLink::RAW, 0, vec![])).unwrap();
        for id in [0, 1] {
            let frame = small_frame(0);
            let packet =
                EnhancedPacketBlock { options: options.clone(), ..enhanced(id, 0, &frame) };
            writer.write_pcapng_block(packet).unwrap();
        }
        writer.into_inner()
    };
    let comment = || PacketOption::Comment("with FCS".into());
    let stated = with_options(vec![comment(), PacketOption::Flags(4 << 5 | 1)]);
    assert_eq!(sizes(&parse(&stated).unwrap()), [88, 106]);
    let not_stated = with_options(vec![comment(), PacketOption::Flags(1)]);
    assert_eq!(sizes(&parse(&not_stated).unwrap()), [90, 106]);
    assert_eq!(note(&not_stated), "");
    let mut malformed = stated.clone();
    for at in 0..malformed.len() - 8 {
        if malformed[at..at + 8] == [2, 0, 4, 0, 4 << 5 | 1, 0, 0, 0] {
            malformed[at + 2] = 2;
        }
    }
    assert_eq!(sizes(&parse(&malformed).unwrap()), [90, 106]);
    assert!(note(&malformed).ends_with(": 2 malformed options"), "{}", note(&malformed));
}

#[test]
fn each_packet_is_read_and_each_flow_is_listed_once() {
    let frames = (0..1_000).map(|n| (n * 10, small_frame(n as usize)));
    let capture = parse(&pcap_of(frames)).unwrap();
    assert_eq!((capture.packets.len(), capture.flows.len(), capture.reordered), (1_000, 100, 0));
    assert_eq!(times_ps(&capture).last(), Some(&9_990_000));
    assert_eq!(sizes(&capture).iter().max(), Some(&98));
}

#[test]
fn times_that_go_backwards_are_sorted_and_counted_and_equal_ones_keep_their_order() {
    let frames = [(50, 0), (20, 1), (60, 2), (20, 3), (60, 4)];
    let frames = frames.map(|(time_ns, number)| (time_ns, small_frame(number)));
    let capture = parse(&pcap_of(frames)).unwrap();
    assert_eq!(capture.reordered, 2);
    assert_eq!(times_ps(&capture), [0, 0, 30_000, 40_000, 40_000]);
    assert_eq!(sizes(&capture), [93, 95, 92, 94, 96]);
}

#[test]
fn a_file_on_disk_is_read() {
    let path = env::temp_dir().join(format!("skipline-capture-{}.pcap", process::id()));
    fs::write(&path, pcap_of([(0, small_frame(0))])).unwrap();
    let recording = read(&path, &CaptureOptions::default());
    fs::remove_file(&path).unwrap();
    assert_eq!(recording.unwrap().packets.len(), 1);
}

#[test]
fn a_file_that_ends_within_a_packet_is_read_up_to_there_if_that_is_allowed() {
    let frames = || (0..3).map(|number| (number * 1000, small_frame(0)));
    let pcapng = || pcapng_of(Endianness::Little, (0..3).map(|number| (number, small_frame(0))));
    for whole in [pcap_of(frames()), pcapng()] {
        let read = from_reader(&*whole, &CUT_SHORT).unwrap();
        assert_eq!((read.packets.len(), read.cut_in), (3, None));
        let cut = from_reader(&whole[..whole.len() - 1], &CUT_SHORT).unwrap();
        assert_eq!(cut.packets.len(), 2);
        let position = cut.cut_in.expect("it ends within a packet");
        assert_eq!(position.packet, Some(3));
        assert!(position.offset < whole.len() as u64);
    }
}

#[test]
fn a_file_that_ends_within_its_first_packet_has_nothing_to_read() {
    let pcap = pcap_of([(0, small_frame(0))]);
    let fault = from_reader(&pcap[..pcap.len() - 1], &CUT_SHORT).unwrap_err();
    assert!(matches!(fault, CaptureFault::TruncatedRecord { .. }) && !fault.is_cut_short());
}

#[test]
fn a_damaged_file_is_not_read_up_to_its_damage() {
    let mut pcap = pcap_of([(0, small_frame(0)), (1, small_frame(0))]);
    // The captured bytes of the second packet, behind its time.
    let second = 24 + (pcap.len() - 24) / 2;
    pcap[second + 8..second + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let fault = from_reader(&*pcap, &CUT_SHORT).unwrap_err();
    assert!(matches!(fault, CaptureFault::OversizedRecord { .. }), "{fault}");
}

#[test]
fn compressed_files_give_the_same_packets() {
    let file = pcap_of([(0, small_frame(0)), (700, small_frame(1))]);
    for compression in Compression::ALL {
        let capture = parse(&packed(compression, &file)).unwrap();
        assert_eq!(times_ps(&capture), [0, 700_000], "{compression}");
        assert_eq!(sizes(&capture), [92, 93]);
    }
}

#[test]
fn a_compressed_file_that_is_cut_short_is_read_if_that_is_allowed() {
    let frames = (0..4_000).map(|n| (n * 10, small_frame(n as usize * 7919 % 4_000)));
    let file = pcap_of(frames);
    for compression in Compression::ALL {
        let file = packed(compression, &file);
        let cut = &file[..file.len() - 20];
        assert!(parse(cut).is_err_and(|fault| fault.is_cut_short()), "{compression}");
        let read = from_reader(cut, &CUT_SHORT).unwrap();
        let packets = read.packets.len();
        assert!((1..=4_000).contains(&packets), "{compression}: {packets}");
        assert_eq!(read.cut_in.and_then(|position| position.packet), Some(packets as u64 + 1));
    }
}

#[test]
fn raw_ip_and_loopback_have_several_numbers() {
    let ip = ipv4_udp(7, 8, 172);
    for number in [12, 14, 101, 228, 0, 108] {
        let header: &[u8] = if matches!(number, 0 | 108) { &[0, 0, 0, 2] } else { &[] };
        let mut file = pcap_of([(0, [header, &ip].concat())]);
        file[20..24].copy_from_slice(&u32::to_le_bytes(number));
        let capture = parse(&file).unwrap();
        assert_eq!((sizes(&capture), capture.flows.len()), (vec![214], 1), "{number}");
    }
    let mut file = pcap_of([(0, ipv6_tcp(1, 2))]);
    file[20..24].copy_from_slice(&229_u32.to_le_bytes());
    assert_eq!(parse(&file).unwrap().flows.len(), 1);
}

#[test]
fn lengths_above_the_snap_length_are_read_and_counted() {
    let frames = [(0, small_frame(0)), (5, small_frame(1))];
    let mut file = pcap_of(frames);
    file[16..20].copy_from_slice(&92_u32.to_le_bytes());
    assert_eq!(sizes(&parse(&file).unwrap()), [92, 93]);
    assert!(note(&file).ends_with(": 1 captured lengths above the snap length"), "{}", note(&file));

    let mut writer = ng_writer();
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 64, vec![])).unwrap();
    writer.write_pcapng_block(enhanced(0, 0, &small_frame(0))).unwrap();
    assert!(note(&writer.into_inner()).contains("1 captured lengths above the snap length"));
}

#[test]
fn a_packet_is_no_shorter_than_was_captured_of_it() {
    let mut file = pcap_of([(0, small_frame(0))]);
    file[36..40].copy_from_slice(&60_u32.to_le_bytes());
    assert_eq!(sizes(&parse(&file).unwrap()), [92]);
    assert!(note(&file).ends_with(": 1 captured lengths above the packet's own"));
}

#[test]
fn a_fraction_of_more_than_a_second_is_added() {
    let mut file = pcap_of([(0, small_frame(0)), (5, small_frame(0))]);
    file[136..140].copy_from_slice(&3_000_000_000_u32.to_le_bytes());
    assert_eq!(times_ps(&parse(&file).unwrap()), [0, 3_000_000_000_000]);
    assert!(note(&file).ends_with(": 1 fractions of a second that exceed a second"));
}

#[test]
fn options_that_a_replay_does_not_need_may_hold_anything() {
    let anything: [(u16, &[u8]); 8] = [
        (2, b"Ethernet \xfc"),
        (3, b"\xae"),
        (15, b"\xff\xfe"),
        (10, &[0, 0, 0, 0]),
        (11, &[]),
        (6, &[1, 2, 3]),
        (4, &[10, 0, 0, 1]),
        (999, &[0; 700]),
    ];
    for option in anything {
        for is_ended in [true, false] {
            let file = pcapng_with_options(&[option, (9, &[9])], is_ended);
            assert_eq!(times_ps(&parse(&file).unwrap()), [0, 5_000], "{option:?}");
            assert_eq!(note(&file), "", "{option:?}");
        }
    }
    // A value that would end behind the block, and an FCS length of two bytes.
    let mut file = pcapng_with_options(&[(2, b"eth0")], false);
    file[46] = 200;
    assert_eq!(times_ps(&parse(&file).unwrap()), [0, 5_000_000]);
    assert!(note(&file).ends_with(": 1 malformed options"));
    let file = pcapng_with_options(&[(13, &[32, 0])], true);
    assert_eq!(sizes(&parse(&file).unwrap()), [92, 92]);
    assert!(note(&file).ends_with(": 1 malformed options"));
}

#[test]
fn packets_of_an_interface_with_an_unsupported_link_type_are_left_out() {
    let mut writer = ng_writer();
    writer.write_pcapng_block(interface(DataLink::IEEE802_11, 0, vec![])).unwrap();
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 0, vec![])).unwrap();
    for id in [0, 1, 0, 1, 1] {
        writer.write_pcapng_block(enhanced(id, 10, &small_frame(0))).unwrap();
    }
    let file = writer.into_inner();
    assert_eq!(parse(&file).unwrap().packets.len(), 3);
    let words = "2 packets of interfaces with an unsupported link type (105) are left out";
    assert_eq!(note(&file), words);
}

#[test]
fn the_obsolete_packet_block_is_read() {
    let frames = [(10, small_frame(0)), (13, small_frame(1))];
    for order in BOTH_ORDERS {
        let mut file = pcapng_of(order, frames.clone());
        // The first packet: its kind, and a number of drops beside the interface.
        let (kind, drops) = if order == Endianness::Little { (48, 58) } else { (51, 59) };
        (file[kind], file[drops]) = (2, 9);
        assert_eq!(times_ps(&parse(&file).unwrap()), [0, 3_000_000], "{order:?}");
    }
}

#[test]
fn a_capture_that_begins_in_1970_is_idle_for_ten_minutes_at_most() {
    let years_ns = 10 * 365 * 86_400 * 1_000_000_000;
    let times = [0, years_ns, years_ns + 100_000];
    let file = pcap_of(times.map(|time| (time, small_frame(0))));
    let recording = parse(&file).unwrap();
    assert_eq!(times_ps(&recording), [0, TEN_MINUTES_PS, TEN_MINUTES_PS + 100_000_000]);
    assert_eq!(
        recording.paced,
        Paced { shortened: 1, longest: Picos(TEN_MINUTES_PS), stretch: None }
    );
}
