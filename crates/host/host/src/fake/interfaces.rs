//! Settings and counters of a described machine's network interfaces.

use std::sync::atomic::Ordering;

use super::FakeMachine;
use super::description::DescribedInterface;
use crate::error::{FileError, Problem};
use crate::ethtool::{FrameCounts, InterfaceSettings, PauseSettings};

impl FakeMachine {
    fn described<T>(
        &self,
        what: &str,
        interface: &str,
        of: impl Fn(&DescribedInterface) -> Option<T>,
    ) -> Result<T, FileError> {
        let found = self.description.interface.get(interface).and_then(of);
        found.ok_or_else(|| {
            let problem = Problem::Other("its driver does not report them".into());
            FileError::new(format!("ethtool {what} of {interface}"), problem)
        })
    }
}

impl InterfaceSettings for FakeMachine {
    fn receive_queues(&self, interface: &str) -> Result<u32, FileError> {
        self.described("channels", interface, |it| it.receive_queues)
    }

    fn pause(&self, interface: &str) -> Result<PauseSettings, FileError> {
        let [rx, tx] = self.described("pause", interface, |it| it.pause)?;
        Ok(PauseSettings { rx, tx })
    }

    fn rss_queues(&self, interface: &str) -> Result<Vec<u32>, FileError> {
        self.described("RSS table", interface, |it| it.rss_queues.clone())
    }

    fn merging_offloads(&self, interface: &str) -> Result<Vec<String>, FileError> {
        self.described("offloads", interface, |it| it.merging_offloads.clone())
    }

    fn frames(&self, interface: &str) -> Result<FrameCounts, FileError> {
        let rates = self.described("MAC counters", interface, |it| it.frames_per_s)?;
        let micros = self.counted_micros.load(Ordering::Relaxed);
        let [rx_frames, rx_octets, tx_frames, tx_octets] =
            rates.map(|per_s| per_s.saturating_mul(micros) / 1_000_000);
        Ok(FrameCounts { rx_frames, rx_octets, tx_frames, tx_octets })
    }
}
