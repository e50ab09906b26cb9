//! The interface between the rooms of devices and all that is above them.

use crate::contract::input::{Defaults, TenantInput};
use crate::contract::limit::Limit;
use crate::contract::metric::{Metric, Subject};
use crate::contract::port::{DevicePlace, GeneratorWait};
use crate::contract::sample::DeviceReading;
use crate::contract::tenant::{TenantMut, TenantRef};
use crate::text::error::InputError;
use facts::Kind;
use hdrhistogram::Histogram;
use model::device::DeviceId;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::fmt::Debug;
use units::Picos;

/// A kind that the list of kinds has: the list implements it, so that no room is forgotten there.
pub(crate) trait ListedDevice {
    /// The position of the kind in the list.
    const POSITION: usize;
}

/// The interface of the room of a kind of device: a value is a device with all of its configuration
/// resolved, before the number of its root port is known.
pub(crate) trait DeviceModule: ListedDevice + Clone + Debug + 'static {
    /// The key by which a scenario names a device of this kind, the table of its facts, and the prefix of
    /// its names in results.
    const KEY: &'static str;
    /// The kind of file that describes its devices, if any.
    const FILES: Option<Kind> = None;
    /// Whether the platform's file describes the device if a tenant names none.
    const IS_PART_OF_PLATFORM: bool = false;
    /// Whether a card of this kind may have several ports, each a device.
    const HAS_PORTS: bool = false;
    /// Whether it moves data within memory, and has its own stop on the mesh.
    const IS_COPY_ENGINE: bool = false;
    /// Its metrics.
    const METRICS: &'static [Metric<Self::Subject>];

    /// The device of the machine.
    type Device;
    /// The reading of a device of this kind.
    type Reading: DeviceReading;
    /// The subject of its metrics.
    type Subject: Subject + 'static;

    /// The subject of the metrics of a tenant's devices of this kind: at least one.
    fn subject(ids: &[DeviceId]) -> Self::Subject;

    /// The device of this kind that a tenant names.
    fn named(_tenant: TenantRef<'_>) -> Option<&String> {
        None
    }

    /// Records the defaults by platform and device of keys that the tenant does not state.
    fn fill_in(_tenant: &mut TenantMut<'_>, _defaults: &Defaults<'_>) {}

    /// Checks the keys of its table for any application.
    ///
    /// # Errors
    /// Names the first value that is out of range.
    fn check(_input: &TenantInput<'_>) -> Result<(), InputError> {
        Ok(())
    }

    /// The device, at its place in the machine.
    fn build(&self, place: &DevicePlace) -> Self::Device;

    /// Reads a device.
    fn read<T: Tracer>(device: &Self::Device, fabric: &Fabric<T>, now: Picos) -> Self::Reading;

    /// The limits of the device itself, beside its link, and how much of each it used.
    fn limits(&self, _counted: &Self::Reading) -> Vec<Limit> {
        Vec::new()
    }

    /// A note on its input for the reader of a result.
    fn note(&self) -> Option<String> {
        None
    }

    /// Packets after which the run ends, if its source has such a number.
    fn packets_to_replay(&self) -> Option<u64> {
        None
    }

    /// The time that a packet spends in its generator, behind the stamp from which the generator measures.
    fn generator_wait(&self) -> Option<GeneratorWait> {
        None
    }

    /// Packets that have arrived at a device, if it has a wire.
    fn packets_offered(_device: &Self::Device) -> Option<u64> {
        None
    }

    /// Latencies since the last call of a device's packets, or of requests that several of them answer,
    /// if it measures them.
    fn take_latencies(_device: &mut Self::Device) -> Option<Histogram<u64>> {
        None
    }

    /// Latencies since the last call, as the client at the other end of the wire measured them.
    fn take_one_way_latencies(_device: &mut Self::Device) -> Option<Histogram<u64>> {
        None
    }
}
