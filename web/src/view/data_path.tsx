// The data path: who moves how much, as widths.
import type { JSX } from "preact";
import type { Result } from "../engine/protocol";
import type { Side } from "../model/config";
import { quantity, short, total } from "../model/numbers";
import { drawn } from "../store";
import { Term } from "./parts";

interface Flow {
  id: string;
  label: string;
  /** GB/s. */
  rate: number;
  colour: string;
  /** From where to where, in the units of the drawing. */
  from: [number, number];
  to: [number, number];
  /** The place of the label: above a horizontal flow, or beside a vertical one. */
  side: "above" | "left" | "right";
  dashed?: boolean;
}

const LINE = 64;
/** Width of the widest flow. */
const WIDEST = 28;

/** Flows in GB/s over the measured time. */
export function flowsOf(result: Result): { [flow: string]: number } {
  const ns = Math.max(result.simulated_ns - result.warmup_ns, 1);
  const lines = (name: string) => (total(result, name) * LINE) / ns;
  const perSecond = (name: string) => (total(result, name) * LINE) / 1e9;
  const unread = Object.entries((result.metrics.evictions?.value ?? {}) as { [pair: string]: number })
    .filter(([pair]) => /^[^>]*>(?!core)[^:]*:unread$/.test(pair))
    .reduce((sum, [, count]) => sum + count, 0);
  return {
    writeHits: lines("pcie_write_hits"),
    writeMisses: lines("pcie_write_misses"),
    readHits: lines("pcie_read_hits"),
    readMisses: lines("pcie_read_misses"),
    dramReads: quantity(result, "dram_read_gbytes_per_s")?.value ?? 0,
    dramWrites: quantity(result, "dram_write_gbytes_per_s")?.value ?? 0,
    leak: (unread * LINE) / ns,
    coreFetches: perSecond("l2_misses_per_s"),
    coreMisses: perSecond("llc_misses_per_s"),
    prefetches: perSecond("llc_prefetch_misses_per_s") + perSecond("llc_software_prefetch_misses_per_s"),
  };
}

const [LEFT, CACHE, CACHE_END, CORES, TOP, BOTTOM, MEMORY] = [132, 322, 562, 672, 28, 276, 372];

function arrowsOf(flows: { [flow: string]: number }): Flow[] {
  const rate = (name: string) => flows[name] ?? 0;
  const toCache = (y: number) => ({ from: [LEFT, y] as [number, number], to: [CACHE, y] as [number, number], side: "above" as const });
  const toDevice = (y: number) => ({ from: [CACHE, y] as [number, number], to: [LEFT, y] as [number, number], side: "above" as const });
  const down = (x: number) => ({ from: [x, BOTTOM] as [number, number], to: [x, MEMORY] as [number, number] });
  const up = (x: number, top = BOTTOM) => ({ from: [x, MEMORY] as [number, number], to: [x, top] as [number, number] });
  return [
    { id: "write-hits", label: "writes that hit", rate: rate("writeHits"), colour: "--category-3", ...toCache(72) },
    { id: "write-misses", label: "writes that miss", rate: rate("writeMisses"), colour: "--category-2", ...toCache(132) },
    { id: "read-hits", label: "reads that hit", rate: rate("readHits"), colour: "--category-3", ...toDevice(192) },
    { id: "read-misses", label: "reads that miss", rate: rate("readMisses"), colour: "--category-2", ...toDevice(252) },
    { id: "core-fetches", label: "to cores", rate: rate("coreFetches"), colour: "--category-1", from: [CACHE_END, 92], to: [CORES, 92], side: "above" },
    { id: "leak", label: "the leak: unread", rate: rate("leak"), colour: "--fails", ...down(356), side: "left" },
    { id: "dram-writes", label: "writes", rate: rate("dramWrites"), colour: "--category-5", ...down(420), side: "right" },
    { id: "dram-reads", label: "reads", rate: rate("dramReads"), colour: "--category-6", ...up(530), side: "right" },
    { id: "prefetches", label: "by prefetches", rate: rate("prefetches"), colour: "--category-4", ...up(700, 132), side: "left", dashed: true },
    { id: "core-misses", label: "by loads", rate: rate("coreMisses"), colour: "--category-7", ...up(730, 132), side: "right", dashed: true },
  ];
}

