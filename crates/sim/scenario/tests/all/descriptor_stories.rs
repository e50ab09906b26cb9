//! The story of a descriptor: does it have every phase in order, every line once, and the agents that moved them?

use crate::job_of;
use scenario::result::DescriptorTrace;
use scenario::{Job, RecordingRequest};
use std::ops::ControlFlow;

const SHORT: &str = "application = \"offload\"\nrun.batch_packets = 256\nrun.min_batches = 10\n\
    run.max_batches = 10\noffload.depth = 4\n";

fn job(platform: &str, keys: &str) -> Job {
    let text = format!("platform = \"{platform}\"\n{SHORT}{keys}");
    job_of(&text, 3).unwrap_or_else(|error| panic!("{error}"))
}

fn story(platform: &str, keys: &str, number: u64) -> Option<DescriptorTrace> {
    let wanted = RecordingRequest { descriptor: Some(number), ..RecordingRequest::default() };
    let run = job(platform, keys).run(wanted, |_| ControlFlow::Continue(()));
    run.expect("it ends").descriptor_trace
}

fn phases(story: &DescriptorTrace) -> Vec<&str> {
    story.phases.iter().map(|phase| phase.phase.as_str()).collect()
}

/// Lines of a part that an agent has read or written by DMA.
fn lines(story: &DescriptorTrace, agent: &str, operation: &str, part: &str) -> Vec<u64> {
    let events = story.events.iter().filter(|event| {
        event.agent == agent
            && event.operation.starts_with(operation)
            && event.part.as_deref() == Some(part)
    });
    events.map(|event| event.line).collect()
}

fn assert_in_order(story: &DescriptorTrace) {
    let mut before = story.begun_ns;
    for phase in &story.phases {
        assert!(phase.until_ns >= before, "{:?}", story.phases);
        assert!((phase.until_ns - before - phase.took_ns).abs() < 1e-6, "{phase:?}");
        before = phase.until_ns;
    }
    assert!(story.events.is_sorted_by_key(|event| event.time_ns.to_bits()));
    assert!(story.events.iter().all(|event| event.part.is_some()));
}

const SPR: &str = "sapphire-rapids-56";

#[test]
fn a_copy_passes_every_phase_and_each_line_is_read_and_written_once() {
    let story = story(SPR, "offload.transfer_bytes = 4096\n", 300).expect("it was prepared");
    assert_eq!(
        phases(&story),
        [
            "prepared",
            "submitted",
            "seen",
            "dispatched",
            "translated",
            "started",
            "read",
            "written",
            "recorded",
            "reaped"
        ]
    );
    assert_in_order(&story);
    let all: Vec<u64> = (0..64).collect();
    assert_eq!(lines(&story, "dsa0", "DMA read", "source"), all);
    assert_eq!(lines(&story, "dsa0", "DMA write", "destination"), all);
    assert_eq!(lines(&story, "dsa0", "DMA write", "record"), [0]);
    assert_eq!(lines(&story, "core0", "store", "descriptor"), [0]);
    assert_eq!(lines(&story, "core0", "load", "record"), [0]);
    assert_eq!(story.left_out, 0);
}

#[test]
fn a_batch_has_its_list_and_the_operands_of_all_its_members() {
    let keys = "offload.transfer_bytes = 256\noffload.batch = 5\n";
    let story = story(SPR, keys, 20).expect("it was prepared");
    assert_in_order(&story);
    assert_eq!(lines(&story, "dsa0", "DMA read", "list"), [0, 1, 2, 3, 4]);
    assert_eq!(lines(&story, "core0", "store", "list"), [0, 1, 2, 3, 4]);
    assert_eq!(lines(&story, "dsa0", "DMA read", "source").len(), 5 * 4);
    assert_eq!(lines(&story, "dsa0", "DMA write", "destination").len(), 5 * 4);
}

#[test]
fn the_story_of_a_channel_has_its_ring_entry_and_status_line() {
    let keys = "offload.by = \"cbdma\"\noffload.transfer_bytes = 1024\n";
    let story = story("ice-lake-40", keys, 300).expect("it was prepared");
    // Physical addresses are not translated.
    assert_eq!(
        phases(&story),
        [
            "prepared",
            "submitted",
            "seen",
            "dispatched",
            "started",
            "read",
            "written",
            "recorded",
            "reaped"
        ]
    );
    assert_in_order(&story);
    assert_eq!(lines(&story, "cbdma0", "DMA read", "descriptor"), [0]);
    assert_eq!(lines(&story, "cbdma0", "DMA read", "source"), (0..16).collect::<Vec<_>>());
    assert_eq!(lines(&story, "cbdma0", "DMA write", "destination").len(), 16);
    // The status line belongs to all descriptors of the channel.
    assert!(lines(&story, "cbdma0", "DMA write", "record").contains(&0));
}

#[test]
fn a_fill_reads_no_data_and_a_compare_writes_none() {
    let fill = story(SPR, "offload.operation = \"fill\"\n", 50).expect("it was prepared");
    assert!(!phases(&fill).contains(&"read") && phases(&fill).contains(&"written"));
    assert!(lines(&fill, "dsa0", "DMA read", "source").is_empty());
    let compare = story(SPR, "offload.operation = \"compare\"\n", 50).expect("it was prepared");
    assert!(phases(&compare).contains(&"read") && !phases(&compare).contains(&"written"));
}

#[test]
fn victims_of_a_copy_are_named_with_their_owners() {
    let keys = "offload.transfer_bytes = 65536\nddio_ways = 1\noffload.buffers = 512\n\
        page_size = \"2M\"\ncores = 2\ndsa.queues = 2\n\
        offload.data = \"flushed\"\nhardware.llc.sets_per_slice = 64\n";
    let story = story(SPR, keys, 1_500).expect("it was prepared");
    let owners: Vec<&str> = story
        .events
        .iter()
        .filter_map(|event| Some(event.evicted.as_ref()?.owner.as_str()))
        .collect();
    assert!(owners.contains(&"dsa0"), "{owners:?}");
}

#[test]
fn a_descriptor_that_was_never_prepared_has_no_story() {
    assert_eq!(story(SPR, "", 1 << 40), None);
}
