//! Named platforms whose facts are used where a host cannot be measured.

use super::processor::Processor;
use facts::Kind;
use serde::Deserialize;

/// A named platform, and the processors for which its facts are used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DonorPlatform {
    /// Name of the platform.
    pub platform: String,
    /// CPUID's vendor; `None` fits any.
    vendor: Option<String>,
    /// CPUID's family; `None` fits any.
    family: Option<u32>,
    /// CPUID's models; `None` fits any.
    models: Option<Vec<u32>>,
    /// Lowest stepping that fits.
    #[serde(default)]
    least_stepping: u32,
    /// Reason why the platform is the nearest.
    pub because: String,
    /// Inclusion policy of the last-level cache, if that of the platform does not fit.
    pub inclusion: Option<String>,
    /// Source of the inclusion policy.
    pub inclusion_source: Option<String>,
}

#[derive(Deserialize)]
struct DonorTable {
    donor: Vec<DonorPlatform>,
}

const TABLE: &str = include_str!("donors.toml");

impl DonorPlatform {
    /// The platform that is nearest to a processor: the first of the table that fits.
    ///
    /// # Panics
    /// If the built-in table is damaged, which a test excludes.
    #[must_use]
    pub fn nearest(processor: &Processor) -> Self {
        let table: DonorTable =
            toml::from_str(TABLE).expect("the built-in table of donors is valid");
        let nearest = table.donor.into_iter().find(|donor| donor.fits(processor));
        nearest.expect("the last donor fits every processor")
    }

    /// Whether the platform is of the processor's own vendor: then it stands for the machine.
    #[must_use]
    pub fn is_of_its_vendor(&self, processor: &Processor) -> bool {
        self.inclusion.is_none() && self.vendor.as_ref() == Some(&processor.vendor)
    }

    fn fits(&self, processor: &Processor) -> bool {
        self.vendor.as_ref().is_none_or(|vendor| *vendor == processor.vendor)
            && self.family.is_none_or(|family| family == processor.family)
            && self.models.as_ref().is_none_or(|models| models.contains(&processor.model))
            && processor.stepping >= self.least_stepping
    }

    /// Facts of the platform, including inherited ones.
    ///
    /// # Panics
    /// As [`Self::nearest`].
    pub(crate) fn facts(&self) -> toml::Table {
        let path = Kind::Platform.path_of(&self.platform);
        let text = facts::builtin::file(&path).expect("the platform of each donor is built in");
        let resolved = facts::resolve(Kind::Platform, &path, text, &facts::builtin::find);
        resolved.expect("built-in platforms are valid").document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor(vendor: &str, family: u32, model: u32, stepping: u32) -> Processor {
        Processor {
            vendor: vendor.into(),
            family,
            model,
            stepping,
            name: String::new(),
            virtual_machine: false,
            socket_cores: 1,
            caches: Vec::new(),
        }
    }

    #[test]
    fn the_nearest_platform_follows_vendor_model_and_stepping() {
        let nearest = |vendor, family, model, stepping| {
            DonorPlatform::nearest(&processor(vendor, family, model, stepping)).platform
        };
        assert_eq!(nearest("GenuineIntel", 6, 85, 4), "skylake-gold-6140");
        assert_eq!(nearest("GenuineIntel", 6, 85, 7), "cascade-lake-platinum-8260");
        assert_eq!(nearest("GenuineIntel", 6, 63, 2), "haswell-e5-2667v3");
        assert_eq!(nearest("AuthenticAMD", 23, 49, 0), "ice-lake-40");
        assert_eq!(nearest("AuthenticAMD", 25, 17, 1), "sapphire-rapids-56");
        assert_eq!(nearest("HygonGenuine", 24, 0, 1), "skylake-gold-6140");
    }

    #[test]
    fn the_platform_of_every_donor_is_built_in() {
        let table: DonorTable = toml::from_str(TABLE).unwrap();
        for donor in &table.donor {
            assert!(donor.facts().contains_key("dram"), "{}", donor.platform);
            assert_eq!(donor.inclusion.is_some(), donor.inclusion_source.is_some());
        }
    }
}
