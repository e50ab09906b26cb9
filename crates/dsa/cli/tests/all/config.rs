//! `skipline-dsa config`: on the devices of a run, judged by accel-config; on trees as kernels show them.

mod crashes;
mod generated;
mod refusals;
mod round_trips;
mod trees;

use crate::runs::Place;

/// A file of accel-config with a shared queue and a dedicated one, both on.
const TWO_QUEUES: &str = r#"[{"dev":"dsa0","read_buffer_limit":60,"groups":[
  {"dev":"group0.0","read_buffers_reserved":8,"read_buffers_allowed":40,"use_read_buffer_limit":1,
   "grouped_workqueues":[
    {"dev":"wq0.2","mode":"shared","size":32,"group_id":0,"threshold":20,"priority":5,"type":"user",
     "name":"all","driver_name":"user","block_on_fault":1,"max_batch_size":64,
     "max_transfer_size":1048576}],
   "grouped_engines":[{"dev":"engine0.0","group_id":0},{"dev":"engine0.1","group_id":0}]},
  {"dev":"group0.3","read_buffers_reserved":0,"read_buffers_allowed":48,"grouped_workqueues":[
    {"dev":"wq0.5","mode":"dedicated","size":16,"group_id":3,"priority":10,"type":"user","name":"own",
     "driver_name":"user","threshold":0}],
   "grouped_engines":[{"dev":"engine0.2","group_id":3}]}]}]"#;

/// A place with that file.
fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("two.json"), TWO_QUEUES).expect("is written");
    place
}

fn read(place: &Place, name: &str) -> String {
    let path = place.path().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
