//! The function that others have published for this CPU.

use ::slices::TableFile;
use ::slices::published::{CpuIdentity, Published, of_cpu};

use super::oracle::Asked;
use crate::Context;

/// What is published for a socket.
pub enum Known {
    /// This function, and the table of it for this machine.
    Function(&'static Published, Box<TableFile>),
    /// One is published for the CPU and its slices, and this keeps it from being that of the socket.
    NotHere(&'static Published, String),
    /// Nothing.
    Nothing,
}

impl Known {
    pub fn of(asked: &Asked<'_>, context: &Context) -> Self {
        let machine = &asked.machine;
        let model = &machine.model;
        let (vendor, family) = (model.vendor.as_str(), model.family);
        let cpu = CpuIdentity { vendor, family, model: model.model, stepping: model.stepping };
        match asked.slices().and_then(|slices| of_cpu(cpu, slices)) {
            None => Self::Nothing,
            Some(published) => match machine.check_published_function(&context.host) {
                Ok(()) => Self::Function(published, table(published, &model.name)),
                Err(reason) => Self::NotHere(published, reason),
            },
        }
    }
}

/// Readers of the table compare its part with the machine's.
fn table(published: &Published, part: &str) -> Box<TableFile> {
    let mut file = Box::new(published.file());
    let (version, name) = (env!("CARGO_PKG_VERSION"), published.name);
    let of = format!("{}: {}", file.table.part, file.table.source);
    file.table.source = format!(
        "skipline-host {version} slices map: published as {name}, not recovered here; {of}"
    );
    file.table.part = part.into();
    file
}
