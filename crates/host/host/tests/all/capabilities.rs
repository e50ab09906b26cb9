//! Is it known which part of configuration space belongs to a capability?

use std::fs;
use std::path::Path;

use crate::machines::expanded;

use host::Host;
use host::pci::capability_at;
use host::pci_address::Bdf;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tempfile::TempDir;

const PORT: &str = "0000:16:00.0";
const VENDOR_SPECIFIC: u32 = 0x0b;
const POWER_BUDGETING: u32 = 0x04;

/// A capability by its first 4-byte register after 0x100, and its length where its header tells it.
#[derive(Clone, Copy, Debug)]
struct DescribedCapability {
    register: u16,
    bytes: Option<u16>,
}

/// A list in any order of capabilities that do not overlap.
fn chain() -> impl Strategy<Value = Vec<DescribedCapability>> {
    let one = (2u16..64, 2u16..16, any::<bool>());
    prop::collection::vec(one, 1..12).prop_flat_map(|parts| {
        let mut register = 0;
        let mut chain = Vec::new();
        for (gap, words, told) in parts {
            chain.push(DescribedCapability { register, bytes: told.then_some(4 * words) });
            register += words + gap;
        }
        // The first has to be at 0x100; the others may be linked in any order.
        let rest = Just(chain[1..].to_vec()).prop_shuffle();
        (Just(chain[0]), rest).prop_map(|(first, rest)| [vec![first], rest].concat())
    })
}

fn machine() -> (TempDir, std::path::PathBuf) {
    let directory = expanded("skylake", &[]);
    let config = directory.path().join("sys/bus/pci/devices").join(PORT).join("config");
    (directory, config)
}

fn at(register: u16) -> u16 {
    0x100 + 4 * register
}

/// Writes the list, and makes the rest of extended configuration space zero.
fn write(config: &Path, chain: &[DescribedCapability]) {
    let mut space = fs::read(config).expect("configuration space");
    space[0x100..].fill(0);
    let mut put = |offset: u16, word: u32| {
        let offset = usize::from(offset);
        space[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    };
    for (index, one) in chain.iter().enumerate() {
        let next = chain.get(index + 1).map_or(0, |next| u32::from(at(next.register)));
        let id = if one.bytes.is_some() { VENDOR_SPECIFIC } else { POWER_BUDGETING };
        put(at(one.register), id | 1 << 16 | next << 20);
        if let Some(bytes) = one.bytes {
            put(at(one.register) + 4, u32::from(bytes) << 20);
        }
    }
    fs::write(config, space).expect("configuration space");
}

/// The capability that an offset is in, searched the slow way.
fn expected(chain: &[DescribedCapability], offset: u16) -> Option<u16> {
    let before = chain.iter().filter(|one| at(one.register) <= offset);
    let nearest = before.max_by_key(|one| one.register)?;
    let begin = at(nearest.register);
    // Where no length is told, it reaches to the next one.
    let inside = nearest.bytes.is_none_or(|bytes| offset < begin + bytes);
    inside.then_some(begin)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::amount(50, 300),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(25)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_register_is_told_to_be_in_the_capability_that_the_list_puts_there(chain in chain()) {
        let (directory, config) = machine();
        write(&config, &chain);
        let host = Host::from_tree(directory.path()).expect("the machine");
        let port: Bdf = PORT.parse().expect("an address");
        for offset in (0x100..0x1000).step_by(4) {
            let found = capability_at(host.config.as_ref(), port, offset).expect("the lists");
            prop_assert_eq!(found.map(|found| found.offset), expected(&chain, offset), "{:#x}", offset);
        }
    }
}

#[test]
fn a_list_that_is_a_loop_is_said_to_be_one() {
    let (directory, config) = machine();
    let mut space = fs::read(&config).expect("configuration space");
    space[0x148..0x14c].copy_from_slice(&0x1001_0001u32.to_le_bytes());
    fs::write(&config, space).expect("configuration space");
    let host = Host::from_tree(directory.path()).expect("the machine");
    let found = capability_at(host.config.as_ref(), PORT.parse().expect("an address"), 0x180);
    let error = found.expect_err("a loop").to_string();
    assert!(error.ends_with("is a loop of links"), "{error}");
}
