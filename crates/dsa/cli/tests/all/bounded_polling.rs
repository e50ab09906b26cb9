//! Programs that look at a record a bounded number of times, as Intel's guide does, and give up.

use crate::runs::Place;

const BOUNDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/bounded.c");
/// A queue that takes batches of 1,024.
const DEVICES: &str = r#"[{"dev":"dsa0","groups":[{"dev":"group0.0","grouped_workqueues":[{"dev":"wq0.0",
"mode":"shared","size":128,"group_id":0,"priority":10,"block_on_fault":0,"max_batch_size":1024,
"max_transfer_size":2097152,"type":"user","driver_name":"user","name":"q","threshold":128}],
"grouped_engines":[{"dev":"engine0.0","group_id":0},{"dev":"engine0.1","group_id":0}]}]}]"#;

#[test]
fn a_bounded_number_of_looks_is_enough() {
    let place = Place::new();
    place.compile(&["-O1", BOUNDED, "-o", "bounded"]);
    std::fs::write(place.path().join("devices.json"), DEVICES).expect("is written");
    let turns = soak::amount("100", "3000");
    let options = ["--quiet", "--config", "devices.json"];
    let recording = ["--quiet", "--config", "devices.json", "--record", "log.jsonl"];
    for (bytes, members, looks) in
        [("4096", "0", "10000"), ("4096", "128", "12800"), ("8", "1024", "10000")]
    {
        for options in [&options[..], &recording] {
            let words =
                ["taskset", "-c", "0", "./bounded", "/dev/dsa/wq0.0", bytes, members, turns, looks];
            // One CPU, and all of them.
            for words in [&words[..], &words[3..]] {
                let said = place.run(options, words).with(0);
                assert_eq!(said, "gave up 0, wrong 0\n", "{options:?} {words:?}");
            }
        }
    }
}
