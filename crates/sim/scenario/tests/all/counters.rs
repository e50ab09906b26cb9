//! Are the counters that stand for the CHA's events exactly what a trace of every line shows?

use model::counters::Counters;
use model::tracer::{Event, Found, LineOperation, Tracer};
use scenario::{RecordingRequest, job};
use std::ops::ControlFlow;
use units::{LineAddr, Picos};

/// Device requests by kind and outcome, from the trace alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traced {
    itom_hits: u64,
    itom_misses: u64,
    partial_hits: u64,
    partial_misses: u64,
    pcirdcur_hits: u64,
    pcirdcur_misses: u64,
}

impl Tracer for Traced {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        let in_llc = matches!(event.found, Found::LlcHit(_) | Found::MovedToLlc(_));
        *match event.operation {
            LineOperation::DmaWriteFull if in_llc => &mut self.itom_hits,
            LineOperation::DmaWriteFull => &mut self.itom_misses,
            LineOperation::DmaWritePartial if in_llc => &mut self.partial_hits,
            LineOperation::DmaWritePartial => &mut self.partial_misses,
            LineOperation::DmaRead if event.found.is_memory() => &mut self.pcirdcur_misses,
            LineOperation::DmaRead => &mut self.pcirdcur_hits,
            _ => return,
        } += 1;
    }

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}
    fn packet_leaves(&mut self, _first: LineAddr) {}
}

fn counted(counters: &Counters) -> Traced {
    Traced {
        itom_hits: counters.pcie_write_hits,
        itom_misses: counters.pcie_write_misses,
        partial_hits: counters.pcie_partial_write_hits,
        partial_misses: counters.pcie_partial_write_misses,
        pcirdcur_hits: counters.pcie_read_hits,
        pcirdcur_misses: counters.pcie_read_misses,
    }
}

#[test]
fn atc_28_the_counters_of_itom_and_pcirdcur_equal_the_traced_events() {
    for (ways, descriptors, socket) in [("2", "4096", "0"), ("0", "256", "0"), ("2", "1024", "1")] {
        let overrides: Vec<(String, String)> = [
            ("ddio_ways", ways),
            ("rx_descriptors", descriptors),
            ("nic_socket", socket),
            ("packet_bytes", "1000"),
            ("offered_gbps", "60"),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .to_vec();
        let job = job("experiments/ddio-bench/l2fwd.toml", &overrides, 5).expect("is valid");
        let mut machine = job.machine(Traced::default());
        // Counters forget what happened before time zero; the trace does not.
        let before = machine.fabric.tracer;
        machine.run(12_000, Picos::NEVER);
        let mut traced = machine.fabric.tracer;
        for (now, then) in [
            (&mut traced.itom_hits, before.itom_hits),
            (&mut traced.itom_misses, before.itom_misses),
            (&mut traced.partial_hits, before.partial_hits),
            (&mut traced.partial_misses, before.partial_misses),
            (&mut traced.pcirdcur_hits, before.pcirdcur_hits),
            (&mut traced.pcirdcur_misses, before.pcirdcur_misses),
        ] {
            *now -= then;
        }
        assert_eq!(traced, counted(machine.fabric.counters()), "{ways} ways, socket {socket}");
        assert!(traced.itom_hits + traced.itom_misses > 100_000, "{traced:?}");
        assert!(traced.pcirdcur_hits + traced.pcirdcur_misses > 100_000, "{traced:?}");
        assert!(traced.partial_hits + traced.partial_misses > 1_000, "{traced:?}");
    }
}

#[test]
fn instructions_are_null_where_software_knows_some_of_its_work_in_cycles_only() {
    let short = [("batch_packets", "1024"), ("min_batches", "10"), ("max_batches", "10")];
    let overrides = short.map(|(key, value)| (format!("run.{key}"), value.to_string()));
    let numbers = |scenario: &str| {
        let job = job(scenario, &overrides, 1).unwrap_or_else(|error| panic!("{error}"));
        let result =
            job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("runs");
        let json = serde_json::to_value(&result.metrics).expect("is JSON");
        (json["ipc"]["value"].clone(), json["instructions_per_s"]["value"]["core0"].clone())
    };
    let (ipc, per_s) = numbers("experiments/ddio-bench/l2fwd.toml");
    assert!(ipc.is_null() && per_s.is_null(), "{ipc} {per_s}");
    let (ipc, per_s) = numbers("experiments/blog/echo.toml");
    assert!(ipc.as_f64() > Some(0.5) && per_s.as_f64() > Some(1e9), "{ipc} {per_s}");
}
