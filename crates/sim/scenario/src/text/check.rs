//! Range checks that name file, key, value and what is allowed.

use crate::text::error::InputError;

/// Checks the values of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check<'f> {
    /// Name of the file in messages.
    pub file: &'f str,
}

impl Check<'_> {
    /// The error for a value that is not allowed.
    pub(crate) fn refuse(&self, key: &str, value: &impl ToString, allowed: String) -> InputError {
        let (file, key, value) = (self.file.into(), key.into(), value.to_string());
        InputError::OutOfRange { file, key, value, allowed }
    }

    /// An integer from `low` to `high`; `what` names the counted unit.
    pub(crate) fn whole<V: PartialOrd + ToString + Copy>(
        &self,
        key: &str,
        value: V,
        (low, high): (V, V),
        what: &str,
    ) -> Result<(), InputError> {
        if value >= low && value <= high {
            return Ok(());
        }
        let allowed = format!("allowed: {} to {} {what}", low.to_string(), high.to_string());
        Err(self.refuse(key, &value, allowed))
    }

    /// A number from `low` to `high`.
    pub(crate) fn number(
        &self,
        key: &str,
        value: f64,
        (low, high): (f64, f64),
    ) -> Result<(), InputError> {
        if value.is_finite() && value >= low && value <= high {
            return Ok(());
        }
        Err(self.refuse(key, &value, format!("allowed: {low} to {high}")))
    }

    /// A number from `low` to `high`; `why` is the reason of the upper limit.
    pub(crate) fn number_because(
        &self,
        key: &str,
        value: f64,
        (low, high): (f64, f64),
        why: &str,
    ) -> Result<(), InputError> {
        if value.is_finite() && value >= low && value <= high {
            return Ok(());
        }
        Err(self.refuse(key, &value, format!("allowed: {low} to {high}; {why} is {high}")))
    }

    /// A number of nanoseconds or cycles: from zero to less than a second.
    pub(crate) fn delay(&self, key: &str, value: f64) -> Result<(), InputError> {
        self.number(key, value, (0.0, 1e6))
    }

    /// Checks that `value` is a power of two.
    pub(crate) fn power_of_two(&self, key: &str, value: u32) -> Result<(), InputError> {
        if value.is_power_of_two() && value <= 1 << 16 {
            return Ok(());
        }
        Err(self.refuse(key, &value, "allowed: powers of two up to 65536".into()))
    }

    /// One of a few values.
    pub(crate) fn one_of<V: PartialEq + ToString + Copy>(
        &self,
        key: &str,
        value: V,
        allowed: &[V],
    ) -> Result<(), InputError> {
        if allowed.contains(&value) {
            return Ok(());
        }
        let list: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        Err(self.refuse(key, &value, format!("allowed: {}", list.join(", "))))
    }
}
