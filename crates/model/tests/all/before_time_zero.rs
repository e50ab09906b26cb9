//! Accesses before time zero: what do they leave in the caches, and what in memory?

use crate::small_fabric;
use model::fabric::Fabric;
use model::tracer::NoTrace;
use proptest::prelude::*;
use units::{CoreId, LineAddr, Picos};

const CORE: CoreId = CoreId(0);
const FAR: LineAddr = LineAddr(1 << 16);

fn fabric() -> Fabric {
    Fabric::new(&small_fabric::config(), NoTrace)
}

fn write_all(fabric: &mut Fabric, lines: &[u64]) {
    for &line in lines {
        fabric.core_write(CORE, LineAddr(line), Picos::ZERO);
    }
}

proptest! {
    #[test]
    fn they_fill_the_caches_as_any_access_and_keep_memory_idle(
        lines in prop::collection::vec(0..4_000_u64, 1..3_000),
    ) {
        let mut timed = fabric();
        write_all(&mut timed, &lines);
        let mut untimed = fabric();
        untimed.before_time_zero(|fabric| write_all(fabric, &lines));
        prop_assert_eq!(untimed.memory().lines_moved(), (0, 0));
        // A memory that had served them would be busy still.
        let idle = fabric().core_read(CORE, FAR, Picos::ZERO);
        prop_assert_eq!(untimed.clone().core_read(CORE, FAR, Picos::ZERO), idle);
        prop_assert_eq!(untimed.llc_occupancy_bytes(), timed.llc_occupancy_bytes());
        prop_assert_eq!(untimed.check_invariants(), Ok(()));
        let later = Picos(1_000_000_000);
        timed.start_clock();
        untimed.start_clock();
        for &line in &lines {
            let (at, line) = (later, LineAddr(line));
            let found = untimed.core_read(CORE, line, at).found;
            prop_assert_eq!(found, timed.core_read(CORE, line, at).found);
        }
    }
}
