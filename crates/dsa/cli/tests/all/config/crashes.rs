//! Does a kill in the middle of a change, at any point, leave what brings back what was?

use super::{place, read};

#[test]
fn kills_at_any_point_are_made_good_by_reset() {
    let place = place();
    // A change has some 70 points: every second one in a soak, fewer in every run.
    let stride = soak::amount(6, 2);
    let script = format!(
        "show() {{ $dsa config show --format json; }}
        show > before; kills=0
        for point in $(seq 0 {stride} 500); do
          SKIPLINE_DSA_CRASH_AFTER=$point $dsa config apply two.json --apply > out 2>&1
          code=$?
          show > middle; cmp -s before middle || echo $point >> differed
          # A kill of the reset too, at another point, and then none.
          SKIPLINE_DSA_CRASH_AFTER=$((point % 17)) $dsa config reset > out 2>&1
          $dsa config reset > out || {{ echo \"reset after $point:\"; cat out; exit 1; }}
          show | cmp before - || {{ echo after $point; exit 1; }}
          [ $code = 137 ] || break
          kills=$((kills + 1))
        done 2>> messages
        echo $kills $code; ls $SKIPLINE_DSA_RUN/config"
    );
    let out = place.script(&["--quiet"], &script).with(0);
    let (kills, code) = out.trim().split_once(' ').expect("two numbers");
    // The last one came to its end; no journal is left.
    assert_eq!(code, "0", "{out}");
    let kills: usize = kills.parse().expect("a number");
    assert!(kills * stride > 50, "{out}");
    let differed = read(&place, "differed").lines().count();
    assert!(differed + 3 > kills, "{differed} of {kills}");
}

#[test]
fn a_kill_is_made_good_by_the_next_change_too_and_goes_back_to_the_first() {
    let place = place();
    let script = "show() { $dsa config show --format json; }
        show > before
        SKIPLINE_DSA_CRASH_AFTER=20 $dsa config apply two.json --apply; echo $?
        $dsa config apply two.json --apply > applied; echo $?
        $dsa config check two.json
        $dsa config reset > out; show | diff before -";
    let ended = place.script(&["--quiet"], script);
    let out = ended.with(0);
    assert_eq!(out, "137\n0\ntwo.json: the devices have it already.\n");
}
