// Situations to begin with: a built-in scenario, settings, the knobs that matter for it, and a curve.

export interface Preset {
  id: string;
  title: string;
  question: string;
  group: "Figures of papers" | "Servers";
  file: string;
  settings: { [key: string]: string };
  knobs: string[];
  /** The key along the curve, its values, and the metric that is shown at first. */
  curve: { key: string; values: number[]; metric: string };
  /** The experiment whose measured points belong to the scenario. */
  experiment?: string;
}

const RINGS = [128, 256, 512, 1024, 2048, 4096];
const L2FWD = "experiments/ddio-bench/l2fwd.toml";
const FORWARDER = ["offered_gbps", "packet_bytes", "rx_descriptors", "ddio_ways", "cores", "core_way_mask", "rng_calls", "nic_socket", "pool_placement", "iommu", "platform"];
// Short batches, so that the first numbers come at once, and as many as it takes.
const QUICK = { "run.batch_packets": "1024", "run.max_batches": "240" };
// As the experiments on this testbed have it, whatever their axes.
const MEASURED = { "traffic.generator_queue_packets": "5120", ...QUICK };

export const PRESETS: Preset[] = [
  {
    id: "ring",
    title: "100G forwarder: does the ring fit the cache?",
    question: "With this ring and packet size, how much of the NIC's traffic is served from the cache, and how much leaks to memory?",
    group: "Figures of papers",
    file: L2FWD,
    settings: { rx_descriptors: "1024", ...MEASURED },
    knobs: FORWARDER,
    curve: { key: "rx_descriptors", values: RINGS, metric: "pcie_write_hit_rate" },
    experiment: "experiments/ddio-bench/pktsize-desc.toml",
  },
  {
    id: "ways",
    title: "How many DDIO ways does a large ring need?",
    question: "A ring of 4096 packets does not fit two ways: how many ways must the NIC be given?",
    group: "Figures of papers",
    file: L2FWD,
    settings: { packet_bytes: "1024", rx_descriptors: "4096", ...MEASURED },
    knobs: FORWARDER,
    curve: { key: "ddio_ways", values: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11], metric: "pcie_write_hit_rate" },
    experiment: "experiments/ddio-bench/ddio-tune.toml",
  },
  {
    id: "cores",
    title: "Many cores, many rings",
    question: "Each core has its own ring: how many cores until their rings together leave the cache?",
    group: "Figures of papers",
    file: L2FWD,
    settings: { rx_descriptors: "256", cores: "4", ...MEASURED },
    knobs: FORWARDER,
    curve: { key: "cores", values: [1, 2, 4, 8, 12, 18], metric: "pcie_write_hit_rate" },
    experiment: "experiments/ddio-bench/cores.toml",
  },
  {
    id: "slow-core",
    title: "What slower processing does",
    question: "Two cores with large rings: what does more work per packet do to the hit rates?",
    group: "Figures of papers",
    file: L2FWD,
    settings: { cores: "2", rx_descriptors: "2048", rng_calls: "400", ...MEASURED },
    knobs: FORWARDER,
    curve: { key: "rng_calls", values: [0, 100, 200, 300, 400], metric: "throughput_gbps" },
    experiment: "experiments/ddio-bench/process-time.toml",
  },
  {
    id: "edge-box",
    title: "Edge box with 2 × 25G",
    question: "Do two 25G ports disturb each other in the cache?",
    group: "Servers",
    file: "examples/forward-2x25g.toml",
    settings: {},
    knobs: ["rx_descriptors", "packet_bytes", "offered_gbps", "tenant.0.offered_gbps", "ddio_ways", "core_way_mask", "platform"],
    curve: { key: "rx_descriptors", values: [128, 256, 512, 1024, 2048, 4096], metric: "pcie_write_hit_rate" },
  },
  {
    id: "forwarder-100g",
    title: "100G forwarder on Ice Lake",
    question: "How many cores does a 100G port need?",
    group: "Servers",
    file: "examples/forward-100g.toml",
    settings: {},
    knobs: ["cores", "packet_bytes", "offered_gbps", "rx_descriptors", "ddio_ways", "core_way_mask", "platform"],
    curve: { key: "cores", values: [1, 2, 3, 4, 6, 8], metric: "throughput_gbps" },
  },
  {
    id: "key-value",
    title: "Key-value store beside a neighbour",
    question: "What does a memory-hungry neighbour cost my key-value store?",
    group: "Servers",
    file: "examples/store-and-neighbour.toml",
    settings: {},
    knobs: ["cores", "offered_gbps", "rx_descriptors", "key_value.get_percent", "key_value.zipf", "co_runner.0.cores", "co_runner.0.mba_percent", "co_runner.0.way_mask", "ddio_ways"],
    curve: { key: "co_runner.0.cores", values: [1, 2, 4, 8, 12], metric: "tx_mpps" },
  },
  {
    id: "ssd",
    title: "SSDs beside the NIC",
    question: "Does my NVMe tenant push packets out of the cache?",
    group: "Servers",
    file: "examples/ssd-neighbour.toml",
    settings: {},
    knobs: ["rx_descriptors", "offered_gbps", "ddio_ways", "tenant.0.ddio_ways", "tenant.0.block_io.depth", "tenant.0.block_io.block_bytes", "tenant.0.block_io.ssds", "core_way_mask"],
    curve: { key: "tenant.0.block_io.depth", values: [1, 2, 4, 8, 16, 32, 64], metric: "main:pcie_write_hit_rate" },
  },
  {
    id: "copies",
    title: "DSA copies beside the NIC",
    question: "What do copies by engines on its socket cost a forwarder?",
    group: "Servers",
    file: "experiments/own/copies-beside-forwarder-scenario.toml",
    settings: {},
    knobs: ["offered_gbps", "packet_bytes", "rx_descriptors", "cores", "ddio_ways", "tenant.0.offload.by", "tenant.0.offload.transfer_bytes", "tenant.0.offload.cache_control"],
    curve: { key: "rx_descriptors", values: [256, 512, 1024, 2048, 4096], metric: "main:pcie_write_hit_rate" },
  },
  {
    id: "offload",
    title: "From which size should I offload a copy?",
    question: "Engine or core: from which size on is a copy by the DSA faster?",
    group: "Servers",
    file: "examples/offload-copy.toml",
    settings: {},
    knobs: ["offload.by", "offload.transfer_bytes", "offload.depth", "offload.wait"],
    curve: { key: "offload.transfer_bytes", values: [256, 1024, 4096, 16384, 65536], metric: "offload_gbytes_per_s" },
  },
  {
    id: "remote-socket",
    title: "A NIC on the other socket",
    question: "My NIC is on the other socket: what does that cost?",
    group: "Servers",
    file: "examples/remote-socket.toml",
    settings: {},
    knobs: ["nic_socket", "offered_gbps", "packet_bytes", "rx_descriptors", "cores", "ddio_ways"],
    curve: { key: "rx_descriptors", values: RINGS, metric: "latency_ns.p50" },
  },
];

export const DEFAULT_PRESET = PRESETS[0] as Preset;

export function presetOf(id: string): Preset | undefined {
  return PRESETS.find((preset) => preset.id === id);
}
