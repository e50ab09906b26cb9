//! A device computes the same digests as the CPU, also if one access in a hundred faults.

use crate::dice::{BOTH, Dice, connection, without_devices};
use crate::inside::{inside, plan};
use dsa::hardware::Opcode;
use dsa_client::client::{OffloadClient, Options, Path};
use nvme_tcp::conversation::{ConnectionShape, generate};
use nvme_tcp::digests::{CoveredBuffers, DigestQueue};
use nvme_tcp::reader::{PduReader, StreamItem};
use nvme_tcp::seal::Sealer;
use nvme_tcp::verify::{DigestCheck, Verifier};

const FAULTS: &str = "seed = 3\n[page_faults]\nrate = 0.01\n\
     [hardware_errors]\nread_rate = 0.01\n[queue_full]\nrate = 0.01\n";

#[test]
fn dsa_30_digests_by_a_device_that_faults_are_those_of_the_cpu() {
    let plan = plan(FAULTS);
    let plan = plan.path().to_str().expect("is text");
    inside!(dsa_30_digests_by_a_device_that_faults_are_those_of_the_cpu, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let mut dice = Dice::new(soak::seed(1));
    let mut by_device = DigestQueue::new(&client, Path::Device, 32);
    let mut by_cpu = DigestQueue::new(&client, Path::Cpu, 1);
    let rounds = soak::amount(300, 1000);
    let mut right = Vec::new();
    let check = |ended: nvme_tcp::digests::PduDigests<usize>, right: &[(u32, u32)]| {
        assert_eq!((ended.header.crc, ended.data.crc), right[ended.tag]);
    };
    for round in 0..rounds {
        let header = dice.bytes(72);
        let data: Vec<Vec<u8>> = (0..1 + dice.below(4))
            .map(|_| {
                let most = 1 << dice.below(17);
                let bytes = dice.below(most + 1);
                dice.bytes(bytes)
            })
            .collect();
        let (header, data) = (CoveredBuffers::all(vec![header]), CoveredBuffers::all(data));
        by_cpu.begin(round, header.clone(), data.clone());
        let ended = by_cpu.wait().expect("was begun").expect("is computed");
        right.push((ended.header.crc, ended.data.crc));
        by_device.begin(round, header, data);
        while let Some(ended) = by_device.poll() {
            check(ended.expect("is computed"), &right);
        }
    }
    while let Some(ended) = by_device.wait() {
        check(ended.expect("is computed"), &right);
    }
    let statistics = client.statistics();
    assert!(statistics.by_device(Opcode::Crc).count > 4 * 200, "{statistics}");
    assert!(statistics.pages > 0, "faults are injected: {statistics}");
}

#[test]
fn dsa_30_what_a_device_seals_the_cpu_seals_the_same_and_finds_right() {
    let plan = plan(FAULTS);
    let plan = plan.path().to_str().expect("is text");
    inside!(dsa_30_what_a_device_seals_the_cpu_seals_the_same_and_finds_right, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let shape = ConnectionShape {
        digests: BOTH,
        pdus: 150,
        most_data_bytes: 1 << 17,
        is_padded: true,
        is_terminated: true,
    };
    let mut sealer = Sealer::new(&client, Path::Device, 64);
    let own = generate(&mut Dice::new(4).0, &shape, &mut sealer).expect("is sealed");
    assert_eq!(own, connection(4, BOTH, 150, 1 << 17));
    let (headers, data) = sealer.tallies();
    assert!(headers.device > 100 && data.device > 30, "{headers:?} {data:?}");

    for (client, path) in [(&client, Path::Device), (&without_devices(), Path::Automatic)] {
        let mut verifier = Verifier::new(client, path, 64);
        let mut reader = PduReader::new(1 << 20);
        for (_, sealed) in &own {
            let bytes = sealed.bytes();
            let Some(StreamItem::Pdu(pdu)) = reader.take(&mut bytes.as_slice()) else {
                panic!("{:?} is not found", sealed.header)
            };
            verifier.begin(sealed.header, *pdu);
        }
        let mut count = 0;
        while let Some(verdict) = verifier.wait() {
            let verdict = verdict.expect("is judged");
            let of = |is_there| if is_there { DigestCheck::Right } else { DigestCheck::Absent };
            assert_eq!(verdict.header, of(verdict.tag.has_header_digest()));
            assert_eq!(verdict.data, of(verdict.tag.has_data_digest()));
            count += 1;
        }
        assert_eq!(count, own.len());
    }
}

/// A digest under way keeps its memory: what is dropped before its end is waited for.
#[test]
fn digests_that_are_dropped_under_way_end_first() {
    inside!(digests_that_are_dropped_under_way_end_first);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    for _ in 0..20 {
        let mut digests = DigestQueue::new(&client, Path::Device, 8);
        for tag in 0..8 {
            digests.begin(
                tag,
                CoveredBuffers::default(),
                CoveredBuffers::all(vec![vec![7; 1 << 16]; 2]),
            );
        }
    }
    let statistics = client.statistics();
    assert_eq!(statistics.abandoned, 0, "{statistics}");
    assert!(client.portals().iter().all(|portal| portal.under_way() == 0));
}

/// Without a device that was asked for, the digest fails with the reason, and nothing is left under way.
#[test]
fn a_device_that_is_not_there_is_an_error_of_the_digest() {
    let mut digests = DigestQueue::new(&without_devices(), Path::Device, 2);
    for tag in 0..3 {
        digests.begin(
            tag,
            CoveredBuffers::all(vec![vec![1; 72]]),
            CoveredBuffers::all(vec![vec![2; 500]]),
        );
    }
    for _ in 0..3 {
        let error = digests.wait().expect("was begun").expect_err("has no device");
        assert!(error.to_string().contains("no work queue is open"), "{error}");
    }
    assert!(digests.wait().is_none());
}
