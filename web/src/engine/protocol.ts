// Messages between the page and an engine; crates/sim/web writes and reads the same.

/** A run that the page asks for. */
export interface RunRequest {
  file: string;
  text?: string;
  settings: [string, string][];
  seed: number;
  trace_packet?: number;
  trace_descriptor?: number;
}

/** The refusal of a request: a sentence, and the key that it is about. */
export interface Refusal {
  message: string;
  key: string | null;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The scenario with every default filled in, and its platform. */
export interface Checked {
  scenario: { [key: string]: Json };
  platform: { name: string; title: string; llc_ways: number; llc_bytes: number; cores: number };
}

export interface Progress {
  packets: number;
  fraction: number;
  simulated_ns: number;
}

/** A metric: one number, or numbers by name. */
export interface Metric {
  value: number | null | { [part: string]: number | null };
  ci95: number | null | { [part: string]: number | null };
  unit: string;
  group: string;
  label: string;
  headline?: boolean;
}

export interface Eviction {
  address_line: number;
  owner: string;
  state: string;
  read: boolean;
}

export interface TraceEvent {
  time_ns: number;
  agent: string;
  operation: string;
  line: number;
  part?: string;
  found: string;
  evicted: Eviction | null;
}

export interface DescriptorTrace {
  descriptor: number;
  begun_ns: number;
  phases: { phase: string; until_ns: number; took_ns: number }[];
  events: TraceEvent[];
  left_out: number;
}

export interface Limit {
  kind: string;
  resource: string;
  tenant?: string;
  utilisation_percent: number;
}

export interface FittedParameter {
  key: string;
  fitted_on?: string;
  is_elsewhere?: boolean;
  [more: string]: Json | undefined;
}

export interface TestbedSetting {
  key: string;
  value: Json;
  source: string;
  confidence: string;
  fitted_on?: string;
}

/** The result of a run, as `skipline run --format json` prints it. */
export interface Result {
  scenario: { [key: string]: Json };
  seed: number;
  version: string;
  platform: string;
  slice_function: string;
  simulated_ns: number;
  warmup_ns: number;
  packets: number;
  batches: number;
  stopped_by: string;
  settled: boolean;
  wall_s: number;
  line_ops: number;
  line_ops_per_s: number;
  testbed?: { name: string; title: string; settings: TestbedSetting[] };
  fitted_parameters: FittedParameter[];
  notes?: string[];
  answer: string;
  limits: Limit[];
  metrics: { [name: string]: Metric };
  trace?: TraceEvent[];
  descriptor_trace?: DescriptorTrace;
}

/** The lines in a last-level cache: for each way and agent, unread ones and others. */
export interface LlcReport {
  agents: string[];
  /** For each device in the order of its agents: the ways in which its writes may allocate now. */
  io_way_masks: number[];
  lines_of_way: number;
  /** For each socket, way and agent: unread lines, and others. */
  sockets: [number, number][][][];
}

export type StepReport =
  | { state: "under_way"; progress: Progress }
  | { state: "batch"; progress: Progress; result: Result; llc: LlcReport }
  | { state: "ended"; progress: Progress; result: Result; text: string; llc: LlcReport }
  | { state: "refused"; error: Refusal };

/** The events of a run: first the checked scenario, then steps. */
export type RunEvent = { kind: "checked"; checked: Checked } | { kind: "step"; step: StepReport };

export type Listener = (event: RunEvent) => void;

/** Places for runs, each of which has one at a time; places run beside each other. */
export type Lane = "a" | "b" | "curve" | "trace-a" | "trace-b";

/** The simulator: in this browser, or behind `skipline explore`. */
export interface Engine {
  readonly kind: "browser" | "native";
  /** Starts a run; the run that the lane had is dropped. Calling what it returns ends the run. */
  run(lane: Lane, request: RunRequest, listener: Listener): () => void;
  /** Calls a function of the facts module. */
  fact(name: string, argument?: string): Promise<string | null>;
  /** Gives a file to the simulator. */
  putFile(name: string, content: Uint8Array): Promise<void>;
}

/** Whether an answer is a refusal. */
export function isRefused(answer: object): answer is { state: "refused"; error: Refusal } {
  return "state" in answer && answer.state === "refused";
}
