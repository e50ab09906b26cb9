// The state of the page, and the runs that follow from it.
import { batch, computed, effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import type { Checked, Engine, LlcReport, Progress, Refusal, Result, RunEvent } from "./engine/protocol";
import { type Config, DEFAULT, presetFor, request, type Side, withSetting } from "./model/config";
import { LINK_VERSION, readLink, type View, writeLink } from "./model/link";
import { Measurements } from "./model/measured";
import { quantity } from "./model/numbers";
import { Schema } from "./model/schema";

/** A number of one metric at a moment of a run. */
export interface TrailPoint {
  ms: number;
  value: number;
  half?: number;
}

/** The run of one side, as far as it is known. */
export interface RunState {
  checked?: Checked;
  result?: Result;
  llc?: LlcReport;
  progress?: Progress;
  /** The exact text of the result, once the run has ended. */
  text?: string;
  refusal?: Refusal;
  state: "idle" | "running" | "ended" | "refused";
  /** Results so far, for charts over time. */
  trail: Result[];
}

export interface MetricFacts {
  name: string;
  unit: string;
  group: string;
  label: string;
  about: string;
}

export interface Catalogue {
  version: string;
  files: string[];
  platforms: string[];
  nics: string[];
  ssds: string[];
}

/** Times in ms, until what is meant is drawn: `first` from the navigation on, the others since the wish for it. */
export const timings = { first: 0, requested: 0, firstBatch: [] as number[], settled: [] as number[] };

export const engine = signal<Engine | undefined>(undefined);
export const failure = signal<string | undefined>(undefined);
export const schema = signal<Schema | undefined>(undefined);
export const catalogue = signal<Catalogue | undefined>(undefined);
export const metricFacts = signal<Map<string, MetricFacts>>(new Map());
export const measurements = signal<Measurements | undefined>(undefined);
export const linkProblems = signal<string[]>([]);
/** Files that were imported; a link has none of them. */
export const imported = signal<string[]>([]);

const opened = readLink(location.hash);
export const configs = {
  a: signal<Config>(opened.view.a ?? DEFAULT),
  b: signal<Config | undefined>(opened.view.b),
};
export const runs: Record<Side, Signal<RunState>> = {
  a: signal<RunState>({ state: "idle", trail: [] }),
  b: signal<RunState>({ state: "idle", trail: [] }),
};
type RunParts = { readonly [Part in keyof RunState]-?: ReadonlySignal<RunState[Part]> };

function partsOf(run: Signal<RunState>): RunParts {
  return {
    checked: computed(() => run.value.checked),
    result: computed(() => run.value.result),
    llc: computed(() => run.value.llc),
    progress: computed(() => run.value.progress),
    text: computed(() => run.value.text),
    refusal: computed(() => run.value.refusal),
    state: computed(() => run.value.state),
    trail: computed(() => run.value.trail),
  };
}

/** Each property of a run's state as a signal: a component is rendered when one that it reads changes, not with each step of the run. */
export const parts: Record<Side, RunParts> = { a: partsOf(runs.a), b: partsOf(runs.b) };

/** The last results of a run, for drawings. */
export type Drawn = Pick<RunState, "result" | "llc" | "trail">;

/** Drawings follow the numbers, which are painted first, and no more often than eyes follow. */
export const drawn: Record<Side, Signal<Drawn>> = { a: signal<Drawn>({ trail: [] }), b: signal<Drawn>({ trail: [] }) };
const REDRAW_MS = 250;

function redraw(side: Side): void {
  let last = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    last = performance.now();
    const { result, llc, trail } = runs[side].peek();
    drawn[side].value = { ...(result ? { result } : {}), ...(llc ? { llc } : {}), trail };
  };
  effect(() => {
    const { result, llc, trail, state } = parts[side];
    // Reading them makes this follow them.
    void [result.value, llc.value, trail.value];
    const pause = state.value === "running" ? Math.max(0, last + REDRAW_MS - performance.now()) : 0;
    clearTimeout(timer);
    timer = setTimeout(() => requestAnimationFrame(() => setTimeout(draw)), pause);
  });
}

redraw("a");
redraw("b");

/** The side whose controls are shown on a narrow screen. */
export const edited = signal<Side>("a");
const wantedCurve = signal<string | undefined>(opened.view.curveKey);
const wantedMetric = signal<string | undefined>(opened.view.metric);
linkProblems.value = opened.problems;

export const curveKey = computed(() => wantedCurve.value ?? presetFor(configs.a.value)?.curve.key ?? "rx_descriptors");
/** The metric of the charts: the chosen one if the result has it. */
export const metric = computed(() => {
  const wished = wantedMetric.value ?? presetFor(configs.a.value)?.curve.metric ?? "pcie_write_hit_rate";
  const result = parts.a.result.value;
  if (!result || quantity(result, wished)) return wished;
  return ["pcie_write_hit_rate", "throughput_gbps", "offload_gbytes_per_s", "work_per_s"].find((name) => quantity(result, name)) ?? wished;
});

export function chooseCurve(key: string): void {
  wantedCurve.value = key;
}

