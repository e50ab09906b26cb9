// Step mode: one packet or descriptor, line operation by line operation, back and forth.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { DescriptorTrace, TraceEvent } from "../engine/protocol";
import { request } from "../model/config";
import { short } from "../model/numbers";
import { configs, engine, runs } from "../store";
import { Alert, Card } from "./parts";
import { sentence } from "./controls";

interface Story {
  events: TraceEvent[];
  descriptor?: DescriptorTrace;
}

export function Steps(): JSX.Element {
  const [number, setNumber] = useState(5000);
  const [story, setStory] = useState<Story | undefined>();
  const [problem, tell] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const [at, setAt] = useState(0);
  const config = configs.a.value;
  const isOffload = runs.a.value.checked?.scenario.application === "offload";
  const [kind, setKind] = useState<"packet" | "descriptor">("packet");
  useEffect(() => setKind(isOffload ? "descriptor" : "packet"), [isOffload]);
  useEffect(() => {
    setStory(undefined);
    tell(undefined);
  }, [config]);

  const follow = () => {
    tell(undefined);
    setBusy(true);
    const wanted = kind === "packet" ? { trace_packet: number } : { trace_descriptor: number };
    engine.value?.run("trace", { ...request(config), ...wanted }, (event) => {
      if (event.kind === "checked" || event.step.state === "under_way") return;
      if (event.step.state === "refused") {
        setBusy(false);
        tell(event.step.error.message);
        return;
      }
      if (event.step.state !== "ended") return;
      setBusy(false);
      const { trace, descriptor_trace: descriptor } = event.step.result;
      const events = kind === "packet" ? (trace ?? []) : (descriptor?.events ?? []);
      setAt(0);
      if (events.length === 0) {
        setStory(undefined);
        tell(`There is no ${kind} ${number}: they are numbered from 0, and this run ended before it came. Choose a lower number.`);
      } else setStory({ events, ...(descriptor ? { descriptor } : {}) });
    });
  };

  return (
    <Card id="steps" title={`One ${kind}, line by line`} wide note="What skipline run --trace-packet N prints: each operation on a line, in the order of time. Arrow keys go back and forth.">
      <form
        class="step-form"
        onSubmit={(event) => {
          event.preventDefault();
          follow();
        }}
      >
        <label class="inline">
          Follow
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value as "packet" | "descriptor")}>
            <option value="packet">packet</option>
            <option value="descriptor">descriptor of a copy engine</option>
          </select>
        </label>
        <label class="inline">
          number
          <input class="number" id="step-number" type="number" min={0} max={10_000_000} value={number} onInput={(event) => setNumber(Math.max(0, Math.trunc(Number(event.currentTarget.value))))} />
        </label>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "running …" : "Follow it"}
        </button>
        {problem && <Alert>{sentence(problem)}</Alert>}
      </form>
      {story && <StoryView story={story} at={at} go={setAt} />}
    </Card>
  );
}

const PLACES = ["device", "cache", "core", "memory"] as const;

function StoryView({ story, at, go }: { story: Story; at: number; go: (at: number) => void }): JSX.Element {
  const { events, descriptor } = story;
  const list = useRef<HTMLOListElement>(null);
  const last = events.length - 1;
  const move = (to: number) => go(Math.min(Math.max(to, 0), last));
  const event = events[at] as TraceEvent;
  useEffect(() => {
    const current = list.current?.children[at] as HTMLElement | undefined;
    if (current && list.current) list.current.scrollTop = current.offsetTop - list.current.offsetTop - list.current.clientHeight / 2;
  }, [at, events]);
  const keys = (pressed: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: last, PageDown: at + 10, PageUp: at - 10 }[pressed.key];
    if (to === undefined) return;
    pressed.preventDefault();
    move(to);
  };
  const start = events[0]?.time_ns ?? 0;
  return (
    <div class="story">
      <div class="story-now" aria-live="polite">
        <div class="story-buttons">
          <button type="button" onClick={() => move(0)} disabled={at === 0} aria-label="First step">
            |◀
          </button>
          <button type="button" onClick={() => move(at - 1)} disabled={at === 0} aria-label="Step back">
            ◀
          </button>
          <span>
            step {at + 1} of {events.length}
          </span>
          <button type="button" onClick={() => move(at + 1)} disabled={at === last} aria-label="Step forth">
            ▶
          </button>
          <button type="button" onClick={() => move(last)} disabled={at === last} aria-label="Last step">
            ▶|
          </button>
        </div>
        <ol class="places" aria-hidden="true">
          {PLACES.map((place) => (
            <li key={place} class={placesOf(event).includes(place) ? "here" : ""}>
              {place}
            </li>
          ))}
        </ol>
        <p>
          <b>{nanoseconds(event.time_ns - start)}</b> after the first: <b>{event.agent}</b> does a <b>{event.operation}</b> on line {event.line}
          {event.part ? ` of its ${event.part}` : ""}; it is found: <b>{event.found}</b>.
        </p>
        {event.evicted && (
          <p>
            For it a line of <b>{event.evicted.owner}</b> goes: {event.evicted.state === "dirty" ? "written back to memory" : "clean, dropped"}, {event.evicted.read ? "read before" : "unread: a leak, if a device wrote it"}.
          </p>
        )}
        {descriptor && (
          <table>
            <thead>
              <tr>
                <th scope="col">phase</th>
                <th scope="col" class="right">
                  took
                </th>
              </tr>
            </thead>
            <tbody>
              {descriptor.phases.map(({ phase, took_ns }) => (
                <tr key={phase}>
                  <td>{phase}</td>
                  <td class="right">{nanoseconds(took_ns)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
      <ol class="events" ref={list} tabIndex={0} aria-label="All steps" onKeyDown={keys}>
        {events.map((one, number) => (
          <li key={number} class={number === at ? "here" : ""} aria-current={number === at ? "step" : undefined} onClick={() => move(number)}>
            <span class="event-time">{nanoseconds(one.time_ns - start)}</span>
            <span>{one.agent}</span>
            <span>{one.operation}</span>
            <span>line {one.line}</span>
            <span>{one.found}</span>
            <span class="soft">{one.evicted ? `${one.evicted.owner}'s line goes` : ""}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function placesOf({ agent, found, operation, evicted }: TraceEvent): string[] {
  const places = [agent.startsWith("core") ? "core" : "device"];
  if (/LLC/.test(found) || /LLC/.test(operation)) places.push("cache");
  if (/L1D|L2|core/.test(found)) places.push("core");
  if (/DRAM|CXL/.test(found) || evicted?.state === "dirty") places.push("memory");
  return places;
}

function nanoseconds(time: number): string {
  return time >= 1000 ? `${short(time / 1000)} µs` : `${time.toFixed(time < 10 ? 1 : 0)} ns`;
}
