//! Programs that share a queue, one of which is killed.

use crate::runs::Place;

#[test]
fn three_programs_lose_nothing_when_the_fourth_is_killed() {
    let count = soak::amount("20000", "1000000");
    let seed = soak::seed(4).to_string();
    let out = Place::new().client(&[], &["four", "wq0.1", count, &seed]).with(0);
    assert_eq!(out, "done\ndone\ndone\n");
}
