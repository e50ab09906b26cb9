// The numbers that matter most, with intervals, one side or two with the difference.
import type { JSX } from "preact";
import type { Result } from "../engine/protocol";
import { presetFor, type Side } from "../model/config";
import { type Quantity, quantity, short, shown, shownHalf } from "../model/numbers";
import { chooseMetric, configs, measurements, metric, metricFacts, parts } from "../store";
import { type Basis, Mark } from "./parts";

/** Names in the order in which they are looked for; those of tenants stand before those of the machine. */
const WANTED = [
  "main:pcie_write_hit_rate", "pcie_write_hit_rate", "throughput_gbps", "tx_mpps", "offload_gbytes_per_s", "offload_core_time",
  "copies:offload_gbytes_per_s", "storage:ssd_read_gbytes_per_s", "second:pcie_write_hit_rate", "latency_ns.p50",
  "latency_ns.p99", "dram_write_gbytes_per_s", "dram_read_gbytes_per_s", "rx_dropped", "time_in_regime.idle",
];
const MOST = 8;

export function tilesOf(result: Result): string[] {
  const found = WANTED.filter((name) => quantity(result, name));
  const [main, all] = ["main:pcie_write_hit_rate", "pcie_write_hit_rate"];
  const isShared = Array.isArray(result.scenario.tenant) && result.scenario.tenant.length > 0;
  const doubled = found.includes(main) && found.includes(all) ? (isShared ? all : main) : undefined;
  return found.filter((name) => name !== doubled).slice(0, MOST);
}

/** The name of a number: its metric's label, its part, its tenant. */
export function labelOf(name: string): string {
  const [full = name, part] = name.includes(".") ? [name.slice(0, name.indexOf(".")), name.slice(name.indexOf(".") + 1)] : [name];
  const colon = full.lastIndexOf(":");
  const [tenant, bare] = colon < 0 ? ["", full] : [full.slice(0, colon), full.slice(colon + 1)];
  const label = metricFacts.value.get(bare)?.label ?? bare;
  return `${label}${part ? `, ${part.replaceAll("_", " ")}` : ""}${tenant ? ` (${tenant})` : ""}`;
}

export function aboutOf(name: string): string {
  const bare = (name.split(".")[0] ?? name).split(":").pop() ?? name;
  return metricFacts.value.get(bare)?.about ?? "";
}

/** Whether a simulated number is at a point on which the model was fitted. */
export function basisOf(side: Side): Basis {
  const config = configs[side].value;
  const scenario = parts[side].result.value?.scenario;
  const table = measurements.value;
  if (!config || !scenario || !table || presetFor(config) === undefined) return "predicted";
  return table.fittedOn(scenario, Object.keys(config.settings)) ? "fitted" : "predicted";
}

export function Tiles(): JSX.Element {
  const a = parts.a.result.value;
  const b = configs.b.value ? parts.b.result.value : undefined;
  const basis = { a: basisOf("a"), b: basisOf("b") };
  const names = a ? tilesOf(a) : ["pcie_write_hit_rate", "throughput_gbps", "latency_ns.p50", "latency_ns.p99"];
  return (
    <div class={`tiles${b ? " two" : ""}`} id="tiles" aria-live="off">
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class={`tile${metric.value === name ? " chosen" : ""}`}
          aria-pressed={metric.value === name}
          title={`${aboutOf(name)} Click: show it in the charts.`}
          data-metric={name}
          onClick={() => chooseMetric(name)}
        >
          <span class="tile-label">{labelOf(name)}</span>
          <Number_ side="a" quantity={a && quantity(a, name)} two={b !== undefined} basis={basis.a} />
          {b && <Number_ side="b" quantity={quantity(b, name)} two basis={basis.b} />}
          {a && b && <Difference a={quantity(a, name)} b={quantity(b, name)} />}
        </button>
      ))}
    </div>
  );
}

function Number_({ side, quantity: found, two, basis }: { side: Side; quantity: Quantity | undefined; two: boolean; basis: Basis }): JSX.Element {
  const [number, unit] = found ? shown(found) : ["–", ""];
  return (
    <span class={`tile-number side-${side}`}>
      {two && <span class="side-name">{side.toUpperCase()}</span>}
      <b>{number}</b> <span class="unit">{unit}</span> <span class="half">{found ? shownHalf(found) : ""}</span> {found && <Mark basis={basis} />}
    </span>
  );
}

/** B against A: a change, or no more than the intervals allow. */
function Difference({ a, b }: { a: Quantity | undefined; b: Quantity | undefined }): JSX.Element | null {
  if (!a || !b) return null;
  const change = b.value - a.value;
  const noise = Math.hypot(a.half ?? 0, b.half ?? 0);
  const clear = Math.abs(change) > noise;
  const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
  const amount = a.unit === "percent" ? `${Math.abs(change).toFixed(1)} points` : a.value ? `${short((100 * Math.abs(change)) / Math.abs(a.value))} %` : short(Math.abs(change));
  return (
    <span class={`difference${clear ? " clear" : ""}`}>
      {clear ? `B − A: ${sign}${amount}` : "no clear difference"}
    </span>
  );
}

/** How a run goes, in a line. */
export function RunLine({ side }: { side: Side }): JSX.Element {
  const run = parts[side];
  const [state, result, progress] = [run.state.value, run.result.value, run.progress.value];
  const name = configs.b.value ? `${side.toUpperCase()}: ` : "";
  const words =
    state === "refused"
      ? "refused; the numbers are those before"
      : state === "ended" && result
        ? `settled: ${short(result.packets)} packets or operations, ${result.batches} batches, ${(result.simulated_ns / 1e6).toFixed(1)} ms simulated in ${result.wall_s.toFixed(2)} s${ending(result)}`
        : result
          ? "the intervals tighten …"
          : "the first batch …";
  return (
    <p class="run-line" data-state={state} data-side={side}>
      <progress max={1} value={state === "ended" ? 1 : (progress?.fraction ?? 0)} aria-label={`${name}Progress of the run`} />
      <span>
        {name}
        {words}
      </span>
      <Mark basis={basisOf(side)} />
    </p>
  );
}

function ending(result: Result): string {
  if (!result.settled) return "; it has not settled: queues were still filling";
  return result.stopped_by === "cap" ? "; the cap of batches came before the intervals were narrow" : "";
}
