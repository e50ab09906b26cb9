//! Root ports with the devices behind them, before the layout numbers them.

use crate::contract::device::DeviceModule;
use crate::contract::limit::Limit;
use crate::contract::sample::DeviceSample;
use crate::contract::traffic::Traffic;
use controllers::ThresholdConfig;
use model::device::Device;
use model::fabric::PortConfig;
use std::fmt::Debug;
use std::rc::Rc;
use units::{Picos, RootPortId};

/// Time between a packet's stamp in its generator and its arrival at the server's card, and between its
/// departure and its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GeneratorWait {
    /// The generator's own queue.
    pub queue: Picos,
    /// All other time outside of this server.
    pub path: Picos,
    /// Packets that are stamped together wait for one another: evenly from none of it to all.
    pub batch: Picos,
}

impl GeneratorWait {
    /// The time of every packet.
    pub(crate) fn always(self) -> Picos {
        self.queue + self.path
    }
}

/// A root port and the devices behind it.
#[derive(Clone, Debug)]
pub(crate) struct PortPlan {
    /// The port and its link.
    pub config: PortConfig,
    /// The controller of its DDIO ways, if there is one.
    pub controller: Option<WaysController>,
    /// The devices that share it.
    pub devices: Vec<Rc<dyn DevicePlan>>,
}

/// A controller of the DDIO ways of one root port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaysController {
    /// Rule by which the controller changes the ways.
    pub threshold: ThresholdConfig,
    /// Time between two readings of the counters.
    pub period: Picos,
    /// Number of DDIO ways at the start.
    pub io_ways: u32,
}

/// The place of a device in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DevicePlace {
    /// Number of the device among those of its kind.
    pub number: usize,
    /// Root port of the device.
    pub port: RootPortId,
}

/// A device of any kind, fully resolved.
pub(crate) trait DevicePlan: Debug {
    /// The position of its kind in the list of kinds.
    fn kind(&self) -> usize;

    /// The device, at its place in the machine.
    fn build(&self, place: &DevicePlace) -> Device<Traffic>;

    /// A note on its input for the reader of a result.
    fn note(&self) -> Option<String>;

    /// The limits of the device itself, beside its link, and how much of each it used.
    fn limits(&self, counted: &DeviceSample) -> Vec<Limit>;

    /// Packets after which the run ends, if its source has such a number.
    fn packets_to_replay(&self) -> Option<u64>;

    /// The time that a packet spends in its generator, behind the stamp from which the generator measures.
    fn generator_wait(&self) -> Option<GeneratorWait>;
}

impl<M: DeviceModule> DevicePlan for M
where
    Device<Traffic>: From<M::Device>,
{
    fn kind(&self) -> usize {
        M::POSITION
    }

    fn build(&self, place: &DevicePlace) -> Device<Traffic> {
        Device::from(DeviceModule::build(self, place))
    }

    fn note(&self) -> Option<String> {
        DeviceModule::note(self)
    }

    fn limits(&self, counted: &DeviceSample) -> Vec<Limit> {
        DeviceModule::limits(self, counted.reading())
    }

    fn packets_to_replay(&self) -> Option<u64> {
        DeviceModule::packets_to_replay(self)
    }

    fn generator_wait(&self) -> Option<GeneratorWait> {
        DeviceModule::generator_wait(self)
    }
}
