//! Times several subjects in turn, round by round, so that what else the machine does meets all alike.

use std::time::Instant;

/// Rounds that each subject runs.
const ROUNDS: usize = 2001;

/// A name, and what one round does.
pub type Subject<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Times of each subject's rounds in ns per item, in the order in which they ran.
pub fn times_ns(items: usize, subjects: &mut [Subject<'_>]) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for _ in 0..ROUNDS {
        for ((_, round), times) in subjects.iter_mut().zip(&mut times) {
            let start = Instant::now();
            round();
            times.push(start.elapsed().as_nanos() as f64 / items as f64);
        }
    }
    times
}

/// First decile, median and ninth decile.
pub fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 5, 9].map(|decile| values[decile * (values.len() - 1) / 10])
}

/// Prints the times of all subjects, and each one's ratio to the first, round by round.
pub fn report(unit: &str, items: usize, mut subjects: Vec<Subject<'_>>) {
    let times = times_ns(items, &mut subjects);
    println!("{ROUNDS} rounds in turn; first decile, median, ninth decile");
    for ((name, _), own) in subjects.iter().zip(&times) {
        let [low, middle, high] = spread(own.clone());
        let ratios = own.iter().zip(&times[0]).map(|(own, first)| own / first).collect();
        let [least, ratio, most] = spread(ratios);
        println!(
            "{name:<36} {low:6.2} {middle:6.2} {high:6.2} ns per {unit}; {ratio:.2} of the first \
             ({least:.2} to {most:.2})"
        );
    }
}
