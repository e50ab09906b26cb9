//! Memory behind the caches of a socket.
//!
//! Models: sustained bandwidth and the loaded-latency curve of all channels together.
//! Source: Intel MLC measurements in the platform file (latency at a given traffic).
//! Simplifies: no banks, rows or refresh; the curve stands for them (DEVIATIONS.md, 5).

use crate::occupancy::Meter;
use units::{LINE_BYTES, LineAddr, Picos};

/// Bandwidth and latency of a socket's memory.
#[derive(Clone, Debug)]
pub struct DramConfig {
    /// Highest traffic, read and written together.
    pub sustained_gbytes_per_s: f64,
    /// (traffic in GB/s, latency in ns), traffic rising; latency includes the whole way of a load.
    pub loaded_latency: Vec<(f64, f64)>,
}

/// A socket's memory.
#[derive(Clone, Debug)]
pub struct Dram {
    config: DramConfig,
    line_time: Picos,
    meter: Meter,
    /// The latency at the present traffic, and the utilisation for which it was computed.
    latency: (f64, Picos),
    lines_read: u64,
    lines_written: u64,
}

impl Dram {
    /// Idle memory.
    ///
    /// # Panics
    /// If the latency curve is empty: the platform is checked before it comes here.
    #[must_use]
    pub fn new(config: DramConfig) -> Self {
        assert!(!config.loaded_latency.is_empty());
        let line_time = Picos::from_ns(LINE_BYTES as f64 / config.sustained_gbytes_per_s);
        Self {
            latency: (0.0, Picos::from_ns(config.loaded_latency[0].1)),
            config,
            line_time,
            meter: Meter::default(),
            lines_read: 0,
            lines_written: 0,
        }
    }

    /// Reads a line; returns when its data is there.
    pub fn read(&mut self, _line: LineAddr, now: Picos) -> Picos {
        self.lines_read += 1;
        let latency = self.latency(now);
        self.meter.reserve(now, self.line_time).max(now + latency)
    }

    /// Writes a line; returns when the write has been taken (posted: nobody waits for the array).
    pub fn write(&mut self, _line: LineAddr, now: Picos) -> Picos {
        self.lines_written += 1;
        self.meter.reserve(now, self.line_time)
    }

    /// Forgets all traffic so far.
    pub fn forget(&mut self) {
        self.meter = Meter::default();
        self.latency = (0.0, Picos::from_ns(self.config.loaded_latency[0].1));
        (self.lines_read, self.lines_written) = (0, 0);
    }

    /// Lines read and written since the beginning.
    #[must_use]
    pub fn lines_moved(&self) -> (u64, u64) {
        (self.lines_read, self.lines_written)
    }

    fn latency(&mut self, now: Picos) -> Picos {
        let utilisation = self.meter.utilisation_before(now);
        // It changes once per window, not once per line.
        if utilisation != self.latency.0 {
            let traffic = utilisation * self.config.sustained_gbytes_per_s;
            let latency_ns = interpolate(&self.config.loaded_latency, traffic);
            self.latency = (utilisation, Picos::from_ns(latency_ns));
        }
        self.latency.1
    }
}

/// Piecewise linear, constant beyond both ends.
fn interpolate(curve: &[(f64, f64)], x: f64) -> f64 {
    let after = curve.partition_point(|point| point.0 <= x);
    if after == 0 {
        return curve[0].1;
    }
    if after == curve.len() {
        return curve[after - 1].1;
    }
    let ((x0, y0), (x1, y1)) = (curve[after - 1], curve[after]);
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skylake() -> Dram {
        Dram::new(DramConfig {
            sustained_gbytes_per_s: 104.4,
            loaded_latency: vec![(1.0, 91.7), (55.1, 116.3), (105.3, 166.2)],
        })
    }

    #[test]
    fn an_idle_read_takes_the_idle_latency() {
        assert_eq!(skylake().read(LineAddr(0), Picos(1_000_000)), Picos(1_091_700));
    }

    #[test]
    fn half_the_traffic_costs_the_latency_of_the_curve() {
        let mut dram = skylake();
        // 55.1 GB/s: a line every 1.16 ns.
        let mut latency_ns = 0.0;
        for asked in (0..2_000).map(|i| Picos(i * 1_161)) {
            latency_ns = (dram.read(LineAddr(0), asked) - asked).as_ns();
        }
        assert!((latency_ns - 116.3).abs() < 2.0, "{latency_ns}");
    }

    #[test]
    fn sustained_traffic_does_not_exceed_the_bandwidth() {
        let mut dram = skylake();
        let last = (0..100_000)
            .map(|_| dram.write(LineAddr(0), Picos::ZERO))
            .max()
            .expect("writes were made");
        let gbytes_per_s = 100_000.0 * 64.0 / last.as_ns();
        assert!((gbytes_per_s / 104.4 - 1.0).abs() < 0.01, "{gbytes_per_s}");
    }

    #[test]
    fn the_curve_is_constant_beyond_its_ends() {
        let curve = [(1.0, 10.0), (2.0, 20.0)];
        assert_eq!(interpolate(&curve, 0.0), 10.0);
        assert_eq!(interpolate(&curve, 1.5), 15.0);
        assert_eq!(interpolate(&curve, 9.0), 20.0);
    }
}
