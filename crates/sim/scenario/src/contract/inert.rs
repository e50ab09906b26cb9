//! Keys of a tenant that would not change the simulated machine.

use crate::contract::tenant::TenantRef;

/// A key, or a table with all its keys, that has no effect on a tenant, and why.
#[derive(Clone, Debug)]
pub(crate) struct Inert {
    /// Name of the key or table.
    pub key: String,
    /// The reason: the key that decides in its stead, or the part that the tenant lacks.
    pub because: String,
}

impl Inert {
    /// Several keys for the same reason.
    pub(crate) fn all<K: Into<String>>(
        keys: impl IntoIterator<Item = K>,
        because: &str,
    ) -> impl Iterator<Item = Self> {
        keys.into_iter().map(move |key| Self { key: key.into(), because: because.into() })
    }

    /// Whether a stated key is this one, or in this table.
    pub(crate) fn is_about(&self, stated: &str) -> bool {
        let rest = stated.strip_prefix(self.key.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Keys of all devices, which have no effect on a tenant without any.
pub(crate) fn keys_of_devices(tenant: TenantRef<'_>) -> Vec<Inert> {
    let because = format!("{} uses no device", tenant.application());
    Inert::all(tenant.tables.device_keys(), &because).collect()
}
