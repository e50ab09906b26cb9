//! Selects the socket whose slices are examined, and checks whether a published slice function can be
//! that socket's: slice numbers belong to a socket.

use super::counters::{CountersError, SliceMachine};
use crate::cpu::{CpuId, CpuSocket, PackageId, format_list};
use crate::machine::Host;
use crate::numa::nodes_of_socket;

/// Selects the socket of a processor, or the one with a number; without either, the first.
pub(super) fn select_socket(
    all: Vec<CpuSocket>,
    cpu: Option<CpuId>,
    id: Option<PackageId>,
) -> Result<CpuSocket, CountersError> {
    let bad = |message| Err(CountersError::BadRequest(message));
    let with_cpu = |socket: &&CpuSocket| cpu.is_none_or(|cpu| socket.cpus.contains(&cpu));
    let Some(home) = all.iter().find(with_cpu) else {
        let online: Vec<CpuId> = all.iter().flat_map(|socket| socket.cpus.clone()).collect();
        let (asked, online) = (cpu.unwrap_or_default(), format_list(&online));
        return bad(format!("--cpu {asked}: processor not found; online are {online}"));
    };
    let Some(id) = id else { return Ok(home.clone()) };
    if let Some(cpu) = cpu.filter(|_| home.id != id) {
        let home = home.id;
        return bad(format!(
            "--cpu {cpu}: is in socket {home}, not {id}: slice numbers belong to a socket"
        ));
    }
    let known: Vec<u32> = all.iter().map(|socket| socket.id.0).collect();
    all.into_iter().find(|socket| socket.id == id).ok_or_else(|| {
        let known = format_list(&known);
        CountersError::BadRequest(format!(
            "--socket {id}: socket not found; this machine has {known}"
        ))
    })
}

impl SliceMachine {
    /// Checks that a slice function that was published for the CPU model can be that of this socket.
    ///
    /// # Errors
    /// The reason why not: no function is published for virtual machines, other CPUs and sub-NUMA
    /// clustering.
    pub fn check_published_function(&self, host: &Host) -> Result<(), String> {
        let name = &self.model.name;
        if self.model.virtual_machine {
            return Err("in a virtual machine physical addresses are the guest's".into());
        }
        if let Some(known) = &self.generation
            && !known.names_server(&self.model)
        {
            return Err(format!("\"{name}\" is not a server of {}", known.name));
        }
        let caches = self.socket.caches.len();
        if caches > 1 {
            return Err(format!("a socket of this CPU has {caches} last-level caches"));
        }
        match nodes_of_socket(&host.root, &self.socket).len() {
            0 | 1 => Ok(()),
            nodes => Err(format!(
                "socket {} has {nodes} NUMA nodes: sub-NUMA clustering changes the function",
                self.socket.id
            )),
        }
    }
}
