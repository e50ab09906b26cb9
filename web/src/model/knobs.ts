// The knobs that matter: how each is shown. Ranges that are allowed come from the schema; a slider covers the
// part of them that people use.

export interface Knob {
  key: string;
  label: string;
  group: "Traffic" | "Rings and cores" | "Cache" | "Neighbours" | "Storage" | "Copies" | "Store" | "Machine";
  /** A slider over powers of two, over numbers, or something that the schema decides. */
  form: "powers" | "numbers" | "mask" | "schema" | "platform" | "nic";
  from?: number;
  to?: number;
  step?: number;
  unit?: string;
  /** The id of the word of the glossary that explains it. */
  term?: string;
}

const powers = (from: number, to: number) => ({ form: "powers" as const, from, to });
const numbers = (from: number, to: number, step = 1) => ({ form: "numbers" as const, from, to, step });
const schema = { form: "schema" as const };

export const KNOBS: Knob[] = [
  { key: "offered_gbps", label: "Offered load", group: "Traffic", ...numbers(1, 100, 0.1), unit: "Gbit/s" },
  { key: "packet_bytes", label: "Packet size", group: "Traffic", ...numbers(60, 1500, 4), unit: "B" },
  { key: "traffic.arrivals", label: "Arrivals", group: "Traffic", ...schema },
  { key: "traffic.pattern", label: "Flows", group: "Traffic", ...schema },
  { key: "flow_control", label: "Flow control", group: "Traffic", ...schema },
  { key: "rx_descriptors", label: "Receive ring", group: "Rings and cores", ...powers(64, 8192), unit: "descriptors", term: "descriptor" },
  { key: "cores", label: "Cores", group: "Rings and cores", ...numbers(1, 18) },
  { key: "rng_calls", label: "Work per packet", group: "Rings and cores", ...numbers(0, 400, 10), unit: "random numbers" },
  { key: "pool_buffers", label: "Buffer pool", group: "Rings and cores", form: "schema", unit: "buffers" },
  { key: "pool_placement", label: "Placement of buffers", group: "Rings and cores", ...schema },
  { key: "ddio_ways", label: "DDIO ways", group: "Cache", ...numbers(0, 11), unit: "ways", term: "ddio" },
  { key: "core_way_mask", label: "Ways of the cores (CAT)", group: "Cache", form: "mask", term: "cat" },
  { key: "iommu", label: "IOMMU pages", group: "Cache", ...schema },
  { key: "nic_socket", label: "Socket of the NIC", group: "Machine", ...numbers(0, 1) },
  { key: "co_runner.0.cores", label: "Neighbour: cores", group: "Neighbours", ...numbers(1, 12) },
  { key: "co_runner.0.working_set_bytes", label: "Neighbour: working set", group: "Neighbours", ...powers(1 << 20, 1 << 28), unit: "B" },
  { key: "co_runner.0.mba_percent", label: "Neighbour: memory bandwidth (MBA)", group: "Neighbours", ...numbers(10, 100, 10), unit: "%" },
  { key: "co_runner.0.way_mask", label: "Neighbour: ways (CAT)", group: "Neighbours", form: "mask", term: "cat" },
  { key: "tenant.0.offered_gbps", label: "Second port: offered load", group: "Neighbours", ...numbers(0.5, 24.8, 0.1), unit: "Gbit/s" },
  { key: "tenant.0.ddio_ways", label: "Neighbour: DDIO ways", group: "Neighbours", ...numbers(0, 11), unit: "ways", term: "ddio" },
  { key: "tenant.0.block_io.depth", label: "SSD queue depth", group: "Storage", ...powers(1, 128), unit: "blocks" },
  { key: "tenant.0.block_io.block_bytes", label: "SSD block size", group: "Storage", ...powers(4096, 1 << 18), unit: "B" },
  { key: "tenant.0.block_io.ssds", label: "SSDs", group: "Storage", ...numbers(1, 8) },
  { key: "tenant.0.offload.by", label: "Neighbour: copies by", group: "Copies", ...schema },
  { key: "tenant.0.offload.transfer_bytes", label: "Neighbour: size of a copy", group: "Copies", ...powers(1024, 1 << 18), unit: "B" },
  { key: "tenant.0.offload.cache_control", label: "Neighbour: copies into the cache", group: "Copies", ...numbers(0, 1) },
  { key: "offload.by", label: "Copies by", group: "Copies", ...schema },
  { key: "offload.transfer_bytes", label: "Size of a copy", group: "Copies", ...powers(256, 1 << 18), unit: "B" },
  { key: "offload.depth", label: "Copies in flight", group: "Copies", ...powers(1, 32) },
  { key: "offload.wait", label: "How a core waits", group: "Copies", ...schema },
  { key: "key_value.get_percent", label: "Share of reads", group: "Store", ...numbers(0, 100, 5), unit: "%" },
  { key: "key_value.value_bytes", label: "Value size", group: "Store", ...powers(32, 1024), unit: "B" },
  { key: "key_value.zipf", label: "Skew of the keys", group: "Store", ...numbers(0, 1.2, 0.01) },
  { key: "platform", label: "Platform", group: "Machine", form: "platform" },
  { key: "nic", label: "NIC", group: "Machine", form: "nic" },
];

export function knobOf(key: string): Knob | undefined {
  return KNOBS.find((knob) => knob.key === key);
}
