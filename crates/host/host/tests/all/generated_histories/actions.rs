//! What users and other programs do, drawn.

use host::tune::IoAllocRequest;
use proptest::prelude::*;

use super::others::ForeignWrite;

/// One control that a user asks for.
#[derive(Clone, Debug)]
pub enum Setting {
    Ways { ways: u32, socket: Option<u32>, keeps: bool },
    Mask { mask: Mask, socket: Option<u32>, keeps: bool },
    Switch { on: bool, port: Option<usize> },
    Cat { group: usize, mask: Mask, cache: Option<u32> },
    IoAlloc(IoRequest),
}

/// A mask that a user asks for: neighbouring ways of this machine, or any bits.
#[derive(Clone, Copy, Debug)]
pub enum Mask {
    Fitting { ways: u32, shift: u32 },
    Any(u64),
}

#[derive(Clone, Copy, Debug)]
pub enum IoRequest {
    On,
    Off,
    Mask(Mask),
}

impl Mask {
    /// The bits, on a machine with so many ways.
    pub fn value(self, of_ways: u32) -> u64 {
        match self {
            Self::Fitting { ways, shift } => {
                let ways = 1 + ways % of_ways;
                ((1 << ways) - 1) << (shift % (of_ways - ways + 1))
            }
            Self::Any(bits) => bits,
        }
    }
}

impl IoRequest {
    pub fn request(self, of_ways: u32) -> IoAllocRequest {
        match self {
            Self::On => IoAllocRequest::On,
            Self::Off => IoAllocRequest::Off,
            Self::Mask(mask) => IoAllocRequest::Mask(mask.value(of_ways)),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Action {
    Tune(Setting),
    /// `run` and `tune --for`: put back in the end, whatever happens.
    Held(Setting),
    /// Look-ups are counted through registers; meanwhile another program may write a box's control.
    Count {
        socket: u32,
        meanwhile: Option<u64>,
    },
    /// `tune --verify`: the new value, the old one, and the new one again.
    Measured(Setting),
    Restore,
    /// A boot: registers are reset, or with kexec only what the kernel has.
    Boot {
        is_kexec: bool,
    },
    /// Another program writes.
    ForeignWrite(ForeignWrite),
}

/// An action; the step at which the tool is killed, counted over all that it does; and whether another user
/// holds the lock of the groups meanwhile.
pub type Event = (Action, Option<usize>, bool);

fn setting() -> impl Strategy<Value = Setting> {
    let fitting = (0u32..20, 0u32..20).prop_map(|(ways, shift)| Mask::Fitting { ways, shift });
    let mask = || prop_oneof![6 => fitting.clone(), 1 => (0u64..1 << 21).prop_map(Mask::Any)];
    let request =
        prop_oneof![Just(IoRequest::On), Just(IoRequest::Off), mask().prop_map(IoRequest::Mask)];
    // A number of ways that few machines have, now and then; the second socket is seldom missing.
    let ways = prop_oneof![6 => 1u32..5, 1 => 5u32..21];
    let ways = (ways, prop::option::of(0u32..2), any::<bool>());
    let switch = (any::<bool>(), prop::option::of(0usize..6));
    prop_oneof![
        ways.prop_map(|(ways, socket, keeps)| Setting::Ways { ways, socket, keeps }),
        switch.prop_map(|(on, port)| Setting::Switch { on, port }),
        (mask(), prop::option::of(0u32..2), any::<bool>())
            .prop_map(|(mask, socket, keeps)| Setting::Mask { mask, socket, keeps }),
        (0usize..3, mask(), prop::option::of(0u32..3))
            .prop_map(|(group, mask, cache)| Setting::Cat { group, mask, cache }),
        request.prop_map(Setting::IoAlloc),
    ]
}

fn foreign() -> impl Strategy<Value = ForeignWrite> {
    prop_oneof![
        (0usize..6, any::<u32>()).prop_map(|(port, bits)| ForeignWrite::PortBits { port, bits }),
        (0usize..6).prop_map(|port| ForeignWrite::Switch { port }),
        (0u32..4, 1u64..1 << 20).prop_map(|(socket, mask)| ForeignWrite::Ways { socket, mask }),
        (0u32..4, any::<u32>())
            .prop_map(|(socket, bits)| ForeignWrite::BoxBits { socket, bits: bits.into() }),
        (0u32..4, any::<u32>())
            .prop_map(|(socket, value)| ForeignWrite::BoxFilter { socket, value }),
        (0usize..3, 0usize..4, 1u64..1 << 20).prop_map(|(group, cache, mask)| ForeignWrite::Mask {
            group,
            cache,
            mask
        }),
    ]
}

pub fn event() -> impl Strategy<Value = Event> {
    let meanwhile = prop::option::of(any::<u32>().prop_map(u64::from));
    let action = prop_oneof![
        6 => setting().prop_map(Action::Tune),
        3 => setting().prop_map(Action::Held),
        2 => (0u32..4, meanwhile).prop_map(|(socket, meanwhile)| Action::Count { socket, meanwhile }),
        2 => setting().prop_map(Action::Measured),
        2 => Just(Action::Restore),
        1 => any::<bool>().prop_map(|is_kexec| Action::Boot { is_kexec }),
        2 => foreign().prop_map(Action::ForeignWrite),
    ];
    (action, prop::option::weighted(0.25, 0usize..20), prop::bool::weighted(0.15))
}
