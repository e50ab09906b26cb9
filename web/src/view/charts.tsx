// Curves with intervals: over the run, and along a knob with published measurements under it.
import * as Plot from "@observablehq/plot";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { presetFor, type Side } from "../model/config";
import { csv, downloadText } from "../model/exports";
import { KNOBS, knobOf } from "../model/knobs";
import { type Quantity, quantity } from "../model/numbers";
import { valueAt } from "../model/schema";
import { chooseCurve, configs, curveKey, drawn, measurements, metric, parts } from "../store";
import { type KnobPoints, useKnobRuns } from "./knob_runs";
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
    // The page has the rules of Plot's own style. A style that comes or goes costs those of every element.
    drawing.querySelectorAll("style").forEach((style) => style.remove());
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
  const trails = SIDES.map(({ side, colour }) => ({ side, colour, trail: side === "b" && !configs.b.value ? [] : drawn[side].value.trail }));
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
      height: 228,
      marginLeft: 52,
      marginBottom: 40,
      style: PLOT_STYLE,
      x: { label: "simulated time, ms", grid: false },
      y: { label: `${labelOf(name)}, ${unit}`, grid: true, nice: true, zero: false, ticks: 5 },
      color: { domain: ["A", "B"], range: SIDES.map(({ colour }) => colour) },
      marks: [
        Plot.areaY(points, { x: "ms", y1: "low", y2: "high", z: "side", fill: "side", fillOpacity: 0.18 }),
        Plot.lineY(points, { x: "ms", y: "value", z: "side", stroke: "side", strokeWidth: 2 }),
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

/** The numbers called `name` along a curve, in the order of the knob. */
function curveOf(points: KnobPoints, name: string): CurvePoint[] {
  const found = [...points].flatMap(([x, { result, done }]) => {
    const number = result && quantity(result, name);
    return number ? [{ x, done, ...number }] : [];
  });
  return found.sort((one, other) => one.x - other.x);
}

/** A line, the intervals of its points, and its points: hollow until their runs have ended. */
function drawnCurve({ points, colour }: { points: CurvePoint[]; colour: string }, scale: number, unit: string): Plot.Markish[] {
  const at = { x: "x", y: (one: CurvePoint) => one.value * scale };
  const said = (one: CurvePoint) => `simulated: ${(one.value * scale).toFixed(2)} ${unit}`;
  return [
    Plot.lineY(points, { ...at, stroke: colour, strokeWidth: 2 }),
    Plot.ruleX(points, { x: "x", y1: (one) => (one.value - (one.half ?? 0)) * scale, y2: (one) => (one.value + (one.half ?? 0)) * scale, stroke: colour, strokeWidth: 4, strokeOpacity: 0.35 }),
    Plot.dot(points, { ...at, stroke: colour, fill: (one) => (one.done ? colour : "var(--paper)"), r: 4, title: said }),
  ];
}

export function KnobCurve(): JSX.Element {
  const { points: simulated, values } = useKnobRuns();
  const key = curveKey.value;
  const name = metric.value;
  const config = configs.a.value;
  const scenario = drawn.a.value.result?.scenario;
  const knob = knobOf(key);
  const curves = SIDES.map(({ side, colour }) => ({ side, colour, points: curveOf(simulated[side], name) }));
  const points = curves[0]?.points ?? [];
  const all = [...simulated.a.values(), ...(configs.b.value ? simulated.b.values() : [])];
  const wanted = values.length * (configs.b.value ? 2 : 1);
  const failed = all.find(({ refused }) => refused)?.refused;
  const now = drawn.a.value.result && quantity(drawn.a.value.result, name);
  const { unit, scale } = shownUnit(now);
  const table = measurements.value;
  const measured = useMemo(() => (scenario && table ? table.points(scenario, key, name) : []), [scenario, table, key, name]);
  const logarithmic = knob?.form === "powers" || presetFor(config)?.curve.key === "rx_descriptors";
  // Of what is drawn, not of what the sliders say: to draw the curve anew delays the first numbers of a move.
  const here = Number(valueAt(scenario, key));
  const b = configs.b.value && drawn.b.value.result;
  const hereB = b ? Number(valueAt(b.scenario, key)) : Number.NaN;
  const foundB = b ? quantity(b, name) : undefined;
  const make = (width: number) =>
    Plot.plot({
      width,
      height: 308,
      marginLeft: 52,
      marginBottom: 40,
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
        ...curves.flatMap((curve) => drawnCurve(curve, scale, unit)),
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
              downloadText("curve.csv", csv([[key, name, "ci95", "basis"], ...curves.flatMap(({ side, points: own }) => own.map((one) => [one.x, one.value, one.half ?? "", configs.b.value ? `simulated ${side.toUpperCase()}` : "simulated"])), ...measured.map((one) => [one.x, one.mean, one.sd ?? "", "measured (sd)"])]), "text/csv")
            }
          >
            CSV
          </button>
          <PictureTools of="curve-plot" name="curve" />
        </>
      }
    >
      <Drawing id="curve-plot" label={label} make={make} of={[simulated, key, name, measured, drawn.a.value.result, b]} />
      <p class="note key-line">
        <span class="key-mark simulated" /> simulated, with its interval ({all.filter(({ done }) => done).length} of {wanted} points){" "}
        {measured.length > 0 ? (
          <>
            <span class="key-mark measured" /> <Mark basis="measured" /> mean and standard deviation: {measurements.value?.source};{" "}
            <FittedPoints fitted={measured.filter(({ fitted }) => fitted).length} all={measured.length} />
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

/** How many of the measured points chose parameters of the model. */
function FittedPoints({ fitted, all }: { fitted: number; all: number }): JSX.Element {
  if (fitted === 0) return <>no parameter of the model was chosen on these points (<Mark basis="predicted" />)</>;
  if (fitted === all) return <>parameters of the model were chosen on all of them (<Mark basis="fitted" />)</>;
  return (
    <>
      parameters of the model were chosen on {fitted} of these {all} points (<Mark basis="fitted" />), the others are <Mark basis="predicted" />
    </>
  );
}

function isOfScenario(key: string): boolean {
  const scenario = parts.a.checked.value?.scenario;
  if (!scenario) return false;
  const value = valueAt(scenario, key);
  return typeof value === "number" && (presetFor(configs.a.value)?.knobs.includes(key) ?? true);
}

const PLOT_STYLE = { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit", overflow: "visible" };
