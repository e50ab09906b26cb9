//! A NIC that does not belong to a platform: one file per card, every number with its source.

use super::io::PcieFacts;
use super::nic::NicFacts;
use super::what_if::{self, ReplacedFacts};
use crate::text::check::Check;
use crate::text::document;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use facts::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device file under devices/nic.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NicDevice {
    /// Description of the card.
    pub title: String,
    /// The card and its driver.
    pub nic: NicFacts,
    /// The link that the card is made for.
    pub pcie: PcieFacts,
}

impl NicDevice {
    /// Reads a card from TOML; `file` is its name in messages. The `replaced` facts of the card and its
    /// link override the text.
    ///
    /// # Errors
    /// If the text is invalid, a key is unknown or missing, or a value is out of range.
    pub(crate) fn read_with(
        file: &str,
        text: &str,
        replaced: &ReplacedFacts,
    ) -> Result<Self, InputError> {
        let replaced = what_if::of_tables(replaced, &["nic", "pcie"]);
        what_if::read_with(Kind::Nic, file, text, &replaced, |document| {
            let device: Self = document::interpret(file, document)?;
            device.nic.check(&Check { file })?;
            device.pcie.check(&Check { file })?;
            Ok(device)
        })
    }

    /// Its link in a slot of this rate per lane: in an older machine it runs at the slot's rate.
    #[must_use]
    pub fn link_in(&self, slot_rate: Option<&Sourced<f64>>) -> PcieFacts {
        let mut link = self.pcie.clone();
        if let Some(rate) = slot_rate
            && rate.value < link.gtransfers_per_s.value
        {
            link.gtransfers_per_s = rate.clone();
        }
        link
    }
}
