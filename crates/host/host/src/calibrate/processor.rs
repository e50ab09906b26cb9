//! Description of the processor by kernel and CPUID. In a virtual machine it may be false.

use crate::Root;
use crate::error::FileError;
use serde::{Deserialize, Serialize};

/// A cache as /sys/devices/system/cpu reports it; Linux reads it from CPUID leaf 4 (Intel) or
/// 0x8000001D (AMD).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedCache {
    /// Level of the cache, 1 to 3.
    pub level: u32,
    /// Size of the cache, in bytes.
    pub size_bytes: u64,
    /// Number of ways; `None` if not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// Number of sets; `None` if not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<u32>,
    /// Logical CPUs that share the cache, as a list like `0-3,8`.
    pub shared_by: String,
}

/// The processor, as kernel and CPUID describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Vendor of the processor, like `GenuineIntel`.
    pub vendor: String,
    /// Display family of the processor, as CPUID gives it.
    pub family: u32,
    /// Display model of the processor, as CPUID gives it.
    pub model: u32,
    /// Stepping of the processor, as CPUID gives it.
    pub stepping: u32,
    /// Name of the processor's model.
    pub name: String,
    /// Whether this is a virtual machine (CPUID's hypervisor bit).
    pub virtual_machine: bool,
    /// Number of cores of the first processor's socket.
    pub socket_cores: u32,
    /// Data and unified caches, smallest first.
    pub caches: Vec<ReportedCache>,
}

impl Processor {
    /// Reads the kernel's description.
    ///
    /// # Errors
    /// If /proc/cpuinfo cannot be read. Caches that are not reported are left out.
    pub fn read(root: &Root) -> Result<Self, FileError> {
        let text = root.read_first_paragraph("proc/cpuinfo")?;
        let field = |name: &str| field_of(&text, name).unwrap_or_default();
        let number = |name: &str| field(name).parse().unwrap_or(0);
        Ok(Self {
            vendor: field("vendor_id").into(),
            family: number("cpu family"),
            model: number("model"),
            stepping: number("stepping"),
            name: field("model name").into(),
            virtual_machine: field("flags").split_ascii_whitespace().any(|f| f == "hypervisor"),
            socket_cores: number("cpu cores").max(1),
            caches: caches(root),
        })
    }

    /// The data or unified cache of a level; `None` if it is not reported.
    #[must_use]
    pub fn cache(&self, level: u32) -> Option<&ReportedCache> {
        self.caches.iter().find(|cache| cache.level == level)
    }
}

/// Bytes of memory that are available for programs; `None` if not reported.
pub(super) fn available_bytes(root: &Root) -> Option<u64> {
    let text = root.read_text("proc/meminfo").ok()?;
    let value = field_of(&text, "MemAvailable")?;
    let kib: u64 = value.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// Value of the first line `name : value` of a text.
fn field_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn caches(root: &Root) -> Vec<ReportedCache> {
    let folder = "sys/devices/system/cpu/cpu0/cache";
    let names = root.list(folder).unwrap_or_default();
    let indices = names.iter().filter(|name| name.starts_with("index"));
    let mut caches: Vec<_> =
        indices.filter_map(|name| cache(root, &format!("{folder}/{name}"))).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(root: &Root, folder: &str) -> Option<ReportedCache> {
    let line = |name: &str| root.read_line(&format!("{folder}/{name}")).ok();
    if line("type")? == "Instruction" {
        return None;
    }
    let counted = |name: &str| line(name)?.parse().ok().filter(|&count: &u32| count > 0);
    Some(ReportedCache {
        level: line("level")?.parse().ok()?,
        size_bytes: size_bytes(&line("size")?)?,
        ways: counted("ways_of_associativity"),
        sets: counted("number_of_sets"),
        shared_by: line("shared_cpu_list").unwrap_or_default(),
    })
}

/// Parses a size like `32K` or `2M` into bytes; `None` if it is malformed or 0.
fn size_bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        for (text, bytes) in [("32K", 32 << 10), ("2M", 2 << 20), ("512", 512)] {
            assert_eq!(size_bytes(text), Some(bytes));
        }
        for text in ["", "K", "-1K", "0K", "12Q"] {
            assert_eq!(size_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn a_processor_without_cache_files_has_no_caches() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        let text = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\ncpu cores\t: 18\n\
                    flags\t\t: fpu hypervisor\n";
        std::fs::write(tree.path().join("proc/cpuinfo"), text).unwrap();
        let processor = Processor::read(&Root::from_tree(tree.path()).unwrap()).unwrap();
        assert_eq!((processor.model, processor.socket_cores), (85, 18));
        assert!(processor.virtual_machine && processor.caches.is_empty());
    }
}
