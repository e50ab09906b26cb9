//! Numbers in words: sizes, counts and times.

use super::estimate::Band;

/// A size in bytes: "4 KiB".
pub fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

/// A number of bytes: "12.3 MB".
pub fn bytes(number: f64) -> String {
    scaled(number, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// A time: "12.3 ms".
pub fn time(ns: f64) -> String {
    scaled(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

/// A number of cycles: "12.3 million".
pub fn count(number: f64) -> String {
    scaled(number, &[(1e9, "thousand million"), (1e6, "million"), (1e3, "thousand"), (1.0, "")])
}

/// Two bounds in the unit of the larger one: "1.2 to 3.4 ms".
pub fn band(band: Band, text: impl Fn(f64) -> String) -> String {
    let (low, high) = (text(band.low), text(band.high));
    if low == high {
        return high;
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A number with three digits.
pub fn three_digits(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{number:.digits$}");
    if text == "-0.00" { "0.00".into() } else { text }
}

/// A number of things: "1 call", "20 calls".
pub fn plural(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    let fits = |(factor, _): &&(f64, &str)| number.abs() >= 0.9995 * factor;
    let (factor, unit) = units.iter().find(fits).or(units.last()).copied().unwrap_or((1.0, ""));
    format!("{} {unit}", three_digits(number / factor)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!([999.0, 4096.0, 12_345_678.0].map(bytes), ["999 B", "4.10 kB", "12.3 MB"]);
        assert_eq!([1, 2].map(|number| plural(number, "call")), ["1 call", "2 calls"]);
        assert_eq!([0.0, -0.001].map(three_digits), ["0.00", "0.00"]);
        assert_eq!([0.0, 999.9, -2e6].map(time), ["0.00 ns", "1.00 us", "-2.00 ms"]);
        assert_eq!([512, 4096, 2 << 20].map(size), ["512 B", "4 KiB", "2 MiB"]);
    }

    #[test]
    fn bounds_share_a_unit_where_they_have_the_same() {
        let of = |low, high| band(Band { low, high }, time);
        assert_eq!(of(1e6, 2e6), "1.00 to 2.00 ms");
        assert_eq!(of(1e3, 2e6), "1.00 us to 2.00 ms");
        assert_eq!(of(1e6, 1e6), "1.00 ms");
    }
}
