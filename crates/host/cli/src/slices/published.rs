//! The slice function that is published for this CPU.

use ::slices::TableFile;
use ::slices::published::{CpuIdentity, Published, find_for_cpu};

use super::oracle::SocketOracle;
use crate::HostContext;

/// The result of a search for a published function.
pub enum PublishedFunction {
    /// The function, and its table for this machine.
    Found(&'static Published, Box<TableFile>),
    /// A function for the CPU model and its number of slices, and the reason why it does not hold for the
    /// socket.
    NotUsable(&'static Published, String),
    /// No function is published for the CPU model and its number of slices.
    NotFound,
}

impl PublishedFunction {
    /// Finds the function by the CPU model and the number of slices of the socket.
    pub fn for_socket(socket: &SocketOracle<'_>, context: &HostContext) -> Self {
        let machine = &socket.machine;
        let model = &machine.model;
        let (vendor, family) = (model.vendor.as_str(), model.family);
        let cpu = CpuIdentity { vendor, family, model: model.model, stepping: model.stepping };
        match socket.slices().and_then(|slices| find_for_cpu(cpu, slices)) {
            None => Self::NotFound,
            Some(published) => match machine.check_published_function(&context.host) {
                Ok(()) => Self::Found(published, table(published, &model.name)),
                Err(reason) => Self::NotUsable(published, reason),
            },
        }
    }
}

/// The published table with the CPU model of this machine: readers of the table compare it with theirs.
fn table(published: &Published, part: &str) -> Box<TableFile> {
    let mut file = Box::new(published.file());
    let (version, name) = (env!("CARGO_PKG_VERSION"), published.name);
    let origin = format!("{}: {}", file.table.part, file.table.source);
    file.table.source = format!(
        "skipline-host {version} slices map: published as {name}, not recovered here; {origin}"
    );
    file.table.part = part.into();
    file
}
