//! Prints the copy engine of Sapphire Rapids beside what others have measured on real ones:
//! `cargo run --release -p scenario --example dsa_calibration`.

#[path = "../tests/all/dsa_rows.rs"]
mod dsa_rows;

use dsa_rows::{LATENCY, LEFT_OUT, MISSED, RATE, ROWS, Row, ratio_of_waits};

fn main() {
    println!("allowed: rates {:.0} %, latencies {:.0} %", 100.0 * RATE, 100.0 * LATENCY);
    println!("{:52} {:>12} {:>25} {:>9}", "", "simulated", "measured", "deviation");
    for (title, rows) in [
        ("chose times of the model:", &ROWS[..]),
        ("chose nothing:", &LEFT_OUT[..]),
        ("known to be missed:", &MISSED[..]),
    ] {
        println!("{title}");
        print(rows);
    }
    let (measured, simulated) = ratio_of_waits();
    println!(
        "{:52} {simulated:12.4} {measured:25.4}",
        "wait for a no-op, record's page missed / kept"
    );
}

fn print(rows: &[Row]) {
    for row in rows {
        let simulated = row.simulated();
        let (least, most) = row.measured;
        let measured =
            if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let deviation = 100.0 * row.deviation(simulated);
        let mark = if deviation.abs() > 100.0 * row.limit { " beyond" } else { "" };
        println!("{:52} {simulated:12.4} {measured:>25} {deviation:+8.1} %{mark}", row.name);
    }
}
