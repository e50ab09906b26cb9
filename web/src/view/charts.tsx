// Curves with intervals: over the run, and along a knob with published measurements under it.
import * as Plot from "@observablehq/plot";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Result } from "../engine/protocol";
import { type Config, presetFor, request, type Side, withSetting } from "../model/config";
import { csv, downloadText } from "../model/exports";
import { KNOBS, knobOf } from "../model/knobs";
import { type Quantity, quantity } from "../model/numbers";
import { valueAt } from "../model/schema";
import { chooseCurve, configs, curveKey, engine, measurements, metric, runs } from "../store";
import { PictureTools } from "./pictures";
import { Card, Mark } from "./parts";
import { labelOf } from "./tiles";

/** A drawing by Plot, drawn anew when what it is made of changes or the width does. */
function Drawing(props: { id: string; label: string; make: (width: number) => SVGElement | HTMLElement; of: unknown[] }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!place.current || width < 80) return;
    const drawing = props.make(width);
    // The drawing has one label; those that Plot gives to its groups are of no kind that may have one.
    drawing.querySelectorAll("g[aria-label]").forEach((group) => group.removeAttribute("aria-label"));
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", props.label);
    place.current.replaceChildren(drawing);
  }, [width, props.label, ...props.of]);
  return <div class="plot" id={props.id} ref={place} />;
}

const SIDES: { side: Side; colour: string }[] = [
  { side: "a", colour: "var(--category-1)" },
  { side: "b", colour: "var(--category-2)" },
];

function shownUnit(found: Quantity | undefined): { unit: string; scale: number } {
  if (found?.unit === "percent") return { unit: "%", scale: 1 };
  if (found?.unit === "ns") return { unit: "µs", scale: 1e-3 };
  return { unit: found?.unit ?? "", scale: 1 };
}

/** The chosen number while its interval tightens. */
export function Trail(): JSX.Element {
  const name = metric.value;
  const trails = SIDES.map(({ side, colour }) => ({ side, colour, trail: side === "b" && !configs.b.value ? [] : runs[side].value.trail }));
  const first = trails[0]?.trail.at(-1);
  const { unit, scale } = shownUnit(first && quantity(first, name));
  const points = trails.flatMap(({ side, trail }) =>
    trail.flatMap((result) => {
      const found = quantity(result, name);
      if (!found) return [];
      const value = found.value * scale;
      const half = (found.half ?? 0) * scale;
      return [{ side: side.toUpperCase(), ms: result.simulated_ns / 1e6, value, low: value - half, high: value + half }];
    }),
  );
  const make = (width: number) =>
    Plot.plot({
      width,
      height: 220,
      marginLeft: 52,
      style: PLOT_STYLE,
      x: { label: "simulated time, ms", grid: false },
      y: { label: `${labelOf(name)}, ${unit}`, grid: true, nice: true, zero: false, ticks: 5 },
      color: { domain: ["A", "B"], range: SIDES.map(({ colour }) => colour) },
      marks: [
        Plot.areaY(points, { x: "ms", y1: "low", y2: "high", fill: "side", fillOpacity: 0.18 }),
        Plot.lineY(points, { x: "ms", y: "value", stroke: "side", strokeWidth: 2 }),
        Plot.dot(points, { x: "ms", y: "value", fill: "side", r: 2.5 }),
      ],
    });
  const last = points.at(-1);
  const label = `${labelOf(name)} over the run${last ? `, now ${last.value.toFixed(2)} ${unit}` : ""}`;
  return (
    <Card id="trail" title="As the run goes on" tools={<PictureTools of="trail-plot" name="run" />} note="The number so far, and its 95 % interval, which narrows with every batch.">
      <Drawing id="trail-plot" label={label} make={make} of={[points]} />
    </Card>
  );
}

interface CurvePoint extends Quantity {
  x: number;
  done: boolean;
}

/** Results along the curve, by the value of the knob. */
type Curve = Map<number, { result: Result; done: boolean }>;

