//! Are the digests of NVMe/TCP those that a dissector by others judges right (package `tshark`), and is
//! every capture read to its end?

mod capture;
#[path = "../../src/digest/frames.rs"]
mod frames;
mod tshark;

use crate::runs::{Place, ended};
use capture::{BOTH, SentPdu, damaged, file, spoken};
use nvme_tcp::conversation::Sender;
use nvme_tcp::negotiation::EnabledDigests;
use nvme_tcp::pdu::PduKind;
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use serde_json::Value;
use std::collections::BTreeSet;

/// The report of the command on a file, and its exit code.
#[track_caller]
fn digest(place: &Place, arguments: &[&str]) -> (Value, i32) {
    let said = ended(&mut place.command(&[&["digest", "--json"], arguments].concat()));
    let json = serde_json::from_str(&said.out);
    let json = json.unwrap_or_else(|error| panic!("{error}: {said:?}"));
    (json, said.code.expect("ends"))
}

/// A number of the connection of this number.
#[track_caller]
fn number(report: &Value, connection: usize, path: &str) -> u64 {
    let value = report["connections"][connection].pointer(path);
    value.and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {report:#}"))
}

/// A file in the place of the test.
fn put(place: &Place, name: &str, bytes: &[u8]) -> String {
    let path = place.path().join(name);
    std::fs::write(&path, bytes).expect("is written");
    path.to_str().expect("is text").to_owned()
}

/// The packets of a capture, changed.
fn repacked(bytes: &[u8], change: impl FnOnce(&mut Vec<PcapPacket<'static>>)) -> Vec<u8> {
    let mut reader = PcapReader::new(bytes).expect("is a capture");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        packets.push(packet.expect("is whole").into_owned());
    }
    change(&mut packets);
    let mut writer = PcapWriter::new(Vec::new()).expect("is written");
    for packet in &packets {
        writer.write_packet(packet).expect("is written");
    }
    writer.into_writer()
}

/// The reports on connections, without the packets of damages.
fn counts(report: &Value) -> Vec<Value> {
    let connections = report["connections"].as_array().expect("is a list").iter().cloned();
    connections
        .map(|mut connection| {
            connection["damages"].take();
            connection
        })
        .collect()
}

/// Connections with each choice of digests, some of which are damaged, with what is wrong with them.
fn some_of_each() -> (Vec<Vec<SentPdu>>, Vec<Vec<capture::Damage>>) {
    let choices = [(true, true), (true, false), (false, true), (false, false)];
    let connections = (1..).zip(choices).map(|(seed, (header, data))| {
        let spoken = spoken(seed, EnabledDigests { header, data }, 80, 128 << 10);
        damaged(seed, spoken)
    });
    connections.unzip()
}

#[test]
fn dsa_30_tshark_calls_each_digest_good_but_those_that_were_damaged() {
    let place = Place::new();
    let (connections, damages) = some_of_each();
    let path = put(&place, "some.pcap", &file(&connections));
    let frames = capture::last_frames(&connections);
    let judged = tshark::judge(&path);
    let (report, code) = digest(&place, &[&path]);
    assert_eq!(code, 1);
    let (mut good, mut bad) = (0, 0);
    for (number_of_it, (spoken, damages)) in connections.iter().zip(&damages).enumerate() {
        let mut wrong_packets = Vec::new();
        for (pdu, (spoken, damage)) in spoken.iter().zip(damages).enumerate() {
            let frame = frames[number_of_it][pdu];
            let header = &spoken.header;
            let right = [
                header.has_header_digest().then_some(!damage.header),
                header.has_data_digest().then_some(!damage.data),
            ];
            let own = judged.get(&frame).copied().unwrap_or_default();
            assert_eq!(own, right, "frame {frame}: {header:?}");
            good += right.iter().filter(|is| **is == Some(true)).count();
            bad += right.iter().filter(|is| **is == Some(false)).count();
            let wrong = right.iter().filter(|is| **is == Some(false));
            wrong_packets.extend(wrong.map(|_| frame));
        }
        let listed = report["connections"][number_of_it]["damages"].as_array().expect("is there");
        let mut listed: Vec<u64> =
            listed.iter().map(|damage| damage["packet"].as_u64().expect("is there")).collect();
        listed.sort_unstable();
        assert_eq!(listed, wrong_packets);
    }
    assert!(good > 150 && bad > 30, "{good} {bad}");
    let all = || connections.iter().flatten();
    assert!(all().any(|pdu| pdu.header.bytes > 100 << 10), "there are large PDUs");
    let kinds: BTreeSet<PduKind> = all().map(|pdu| pdu.header.kind).collect();
    let with_digests = PduKind::ALL.into_iter().filter(|kind| kind.has_digests());
    assert!(kinds.is_superset(&with_digests.collect()), "{kinds:?}");
}

/// Null models: a dissector that judges has to refuse other numbers.
#[test]
fn tshark_calls_a_digest_of_zeros_and_a_plain_crc_32_bad() {
    let place = Place::new();
    let nulls: [(&str, capture::DigestOf); 2] = [("zeros", |_| 0), ("crc-32", capture::crc_32)];
    for (name, null) in nulls {
        let mut spoken = spoken(5, BOTH, 20, 4096);
        capture::replace_digests(&mut spoken, null);
        let path = put(&place, name, &file(&[spoken]));
        let judged = tshark::judge(&path);
        assert!(judged.len() >= 20, "{judged:?}");
        assert!(judged.values().flatten().all(|is_good| *is_good != Some(true)), "{judged:?}");
        let (report, code) = digest(&place, &[&path]);
        assert_eq!(code, 1);
        for which in ["header", "data"] {
            assert_eq!(number(&report, 0, &format!("/{which}_digests/right")), 0);
            assert!(number(&report, 0, &format!("/{which}_digests/wrong")) > 0);
        }
    }
}

#[test]
fn tshark_finds_what_the_command_makes_right() {
    let place = Place::new();
    let make = |name: &str, seed: &str| {
        let words = ["digest", "--make", "80", "--seed", seed, name];
        ended(&mut place.command(&words)).with(0);
        std::fs::read(place.path().join(name)).expect("is there")
    };
    let own = make("own.pcap", "7");
    assert!(own == make("again.pcap", "7") && own != make("other.pcap", "8"));
    let (report, code) = digest(&place, &["own.pcap"]);
    assert_eq!((code, &report["right"]), (0, &Value::Bool(true)), "{report:#}");
    let of = |which: &str| -> u64 {
        (0..4).map(|it| number(&report, it, &format!("/{which}_digests/right"))).sum()
    };
    let path = place.path().join("own.pcap");
    let counts = tshark::count(path.to_str().expect("is text"));
    assert_eq!(counts, [[0, of("header")], [0, of("data")]]);
    assert!(of("header") > 40 && of("data") > 5, "{report:#}");
    let pdus: u64 = (0..4).map(|it| number(&report, it, "/pdus")).sum();
    assert!(pdus >= 88, "{report:#}");
    let text = ended(&mut place.command(&["digest", "own.pcap"])).with(0);
    assert!(
        text.contains("10.0.0.1:40000 -> 10.0.0.2:4420  header and data digests agreed"),
        "{text}"
    );
    assert!(text.contains(" right, 0 wrong, 0 missing"), "{text}");
}

#[test]
fn dsa_30_a_device_that_faults_comes_to_what_the_cpu_comes_to() {
    let place = Place::new();
    let (connections, _) = some_of_each();
    let path = put(&place, "some.pcap", &file(&connections));
    let plan = put(
        &place,
        "plan.toml",
        b"seed = 3\n[page_faults]\nrate = 0.01\n[hardware_errors]\nread_rate = 0.01\n",
    );
    let (by_cpu, _) = digest(&place, &["--path", "cpu", &path]);
    let own = crate::runs::command().to_str().expect("is text");
    let program = [own, "digest", "--json", "--path", "device", &path];
    let by_device = place.run(&["--quiet", "--inject", &plan], &program).with(1);
    let by_device: Value = serde_json::from_str(&by_device).expect("is JSON");
    let (mut device, mut total) = (0, 0);
    for connection in 0..4 {
        for which in ["header", "data"] {
            for count in ["right", "wrong", "absent", "missing"] {
                let path = format!("/{which}_digests/{count}");
                let own = number(&by_device, connection, &path);
                assert_eq!(own, number(&by_cpu, connection, &path), "{connection} {path}");
            }
            let by = |who| number(&by_device, connection, &format!("/{which}_digests/by_{who}"));
            device += by("device");
            total += by("device") + by("cpu") + by("both");
            let cpu = number(&by_cpu, connection, &format!("/{which}_digests/by_device"));
            assert_eq!(cpu, 0);
        }
    }
    assert!(device > total * 9 / 10 && total > 150, "{device} of {total}");
}

#[test]
fn segments_in_any_order_and_sent_again_are_the_same_connection() {
    let place = Place::new();
    let (connections, _) = some_of_each();
    let bytes = file(&connections);
    let (report, _) = digest(&place, &[&put(&place, "in-order.pcap", &bytes)]);
    let mixed = repacked(&bytes, |packets| {
        // Pairs change places, and every seventh is sent again later.
        let again: Vec<_> = packets.iter().step_by(7).cloned().collect();
        for pair in packets.chunks_mut(2) {
            pair.reverse();
        }
        for (number, packet) in again.into_iter().enumerate() {
            packets.insert((number * 8 + 40).min(packets.len()), packet);
        }
    });
    let (own, code) = digest(&place, &[&put(&place, "mixed.pcap", &mixed)]);
    assert_eq!(code, 1);
    assert_eq!(counts(&own), counts(&report));
}

#[test]
fn what_a_capture_has_not_is_counted_and_the_rest_is_judged() {
    let place = Place::new();
    let spoken = spoken(6, BOTH, 60, 100_000);
    let frames = capture::last_frames(std::slice::from_ref(&spoken));
    let is_large = |pdu: &&SentPdu| pdu.bytes.len() > 8000 && pdu.header.kind.has_digests();
    let large = spoken.iter().position(|pdu| is_large(&pdu)).expect("there is one");
    let missing = usize::try_from(frames[0][large]).expect("is small") - 3;
    let bytes = repacked(&file(std::slice::from_ref(&spoken)), |packets| {
        packets.remove(missing);
    });
    let (report, code) = digest(&place, &[&put(&place, "gap.pcap", &bytes)]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(number(&report, 0, "/lost_bytes"), 1460);
    let skipped = spoken[large].bytes.len() as u64 - 1460;
    assert_eq!(number(&report, 0, "/skipped_bytes"), skipped);
    assert_eq!(number(&report, 0, "/pdus"), spoken.len() as u64 - 1);

    // The capture begins in the middle: what is agreed is unknown, digests are right all the same.
    let bytes = repacked(&file(std::slice::from_ref(&spoken)), |packets| {
        packets.drain(..missing);
    });
    let (report, code) = digest(&place, &[&put(&place, "middle.pcap", &bytes)]);
    assert_eq!(code, 0, "{report:#}");
    assert!(report["connections"][0]["agreed"].is_null());
    assert!(number(&report, 0, "/header_digests/right") > 20, "{report:#}");
}

#[test]
fn a_file_that_is_cut_off_is_read_as_far_as_it_goes() {
    let place = Place::new();
    let bytes = file(&[spoken(6, BOTH, 20, 3000)]);
    let path = put(&place, "cut.pcap", &bytes[..bytes.len() - 300]);
    let said = ended(&mut place.command(&["digest", &path]));
    assert!(said.with(0).contains("note: the file ends within packet"));
}

#[test]
fn digests_that_were_agreed_on_and_are_missing_end_with_1() {
    let place = Place::new();
    let mut spoken = spoken(9, EnabledDigests { header: true, data: false }, 12, 2000);
    capture::agree(&mut spoken, BOTH);
    let (report, code) = digest(&place, &[&put(&place, "missing.pcap", &file(&[spoken]))]);
    assert_eq!(code, 1);
    assert!(number(&report, 0, "/data_digests/missing") > 0);
    assert_eq!(number(&report, 0, "/data_digests/absent"), 0);
    assert_eq!(number(&report, 0, "/header_digests/missing"), 0);
}

#[test]
fn what_is_no_pdu_is_named_and_what_follows_is_judged() {
    let place = Place::new();
    let mut spoken = spoken(9, BOTH, 12, 2000);
    let command = spoken.iter().position(|pdu| pdu.header.kind == PduKind::CapsuleCmd);
    spoken[command.expect("is there")].bytes[2] = 70;
    let (report, code) = digest(&place, &[&put(&place, "broken.pcap", &file(&[spoken]))]);
    assert_eq!(code, 1);
    assert_eq!(number(&report, 0, "/broken"), 1);
    let what = report["connections"][0]["damages"][0]["what"].as_str().expect("is there");
    assert_eq!(what, "not a PDU: CapsuleCmd has a header of 70 bytes; it has to have 72");
    assert!(number(&report, 0, "/header_digests/right") >= 11);
}

/// A frame of Ethernet in VXLAN.
fn in_vxlan(frame: &[u8]) -> Vec<u8> {
    let with_length = |bytes: usize| u16::try_from(bytes).expect("is a small frame").to_be_bytes();
    let (ip, udp) = (with_length(36 + frame.len()), with_length(16 + frame.len()));
    let ethernet = [[0; 12].as_slice(), &[8, 0]].concat();
    let ip =
        [&[0x45, 0], &ip[..], &[0, 0, 0, 0, 64, 17, 0, 0], &[10, 9, 0, 1, 10, 9, 0, 2]].concat();
    // Ports 50000 and 4789.
    let udp = [&[0xc3, 0x50, 0x12, 0xb5], &udp[..], &[0, 0]].concat();
    [&ethernet, &ip, &udp, &[8, 0, 0, 0, 0, 0, 7, 0][..], frame].concat()
}

#[test]
fn a_capture_without_a_connection_says_that_its_packets_are_in_tunnels() {
    let place = Place::new();
    let plain = file(&[spoken(2, BOTH, 4, 100)]);
    let tunnelled = repacked(&plain, |packets| {
        for packet in packets {
            packet.data = in_vxlan(&packet.data).into();
            packet.orig_len = u32::try_from(packet.data.len()).expect("fits");
        }
    });
    put(&place, "tunnelled.pcap", &tunnelled);
    let said = ended(&mut place.command(&["digest", "tunnelled.pcap"])).refused();
    assert!(said.contains("of its 0 TCP connection(s)"), "{said}");
    assert!(said.contains("are in tunnels, which are not opened (VXLAN "), "{said}");
    put(&place, "plain.pcap", &plain);
    let printed = ended(&mut place.command(&["digest", "plain.pcap"])).with(0);
    assert!(!printed.contains("in tunnels"), "{printed}");
}

#[test]
fn bad_input_is_refused_with_the_file_and_what_is_allowed() {
    let place = Place::new();
    let refused = |words: &[&str]| ended(&mut place.command(words)).refused();
    let said = refused(&["digest", "nothing.pcap"]);
    assert!(said.contains("capture 'nothing.pcap' cannot be opened"), "{said}");
    put(&place, "text.pcap", b"this is no capture");
    assert!(refused(&["digest", "text.pcap"]).contains("no known capture format"));
    let other = vec![SentPdu::plain(Sender::Host, b"GET / HTTP/1.1\r\n\r\n")];
    put(&place, "other.pcap", &file(&[other]));
    let said = refused(&["digest", "--port", "80,81", "other.pcap"]);
    assert!(said.contains("of its 1 TCP connection(s) in 6 packet(s) none"), "{said}");
    assert!(said.contains("(80, 81); --port names others"), "{said}");
    put(&place, "right.pcap", &file(&[spoken(2, BOTH, 4, 100)]));
    let said = refused(&["digest", "--path", "device", "right.pcap"]);
    assert!(said.contains("no work queue is open"), "{said}");
    assert!(refused(&["digest", "--make", "0", "new.pcap"]).contains("one PDU or more"));
    assert!(refused(&["digest", "--make", "5", "no/such/new.pcap"]).contains("no/such/new.pcap"));
    assert!(refused(&["digest", "--path", "gpu", "right.pcap"]).contains("automatic, device, cpu"));
    // An ICReq tells on any port.
    let (report, code) = digest(&place, &["--port", "1", "right.pcap"]);
    assert_eq!((code, number(&report, 0, "/header_digests/wrong")), (0, 0));
}
