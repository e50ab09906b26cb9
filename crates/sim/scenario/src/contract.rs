//! The floor below the rooms of kinds: the interfaces of a device's and an
//! application's room, the tenant as they see it, their input, plans, readings and metrics.

pub(crate) mod application;
pub(crate) mod application_cores;
pub(crate) mod arithmetic;
pub(crate) mod build;
pub(crate) mod device;
pub(crate) mod filling;
pub(crate) mod hardware;
pub(crate) mod inert;
pub(crate) mod input;
pub(crate) mod limit;
pub(crate) mod machine;
pub(crate) mod metric;
pub(crate) mod port;
pub(crate) mod sample;
pub(crate) mod tenant;
pub(crate) mod traffic;
