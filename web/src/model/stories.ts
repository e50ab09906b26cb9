// The story of a packet or descriptor: its line operations, and how those of two sides differ.
import type { DescriptorTrace, TraceEvent } from "../engine/protocol";
import { short } from "./numbers";

export interface Story {
  events: TraceEvent[];
  descriptor?: DescriptorTrace;
}

/** Operations of one kind that found their lines in the same part, counted for each story. */
export interface Totals {
  agents: string;
  operation: string;
  found: string;
  lines: number[];
}

/** The same as `skipline run --trace-packet` prints at its end, for one story or two. */
export function totalsOf(stories: Story[]): Totals[] {
  const totals = new Map<string, Totals>();
  stories.forEach(({ events }, place) => {
    for (const { agent, operation, found } of events) {
      const kind = { agents: agent.replace(/\d+$/, ""), operation, found: found.replace(/, way.*$/, "") };
      const key = Object.values(kind).join("|");
      const row = totals.get(key) ?? { ...kind, lines: stories.map(() => 0) };
      row.lines[place] = (row.lines[place] ?? 0) + 1;
      totals.set(key, row);
    }
  });
  return [...totals.values()];
}

/** Time from the first operation to the last, in ns. */
export function durationOf({ events }: Story): number {
  return (events.at(-1)?.time_ns ?? 0) - (events[0]?.time_ns ?? 0);
}

/** Parts of the machine that an operation touches. */
export function placesOf({ agent, found, operation, evicted }: TraceEvent): string[] {
  const places = [agent.startsWith("core") ? "core" : "device"];
  if (/LLC/.test(found) || /LLC/.test(operation)) places.push("cache");
  if (/L1D|L2|core/.test(found)) places.push("core");
  if (/DRAM|CXL/.test(found) || evicted?.state === "dirty") places.push("memory");
  return places;
}

export function nanoseconds(time: number): string {
  return time >= 1000 ? `${short(time / 1000)} µs` : `${time.toFixed(time < 10 ? 1 : 0)} ns`;
}