/** Values of a knob that a curve has points at. */
function valuesAlong(config: Config, key: string): number[] {
  const preset = presetFor(config);
  if (preset?.curve.key === key) return preset.curve.values;
  const knob = knobOf(key);
  if (!knob || knob.from === undefined || knob.to === undefined) return [];
  if (knob.form === "powers") {
    const exponents = Math.log2(knob.to) - Math.log2(knob.from);
    const step = Math.max(1, Math.ceil(exponents / 8));
    return Array.from({ length: Math.floor(exponents / step) + 1 }, (_, number) => (knob.from as number) * 2 ** (number * step));
  }
  const count = Math.min(8, Math.round((knob.to - knob.from) / (knob.step ?? 1)) + 1);
  const whole = (knob.step ?? 1) >= 1;
  const values = Array.from({ length: count }, (_, number) => {
    const value = (knob.from as number) + ((knob.to as number) - (knob.from as number)) * (number / Math.max(count - 1, 1));
    return whole ? Math.round(value) : Number(value.toFixed(2));
  });
  return [...new Set(values)];
}

/** Simulates the points of the curve one after the other, once the run of side A has settled. */
function useCurve(): { curve: Curve; failed: string | undefined; values: number[] } {
  const [curve, setCurve] = useState<Curve>(new Map());
  const [failed, setFailed] = useState<string | undefined>();
  const config = configs.a.value;
  const key = curveKey.value;
  const connected = engine.value;
  const settled = runs.a.value.state === "ended" && (!configs.b.value || runs.b.value.state === "ended");
  const { [key]: own, ...others } = config.settings;
  const question = JSON.stringify([config.file, config.text, others, config.seed, key]);
  const values = useMemo(() => valuesAlong(config, key), [question]);
  const known = useRef<{ question: string; curve: Curve }>({ question, curve: new Map() });
  useEffect(() => {
    if (known.current.question !== question) {
      known.current = { question, curve: new Map() };
      setCurve(new Map());
      setFailed(undefined);
    }
    if (!settled || !connected) return;
    let stop: (() => void) | undefined;
    const next = () => {
      const { curve: done } = known.current;
      const value = values.find((one) => !done.get(one)?.done);
      if (value === undefined) return;
      stop = connected.run("curve", request(withSetting(config, key, String(value))), (event) => {
        if (event.kind === "checked" || event.step.state === "under_way") return;
        if (event.step.state === "refused") {
          setFailed(event.step.error.message);
          return;
        }
        done.set(value, { result: event.step.result, done: event.step.state === "ended" });
        setCurve(new Map(done));
        if (event.step.state === "ended") next();
      });
    };
    next();
    return () => stop?.();
  }, [question, settled, connected]);
  return { curve, failed, values };
}

