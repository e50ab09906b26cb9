//! Keys of a tenant's application, and what the platform must have for it.

use super::super::{Application, BlockIoKeys, InitialContent, Protocol, Tenant};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::{PacketServer, Platform};
use model::device::nvme::rings::{MAX_BLOCK_BYTES, PAGE_BYTES};
use workload::app::key_value;

/// Keys of the application, and the facts that it needs.
pub(super) fn application(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    tenant.l3_forward.check(check)?;
    tenant.chain.check(check)?;
    tenant.key_value.check(check, platform)?;
    let plain = tenant.key_value.protocol == Protocol::Plain;
    if tenant.application == Application::KeyValue && plain {
        let facts = platform.applications.as_ref();
        if facts.is_none_or(|facts| facts.key_value_plain_cycles.is_none()) {
            let allowed = "needs a platform with applications.key_value_plain_cycles".into();
            return Err(check.refuse("key_value.protocol", &"plain", allowed));
        }
    }
    let filled = tenant.initial_content == InitialContent::StoreFilled;
    if filled && tenant.application != Application::KeyValue {
        let allowed = "only with application = \"key-value\"".into();
        return Err(check.refuse("initial_content", &"store-filled", allowed));
    }
    memory_kernel(tenant, check, platform)?;
    if tenant.application.needs_costs() && platform.applications.is_none() {
        let allowed = "needs a platform with an [applications] table";
        let name = serde_json::json!(tenant.application);
        return Err(check.refuse(
            "application",
            &name.as_str().unwrap_or_default(),
            allowed.into(),
        ));
    }
    Ok(())
}

/// A tenant that is a memory kernel says what it does; others are none.
fn memory_kernel(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    match &tenant.memory_kernel {
        Some(keys) => keys.check("memory_kernel", check, platform),
        None if tenant.application == Application::MemoryKernel => {
            let allowed = "needs a [memory_kernel] table with working_set_bytes".into();
            Err(check.refuse("application", &"memory-kernel", allowed))
        }
        None => Ok(()),
    }
}

/// An answer goes into the buffer that its request came in.
pub(super) fn answers(
    tenant: &Tenant,
    check: &Check<'_>,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let most = server.software.buffer_data_bytes.value.saturating_sub(key_value::answer_bytes(0));
    let what = "bytes: an answer with its headers fits a packet buffer";
    check.whole("key_value.value_bytes", tenant.key_value.value_bytes, (1, most), what)
}

/// Blocks are moved in pages of 4 KiB, and a list of all of them fits a page.
pub(super) fn block_io(
    keys: &BlockIoKeys,
    check: &Check<'_>,
    cores: u32,
) -> Result<(), InputError> {
    let what = "SSDs, no more than cores: each has a job at least";
    check.whole("block_io.ssds", keys.ssds, (1, cores.min(16)), what)?;
    let together = keys.ssds_per_root_port;
    check.whole("block_io.ssds_per_root_port", together, (1, 16), "SSDs")?;
    let bytes = keys.block_bytes;
    check.whole("block_io.block_bytes", bytes, (PAGE_BYTES, MAX_BLOCK_BYTES), "bytes")?;
    if !bytes.is_multiple_of(PAGE_BYTES) {
        let allowed = format!("allowed: multiples of {PAGE_BYTES} bytes");
        return Err(check.refuse("block_io.block_bytes", &bytes, allowed));
    }
    check.whole("block_io.depth", keys.depth, (1, 1023), "I/Os in flight")?;
    check.whole("block_io.read_percent", keys.read_percent, (0, 100), "percent")?;
    let buffers = keys.buffers.unwrap_or(keys.depth);
    let what = "buffers, no fewer than block_io.depth";
    check.whole("block_io.buffers", buffers, (keys.depth, 1 << 16), what)?;
    let all = u64::from(buffers) * bytes;
    check.whole("block_io.buffers", all, (0, 8 << 30), "bytes of all buffers of a job")
}

/// One client waits for each answer of one core.
pub(super) fn ping_pong(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let Some(facts) = &platform.ping_pong else {
        let allowed = "needs a platform with a [ping_pong] table".into();
        return Err(check.refuse("application", &"ping-pong", allowed));
    };
    let allowed = "core: there is one message in flight";
    check.whole("cores", tenant.cores, (1, 1), allowed)?;
    let keys = &tenant.ping_pong;
    check.whole("ping_pong.header_bytes", keys.header_bytes, (14, 1024), "bytes")?;
    let before = keys.header_bytes + facts.prefix_bytes.value;
    let most = server.software.buffer_data_bytes.value.saturating_sub(before);
    let least = facts.message_header_bytes.value.max(60u64.saturating_sub(keys.header_bytes));
    let what = "bytes: no less than the application's header, no more than a buffer holds";
    check.whole("ping_pong.message_bytes", keys.message_bytes, (least, most), what)?;
    if let Some(path) = &tenant.traffic.pcap {
        let allowed = "application ping-pong has a client of its own".into();
        return Err(check.refuse("traffic.pcap", path, allowed));
    }
    Ok(())
}
