// Numbers of results: by name, with intervals, and as people read them.
import type { Result } from "../engine/protocol";

export interface Quantity {
  value: number;
  /** Half width of the 95 % interval; undefined while there is none. */
  half?: number;
  unit: string;
}

/** The number called `metric` or `metric.part`; undefined if the result has none, or nothing was counted. */
export function quantity(result: Result, name: string): Quantity | undefined {
  const [metricName, part] = split(name);
  const metric = result.metrics[metricName];
  if (!metric) return undefined;
  const value = pick(metric.value, part);
  if (value === undefined || value === null) return undefined;
  const half = pick(metric.ci95, part);
  return { value, unit: metric.unit, ...(typeof half === "number" ? { half } : {}) };
}

/** The sum of all parts of a metric, or its one number. */
export function total(result: Result, name: string): number {
  const value = result.metrics[name]?.value;
  if (value === undefined || value === null) return 0;
  if (typeof value === "number") return value;
  return Object.values(value).reduce((sum: number, part) => sum + (part ?? 0), 0);
}

function split(name: string): [string, string | undefined] {
  const at = name.indexOf(".");
  return at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1)];
}

function pick(value: number | null | undefined | { [part: string]: number | null }, part: string | undefined) {
  if (value === null || typeof value !== "object") return part === undefined ? value : undefined;
  return part === undefined ? undefined : value[part];
}

/** Names of all single numbers of a result, the parts of a metric apart. */
export function names(result: Result): string[] {
  return Object.entries(result.metrics).flatMap(([name, { value }]) =>
    value !== null && typeof value === "object" ? Object.keys(value).map((part) => `${name}.${part}`) : [name],
  );
}

/** A number with three digits that count. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${trimmed(value / 1e9)} G`;
  if (size >= 1e6) return `${trimmed(value / 1e6)} M`;
  if (size >= 1e4) return `${trimmed(value / 1e3)} k`;
  return trimmed(value);
}

function trimmed(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** A number and its unit as people read them: percent as %, times in the unit that fits. */
export function shown({ value, unit }: Quantity): [string, string] {
  if (unit === "percent") return [value >= 99.95 ? "100" : value.toFixed(1), "%"];
  if (unit === "ns" && Math.abs(value) >= 1e6) return [trimmed(value / 1e6), "ms"];
  if (unit === "ns" && Math.abs(value) >= 1e3) return [trimmed(value / 1e3), "µs"];
  return [short(value), unit === "1" ? "" : unit];
}

/** Half of an interval in the unit that `shown` chose for its value. */
export function shownHalf(quantity: Quantity): string {
  if (quantity.half === undefined) return "";
  const scale = quantity.unit === "ns" ? (Math.abs(quantity.value) >= 1e6 ? 1e6 : Math.abs(quantity.value) >= 1e3 ? 1e3 : 1) : 1;
  const half = quantity.half / scale;
  return `± ${short(half)}`;
}

/** Bytes as KiB, MiB, GiB. */
export function bytes(value: number): string {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]] as const) {
    if (value >= size) return `${trimmed(value / size)} ${unit}`;
  }
  return `${value} B`;
}