export function DataPath({ side, sides }: { side: Side; sides: Side[] }): JSX.Element {
  const scale = scaleOf(sides.map((one) => drawn[one].value.result));
  const result = drawn[side].value.result;
  const flows = result ? flowsOf(result) : {};
  const all = arrowsOf(flows);
  const words = all.filter(({ rate }) => rate >= 0.005).map(({ label, rate }) => `${label}: ${short(rate)} GB/s`);
  return (
    <figure class="data-path">
      <svg viewBox="0 0 820 424" role="img" aria-label={`Data path. ${words.join("; ")}`} class="drawing" id={`data-path-${side}`}>
        <defs>
          {all.map(({ id, colour }) => (
            <marker key={id} id={`${side}-${id}`} viewBox="0 0 10 10" refX="6" refY="5" markerWidth="12" markerHeight="12" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
              <path d="M0 0L10 5L0 10z" style={{ fill: `var(${colour})` }} />
            </marker>
          ))}
        </defs>
        <Box x={10} y={TOP} width={LEFT - 10} height={BOTTOM - TOP} title="Devices" sub="NIC, SSD, DSA" />
        <Box x={CACHE} y={TOP} width={CACHE_END - CACHE} height={BOTTOM - TOP} title="Last-level cache" sub={result ? hitWords(result) : ""} />
        <Box x={CORES} y={TOP} width={128} height={104} title="Cores" sub="L1 and L2" />
        <Box x={CACHE} y={MEMORY} width={800 - CACHE} height={46} title="Memory (DRAM)" sub="" />
        {all.map((flow) => (
          <FlowLine key={flow.id} side={side} flow={flow} scale={scale} />
        ))}
      </svg>
      <figcaption class="about">
        Widths are GB/s, on one scale for both sides. A device's write that misses{" "}
        <Term id="allocate">allocates</Term> a line in its ways; what was <Term id="unread">unread</Term> there and has to go is the{" "}
        <Term id="leak">leak</Term>. Dashed: parts of what is read from memory.
      </figcaption>
    </figure>
  );
}

function hitWords(result: Result): string {
  const hits = quantity(result, "pcie_write_hit_rate");
  return hits ? `${hits.value.toFixed(0)} % of writes hit` : "";
}

function Box(props: { x: number; y: number; width: number; height: number; title: string; sub: string }): JSX.Element {
  const { x, y, width, height, title, sub } = props;
  const below = height > 60;
  return (
    <g class="box">
      <rect x={x} y={y} width={width} height={height} rx="10" />
      <text x={x + width / 2} y={below ? y + height / 2 - 4 : y + height / 2 + 6} text-anchor="middle" class="box-title">
        {title}
      </text>
      {below && (
        <text x={x + width / 2} y={y + height / 2 + 16} text-anchor="middle" class="box-sub">
          {sub}
        </text>
      )}
    </g>
  );
}

function FlowLine({ side, flow, scale }: { side: Side; flow: Flow; scale: number }): JSX.Element | null {
  const { rate, colour, label, id, from, to, dashed } = flow;
  const quiet = rate < 0.005;
  if (quiet && dashed) return null;
  const width = quiet ? 1 : Math.min(Math.max(rate * scale, 1.2), WIDEST);
  const line = `M${from.join(" ")}L${to.join(" ")}`;
  const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  const gap = width / 2 + 6;
  const [at, anchor]: [[number, number], string] =
    flow.side === "above" ? [[x, y - gap], "middle"] : flow.side === "left" ? [[x - gap, y], "end"] : [[x + gap, y], "start"];
  const said = quiet ? "none" : `${short(rate)} GB/s`;
  const isWide = Math.abs(to[0] - from[0]) > 150;
  return (
    <g class={`flow${quiet ? " quiet" : ""}`} data-flow={id} data-rate={rate.toFixed(3)}>
      <path d={line} style={{ stroke: quiet ? "var(--grid)" : `var(${colour})`, strokeWidth: width, strokeDasharray: dashed ? "3 3" : "none" }} />
      {!quiet && <path d={line} marker-end={`url(#${side}-${id})`} style={{ stroke: "none" }} />}
      {isWide ? (
        <text x={at[0]} y={at[1]} text-anchor={anchor}>
          <tspan class="flow-label">{label} </tspan>
          <tspan class="flow-rate">{said}</tspan>
        </text>
      ) : (
        <text x={at[0]} y={flow.side === "above" ? at[1] - 15 : at[1] - 6} text-anchor={anchor}>
          <tspan class="flow-label">{label}</tspan>
          <tspan class="flow-rate" x={at[0]} dy="1.2em">
            {said}
          </tspan>
        </text>
      )}
    </g>
  );
}

/** Pixels for a GB/s, so that the widest flow of both sides fits. */
function scaleOf(results: (Result | undefined)[]): number {
  const rates = results.flatMap((result) => (result ? Object.values(flowsOf(result)) : []));
  return WIDEST / Math.max(...rates, 1);
}
