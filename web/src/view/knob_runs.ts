// The runs behind a curve: one configuration or two at other values of one knob.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Result } from "../engine/protocol";
import { type Config, presetFor, request, type Side, withSetting } from "../model/config";
import { knobOf } from "../model/knobs";
import { configs, curveKey, engine, parts } from "../store";

/** A point of a curve; without a result the simulator refuses its value. */
export interface KnobPoint {
  done: boolean;
  result?: Result;
  refused?: string;
}

/** Points by the value of the knob. */
export type KnobPoints = Map<number, KnobPoint>;

interface Known {
  question: string;
  points: KnobPoints;
}

/** Values of a knob that a curve has points at. */
function valuesAlong(config: Config, key: string): number[] {
  const preset = presetFor(config);
  if (preset?.curve.key === key) return preset.curve.values;
  const knob = knobOf(key);
  if (!knob || knob.from === undefined || knob.to === undefined) return [];
  const { from, to, step = 1 } = knob;
  if (knob.form === "powers") {
    const exponents = Math.log2(to) - Math.log2(from);
    const stride = Math.max(1, Math.ceil(exponents / 8));
    return Array.from({ length: Math.floor(exponents / stride) + 1 }, (_, number) => from * 2 ** (number * stride));
  }
  const count = Math.min(8, Math.round((to - from) / step) + 1);
  const values = Array.from({ length: count }, (_, number) => {
    const value = from + (to - from) * (number / Math.max(count - 1, 1));
    return step >= 1 ? Math.round(value) : Number(value.toFixed(2));
  });
  return [...new Set(values)];
}

/** All of a configuration but the knob: points of the same question belong to one curve. */
function questionOf(config: Config | undefined, key: string): string {
  if (!config) return "";
  const { [key]: _, ...others } = config.settings;
  return JSON.stringify([config.file, config.text, others, config.seed, key]);
}

/** Simulates the points of each side's curve one after the other, once what the sliders ask for has settled. */
export function useKnobRuns(): { points: Record<Side, KnobPoints>; values: number[] } {
  const [points, show] = useState<Record<Side, KnobPoints>>({ a: new Map(), b: new Map() });
  const known = useRef<Record<Side, Known>>({ a: { question: "", points: new Map() }, b: { question: "", points: new Map() } });
  const key = curveKey.value;
  const connected = engine.value;
  const both = { a: configs.a.value, b: configs.b.value };
  const settled = parts.a.state.value === "ended" && (!both.b || parts.b.state.value === "ended");
  const questions = { a: questionOf(both.a, key), b: questionOf(both.b, key) };
  const values = useMemo(() => valuesAlong(both.a, key), [questions.a]);
  useEffect(() => {
    const now = known.current;
    const publish = () => show({ a: new Map(now.a.points), b: new Map(now.b.points) });
    for (const side of ["a", "b"] as const) {
      if (now[side].question === questions[side]) continue;
      now[side] = { question: questions[side], points: new Map() };
      publish();
    }
    if (!settled || !connected) return;
    let stop: (() => void) | undefined;
    const note = (side: Side, value: number, point: KnobPoint) => {
      now[side].points.set(value, point);
      publish();
      if (point.done) next();
    };
    const next = () => {
      const all = (["a", "b"] as const).flatMap((side) => (both[side] ? values.map((value) => ({ side, value, config: both[side] as Config })) : []));
      const task = all.find(({ side, value }) => !now[side].points.get(value)?.done);
      if (!task) return;
      const { side, value, config } = task;
      stop = connected.run("curve", request(withSetting(config, key, String(value))), (event) => {
        if (event.kind === "checked" || event.step.state === "under_way") return;
        if (event.step.state === "refused") note(side, value, { done: true, refused: event.step.error.message });
        else note(side, value, { done: event.step.state === "ended", result: event.step.result });
      });
    };
    next();
    return () => stop?.();
  }, [questions.a, questions.b, settled, connected]);
  return { points, values };
}
