//! A run under way: with the records that were requested, or without any and faster.

use super::advance::BatchRun;
use super::{EndedRun, RecordingRequest, RunFailure, Simulation, Watcher};
use crate::run::result::{RunResult, StoppedBy};
use model::root_complex::ddio::Ddio;
use model::tracer::{NoTrace, Tracer, Watch};
use units::{Id, RootPortId, SocketId};

/// A run under way.
pub(crate) struct SimulationRun {
    machine: RunningMachine,
    wanted: RecordingRequest,
}

/// The machine of a run, compiled for each kind of tracer.
enum RunningMachine {
    Plain(Box<BatchRun<NoTrace>>),
    Watched(Box<BatchRun<Watch>>),
}

/// Lines in the LLCs of the sockets at one moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LlcContent {
    /// Names of the agents.
    pub agents: Vec<String>,
    /// For each device, in the order of its agents: the ways in which its writes may allocate now.
    pub io_way_masks: Vec<u32>,
    /// Lines that a way has room for.
    pub lines_of_way: u64,
    /// For each socket, way and agent: lines that no agent has used since that one wrote them, and others.
    pub sockets: Vec<Vec<Vec<[u64; 2]>>>,
}

impl Simulation {
    /// The run at time zero.
    pub(crate) fn start(&self, wanted: RecordingRequest) -> SimulationRun {
        let machine = if wanted == RecordingRequest::default() {
            RunningMachine::Plain(Box::new(self.begin(self.machine(NoTrace))))
        } else {
            RunningMachine::Watched(Box::new(self.begin(self.machine(self.tracer(wanted)))))
        };
        SimulationRun { machine, wanted }
    }

    /// Runs to the end of the batch under way; returns why the run ends with it, if it does. If `watch` stops
    /// the run, a further call goes on where it was.
    ///
    /// # Errors
    /// If `watch` stopped the run, or it makes no progress.
    pub(crate) fn advance(
        &self,
        run: &mut SimulationRun,
        watch: Watcher<'_>,
    ) -> Result<Option<StoppedBy>, RunFailure> {
        match &mut run.machine {
            RunningMachine::Plain(run) => self.next_batch(run, watch),
            RunningMachine::Watched(run) => self.next_batch(run, watch),
        }
    }

    /// The result of the batches so far, of which there is at least one.
    pub(crate) fn result(
        &self,
        run: &SimulationRun,
        stopped_by: StoppedBy,
        wall_s: f64,
    ) -> RunResult {
        match &run.machine {
            RunningMachine::Plain(run) => {
                let ended = EndedRun { batches: &run.batches, stopped_by, wall_s };
                self.summarize(&run.machine, &ended)
            }
            RunningMachine::Watched(watched) => {
                let ended = EndedRun { batches: &watched.batches, stopped_by, wall_s };
                let mut result = self.summarize(&watched.machine, &ended);
                self.add_records(&mut result, &watched.machine, run.wanted);
                result
            }
        }
    }
}

impl SimulationRun {
    /// Number of batches that have ended.
    pub(crate) fn batches(&self) -> usize {
        match &self.machine {
            RunningMachine::Plain(run) => run.batches.len(),
            RunningMachine::Watched(run) => run.batches.len(),
        }
    }

    /// The content of the LLCs; `agents` are the names of the agents.
    pub(crate) fn llc_content(&self, agents: Vec<String>) -> LlcContent {
        match &self.machine {
            RunningMachine::Plain(run) => run.llc_content(agents),
            RunningMachine::Watched(run) => run.llc_content(agents),
        }
    }
}

impl<T: Tracer> BatchRun<T> {
    fn llc_content(&self, agents: Vec<String>) -> LlcContent {
        let fabric = &self.machine.fabric;
        let ports = (0..fabric.agents() - self.machine.software.len()).map(RootPortId::at);
        let mask = |port| match fabric.root_port(port).policy().payload {
            Ddio::Off => 0,
            Ddio::Ways(mask) => mask.0,
        };
        LlcContent {
            agents,
            io_way_masks: ports.map(mask).collect(),
            lines_of_way: fabric.llc(SocketId::at(0)).sets(),
            sockets: fabric.socket_ids().map(|socket| fabric.lines_of_ways(socket)).collect(),
        }
    }
}