export function KnobCurve(): JSX.Element {
  const { curve, failed, values } = useCurve();
  const key = curveKey.value;
  const name = metric.value;
  const config = configs.a.value;
  const scenario = runs.a.value.result?.scenario;
  const knob = knobOf(key);
  const points: CurvePoint[] = [...curve].flatMap(([x, { result, done }]) => {
    const found = quantity(result, name);
    return found ? [{ x, done, ...found }] : [];
  });
  points.sort((one, other) => one.x - other.x);
  const now = runs.a.value.result && quantity(runs.a.value.result, name);
  const { unit, scale } = shownUnit(now);
  const measured = scenario && measurements.value ? measurements.value.points(scenario, key, name) : [];
  const logarithmic = knob?.form === "powers" || presetFor(config)?.curve.key === "rx_descriptors";
  const here = Number(config.settings[key] ?? valueAt(runs.a.value.checked?.scenario, key));
  const b = configs.b.value && runs.b.value.result;
  const hereB = b ? Number(valueAt(runs.b.value.checked?.scenario, key)) : Number.NaN;
  const foundB = b ? quantity(b, name) : undefined;
  const make = (width: number) =>
    Plot.plot({
      width,
      height: 300,
      marginLeft: 52,
      style: PLOT_STYLE,
      x: {
        type: logarithmic ? "log" : "linear",
        ...(logarithmic ? { base: 2, tickFormat: (value: number) => (Number.isInteger(Math.log2(value)) ? String(value) : "") } : {}),
        label: `${knob?.label ?? key}${knob?.unit ? `, ${knob.unit}` : ""}`,
        domain: values.length > 1 ? [Math.min(...values), Math.max(...values)] : [0, 1],
        inset: 14,
      },
      y: { label: `${labelOf(name)}, ${unit}`, grid: true, nice: true, zero: unit === "%", ...(unit === "%" ? { domain: [0, 100] } : {}), ticks: 5 },
      marks: [
        Number.isFinite(here) ? Plot.ruleX([here], { stroke: "var(--edge)", strokeDasharray: "3 4" }) : null,
        Plot.ruleX(measured, { x: "x", y1: (one) => (one.mean - (one.sd ?? 0)) * scale, y2: (one) => (one.mean + (one.sd ?? 0)) * scale, stroke: "var(--measured)", strokeWidth: 1.5 }),
        Plot.dot(measured, { x: "x", y: (one) => one.mean * scale, symbol: "diamond", fill: "var(--measured)", r: 5, title: (one) => `measured: ${(one.mean * scale).toFixed(2)} ${unit}` }),
        Plot.lineY(points, { x: "x", y: (one) => one.value * scale, stroke: "var(--category-1)", strokeWidth: 2 }),
        Plot.ruleX(points, { x: "x", y1: (one) => (one.value - (one.half ?? 0)) * scale, y2: (one) => (one.value + (one.half ?? 0)) * scale, stroke: "var(--category-1)", strokeWidth: 4, strokeOpacity: 0.35 }),
        Plot.dot(points, { x: "x", y: (one) => one.value * scale, stroke: "var(--category-1)", fill: (one) => (one.done ? "var(--category-1)" : "var(--paper)"), r: 4, title: (one) => `simulated: ${(one.value * scale).toFixed(2)} ${unit}` }),
        now && Number.isFinite(here) ? Plot.dot([now], { x: here, y: now.value * scale, stroke: "var(--ink)", strokeWidth: 2, r: 8 }) : null,
        foundB && Number.isFinite(hereB) ? Plot.dot([foundB], { x: hereB, y: foundB.value * scale, stroke: "var(--category-2)", strokeWidth: 3, r: 8 }) : null,
      ],
    });
  const label = `${labelOf(name)} along ${knob?.label ?? key}: ${points.map((one) => `${one.x}: ${(one.value * scale).toFixed(1)} ${unit}`).join("; ")}`;
  const choices = KNOBS.filter(({ key: one, form }) => (form === "numbers" || form === "powers") && isOfScenario(one));
  return (
    <Card
      id="curve"
      title="Along one knob"
      tools={
        <>
          <label class="inline">
            Along
            <select id="curve-key" value={key} onChange={(event) => chooseCurve(event.currentTarget.value)}>
              {[...new Set([key, ...choices.map((choice) => choice.key)])].map((choice) => (
                <option key={choice} value={choice}>
                  {knobOf(choice)?.label ?? choice}
                </option>
              ))}
            </select>
          </label>
          <button
            type="button"
            onClick={() =>
              downloadText("curve.csv", csv([[key, name, "ci95", "basis"], ...points.map((one) => [one.x, one.value, one.half ?? "", "simulated"]), ...measured.map((one) => [one.x, one.mean, one.sd ?? "", "measured (sd)"])]), "text/csv")
            }
          >
            CSV
          </button>
          <PictureTools of="curve-plot" name="curve" />
        </>
      }
    >
      <Drawing id="curve-plot" label={label} make={make} of={[points, measured, now, here, foundB, hereB]} />
      <p class="note key-line">
        <span class="key-mark simulated" /> simulated, with its interval ({points.filter(({ done }) => done).length} of {values.length} points){" "}
        {measured.length > 0 ? (
          <>
            <span class="key-mark measured" /> <Mark basis="measured" /> mean and standard deviation: {measurements.value?.source}; {measured.filter(({ fitted }) => fitted).length} of these{" "}
            {measured.length} points chose parameters of the model (<Mark basis="fitted" />), the others it <Mark basis="predicted" />
          </>
        ) : measurements.value ? (
          <>Nothing was measured with these settings: the table is of {measurements.value.source}.</>
        ) : (
          <>No measurement of this situation is published.</>
        )}
      </p>
      {failed && <p class="note">Some values cannot be: {failed}</p>}
    </Card>
  );
}

function isOfScenario(key: string): boolean {
  const scenario = runs.a.value.checked?.scenario;
  if (!scenario) return false;
  const value = valueAt(scenario, key);
  return typeof value === "number" && (presetFor(configs.a.value)?.knobs.includes(key) ?? true);
}

const PLOT_STYLE = { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit", overflow: "visible" };