export function chooseMetric(name: string): void {
  wantedMetric.value = name;
}

/** Begins with another configuration: what was chosen for charts is forgotten. */
export function open(config: Config): void {
  batch(() => {
    configs.a.value = config;
    wantedCurve.value = undefined;
    wantedMetric.value = undefined;
    linkProblems.value = [];
  });
}

export function set(side: Side, key: string, value: string | undefined): void {
  const config = configs[side].value;
  if (config) configs[side].value = withSetting(config, key, value);
}

export function compare(on: boolean): void {
  batch(() => {
    configs.b.value = on ? { ...configs.a.value, settings: { ...configs.a.value.settings } } : undefined;
    edited.value = on ? "b" : "a";
  });
}

export function swap(): void {
  const b = configs.b.value;
  if (!b) return;
  batch(() => {
    [configs.a.value, configs.b.value] = [b, configs.a.value];
  });
}

export const view = computed<View>(() => ({
  a: configs.a.value,
  ...(configs.b.value ? { b: configs.b.value } : {}),
  ...(wantedCurve.value ? { curveKey: wantedCurve.value } : {}),
  ...(wantedMetric.value ? { metric: wantedMetric.value } : {}),
}));

/** The state of a run whose scenario is good: a refusal before it is over. */
function withChecked({ refusal: _, ...kept }: RunState, checked: Checked): RunState {
  return { ...kept, checked };
}

/** Follows the run of one side in its signal. */
function follow(side: Side, config: Config): () => void {
  const run = runs[side];
  // The exact text is that of another configuration; numbers stay until there are others.
  const { text: _, ...before } = run.peek();
  if (side === "a") timings.requested = performance.now();
  run.value = { ...before, state: "running", trail: [] };
  let begun = false;
  let checked: Checked | undefined;
  const listener = (event: RunEvent) => {
    if (event.kind === "checked") {
      // Drawn with the first numbers, which a drawing before them would delay.
      checked = event.checked;
      return;
    }
    const { step } = event;
    const now = checked ? withChecked(run.peek(), checked) : run.peek();
    checked = undefined;
    if (step.state === "refused") {
      run.value = { ...now, state: "refused", refusal: step.error };
    } else if (step.state === "under_way") {
      run.value = { ...now, progress: step.progress };
    } else {
      if (!begun) note(side, "firstBatch");
      begun = true;
      const ended = step.state === "ended";
      if (ended) note(side, "settled");
      run.value = {
        ...now,
        progress: step.progress,
        result: step.result,
        llc: step.llc,
        state: ended ? "ended" : "running",
        trail: [...now.trail, step.result],
        ...(ended ? { text: step.text } : {}),
      };
    }
  };
  const stop = engine.peek()?.run(side, request(config), listener);
  return () => stop?.();
}

function note(side: Side, what: "firstBatch" | "settled"): void {
  if (side !== "a") return;
  const { requested } = timings;
  const painted = () => {
    const now = performance.now();
    timings.first ||= now;
    timings[what].push(now - requested);
  };
  // The frame after the one that shows it.
  requestAnimationFrame(() => requestAnimationFrame(painted));
}

const LINK_PAUSE_MS = 150;

/** The experiment whose measurements stand under the curve. */
const experiment = computed(() => presetFor(configs.a.value)?.experiment);

/** Connects the engine: runs follow the configurations from now on. */
export async function connect(connected: Engine): Promise<void> {
  engine.value = connected;
  effect(() => {
    const config = configs.a.value;
    return untracked(() => follow("a", config));
  });
  effect(() => {
    const config = configs.b.value;
    if (!config) {
      untracked(() => (runs.b.value = { state: "idle", trail: [] }));
      return;
    }
    return untracked(() => follow("b", config));
  });
  effect(() => {
    const path = experiment.value;
    measurements.value = undefined;
    if (!path) return;
    let current = true;
    void Measurements.load(connected, path).then((found) => {
      if (current) measurements.value = found;
    });
    return () => (current = false);
  });
  effect(() => {
    const link = writeLink(view.value);
    // Browsers refuse an address that changes with every move of a slider.
    const later = setTimeout(() => history.replaceState(null, "", link), LINK_PAUSE_MS);
    return () => clearTimeout(later);
  });
  const [keys, names, metrics] = await Promise.all([
    connected.fact("schema", "scenario"),
    connected.fact("catalogue"),
    connected.fact("metrics"),
  ]);
  batch(() => {
    if (keys) schema.value = new Schema(JSON.parse(keys));
    if (names) catalogue.value = JSON.parse(names);
    const read: MetricFacts[] = metrics ? JSON.parse(metrics) : [];
    metricFacts.value = new Map(read.map((facts) => [facts.name, facts]));
  });
}

addEventListener("hashchange", () => {
  const { view: read, problems } = readLink(location.hash);
  if (writeLink(read) === writeLink(view.peek())) return;
  batch(() => {
    configs.a.value = read.a;
    configs.b.value = read.b;
    wantedCurve.value = read.curveKey;
    wantedMetric.value = read.metric;
    linkProblems.value = problems;
  });
});

export { LINK_VERSION };
