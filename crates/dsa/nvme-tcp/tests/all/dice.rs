//! Random numbers, and connections at random.

use dsa_client::client::{OffloadClient, Options, Path};
use nvme_tcp::conversation::{ConnectionShape, SentPdu, generate};
use nvme_tcp::negotiation::EnabledDigests;
use nvme_tcp::seal::Sealer;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub struct Dice(pub Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_u64() % bound.max(1) as u64).expect("fits")
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

/// A client without any device.
pub fn without_devices() -> OffloadClient {
    let nowhere = std::path::PathBuf::from("/nonexistent");
    OffloadClient::open(&Options { sysfs: nowhere, ..Options::default() }).expect("is opened")
}

pub const BOTH: EnabledDigests = EnabledDigests { header: true, data: true };

/// A connection, sealed by the CPU.
pub fn connection(
    seed: u64,
    digests: EnabledDigests,
    pdus: usize,
    most_data_bytes: u32,
) -> Vec<SentPdu> {
    let mut sealer = Sealer::new(&without_devices(), Path::Cpu, 8);
    let is_terminated = seed.is_multiple_of(2);
    let shape = ConnectionShape { digests, pdus, most_data_bytes, is_padded: true, is_terminated };
    generate(&mut Dice::new(seed).0, &shape, &mut sealer).expect("is sealed")
}
