//! Any configuration, right or wrong: is each refusal foretold, and is what is applied what is shown?

use super::read;
use crate::runs::Place;
use std::fmt::Write;

/// A generator of Marsaglia's kind: the files are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).expect("below a usize")
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// A value that is allowed, or seldom one that is not.
    fn value<'a>(&mut self, allowed: &[&'a str], wrong: &[&'a str]) -> &'a str {
        if self.below(40) == 0 { self.of(wrong) } else { self.of(allowed) }
    }

    fn queue(&mut self, number: usize, group: usize) -> String {
        let mode = self.of(&["shared", "dedicated"]);
        let size = self.value(&["4", "8", "16"], &["0", "129"]);
        let threshold = match mode {
            "shared" => self.value(&["1", "2", "4"], &["17", "0"]),
            _ => "0",
        };
        let (priority, name) =
            (self.value(&["1", "7", "15"], &["0", "16"]), self.of(&["a", "app b"]));
        let transfer = self.value(&["4096", "2147483648"], &["0", "4294967296"]);
        let batch = self.value(&["1", "32", "1024"], &["2048", "0"]);
        let (block, ats) = (self.of(&["0", "1"]), self.of(&["0", "1"]));
        format!(
            r#"{{"dev":"wq0.{number}","mode":"{mode}","size":{size},"group_id":{group},
            "priority":{priority},"block_on_fault":{block},"max_batch_size":{batch},
            "max_transfer_size":{transfer},"type":"user","driver_name":"user","name":"{name}",
            "threshold":{threshold},"ats_disable":{ats}}}"#
        )
    }

    /// A whole file, as accel-config takes it.
    fn file(&mut self) -> String {
        let (mut groups, mut queue, mut engine) = (Vec::new(), 0, 0);
        for group in 0..1 + self.below(3) {
            let wanted = 1 + self.below(2);
            let queues: Vec<String> =
                (0..wanted).map(|index| self.queue(queue + index, group)).collect();
            queue += wanted;
            // Seldom a group has queues and no engine.
            let count = if self.below(30) == 0 { 0 } else { 1 };
            let engines: Vec<String> = (engine..engine + count)
                .map(|it| format!(r#"{{"dev":"engine0.{it}","group_id":{group}}}"#))
                .collect();
            engine += count;
            let reserved = self.value(&["0", "8", "16"], &["97"]);
            let allowed = self.value(&["32", "48"], &["3", "100"]);
            let mut text = format!(
                r#"{{"dev":"group0.{group}","read_buffers_reserved":{reserved},
                "read_buffers_allowed":{allowed},"grouped_workqueues":[{}]"#,
                queues.join(",")
            );
            if count > 0 {
                let _ = write!(text, r#","grouped_engines":[{}]"#, engines.join(","));
            }
            groups.push(text + "}");
        }
        let limit = self.value(&["0", "60", "96"], &["97"]);
        format!(r#"[{{"dev":"dsa0","read_buffer_limit":{limit},"groups":[{}]}}]"#, groups.join(","))
    }
}

/// The outcomes for a file: codes of check, apply and reset, and of accel-config's loading of it.
#[derive(Debug)]
struct Row<'a> {
    number: usize,
    check: &'a str,
    apply: &'a str,
    theirs: &'a str,
}

/// Rights and wrongs of files are judged one after the other in one run; names of drivers, which stay when
/// all else is taken back, are left out of what is listed.
#[test]
fn any_configuration_is_foretold_applied_shown_and_judged_by_accel_config() {
    let place = Place::new();
    let mut random = Random(soak::seed(0x2545_f491) | 1);
    let count = soak::amount(8, 40);
    for number in 0..count {
        let path = place.path().join(format!("file{number}.json"));
        std::fs::write(path, random.file()).expect("is written");
    }
    let script = format!(
        "list() {{ accel-config list -i | grep -v -e cdev_minor -e driver_name; }}
        list > fresh
        for number in $(seq 0 {last}); do
          file=file$number.json
          $dsa config check $file > check$number; check=$?
          $dsa config apply $file --apply > applied$number 2>&1; apply=$?
          list > ours$number
          if [ $apply = 0 ]; then
            $dsa config show --format json > shown$number.json
            $dsa config check shown$number.json > same$number || exit 3
          else
            cmp fresh ours$number || exit 4
          fi
          $dsa config reset > out || exit 5
          accel-config load-config -c $file -e > their$number 2>&1; theirs=$?
          list > theirs$number
          accel-config disable-device dsa0 > out 2>&1
          $dsa config reset --factory > out || exit 6
          # What accel-config has left half done would be put back.
          rm -f \"$SKIPLINE_DSA_RUN\"/config/*
          echo $number $check $apply $theirs
        done",
        last = count - 1
    );
    let out = place.script(&["--quiet", "--unconfigured"], &script).with(0);
    let (mut taken, mut refused) = (0, 0);
    let rows: Vec<Row<'_>> = out.lines().filter_map(row).collect();
    assert_eq!(rows.len(), count, "{out}");
    for row in rows {
        let number = row.number;
        let said = read(&place, &format!("check{number}"));
        let their = read(&place, &format!("their{number}"));
        if row.check == "0" {
            taken += 1;
            assert_eq!(row.apply, "0", "{row:?}\n{}", read(&place, &format!("applied{number}")));
            let same = read(&place, &format!("same{number}"));
            assert!(same.ends_with("the devices have it already.\n"), "{row:?}\n{same}");
            assert_eq!(row.theirs, "0", "{row:?}\n{their}");
            let [ours, theirs] =
                ["ours", "theirs"].map(|it| read(&place, &format!("{it}{number}")));
            assert_eq!(ours, theirs, "{row:?}");
        } else {
            refused += 1;
            assert_eq!((row.check, row.apply), ("2", "2"), "{row:?}\n{said}");
            assert!(said.contains(&format!("file{number}.json: ")), "{said}");
            assert_ne!(row.theirs, "0", "{row:?}\n{said}{their}");
        }
    }
    assert!(taken * 5 > count && refused * 5 > count, "{taken} {refused} of {count}");
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    let number = next()?.parse().ok()?;
    Some(Row { number, check: next()?, apply: next()?, theirs: next()? })
}
