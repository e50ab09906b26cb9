// Step mode: one packet or descriptor, line operation by line operation, of each side.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunRequest } from "../engine/protocol";
import { request, type Side } from "../model/config";
import type { Story } from "../model/stories";
import { configs, engine, parts } from "../store";
import { sentence } from "./controls";
import { Alert, Card } from "./parts";
import { Stories } from "./stories";

type Kind = "packet" | "descriptor";

/** The story of one side, as far as it is known. */
interface Followed {
  story?: Story;
  problem?: string;
  busy?: boolean;
}

const NOTHING: Followed = {};

export function Steps(): JSX.Element {
  const [number, setNumber] = useState(5000);
  const [kind, setKind] = useState<Kind>("packet");
  const [at, setAt] = useState(0);
  const isOffload = parts.a.checked.value?.scenario.application === "offload";
  useEffect(() => setKind(isOffload ? "descriptor" : "packet"), [isOffload]);
  const followers = { a: useFollower("a"), b: useFollower("b") };
  const two = configs.b.value !== undefined;
  const sides: Side[] = two ? ["a", "b"] : ["a"];
  const stories = sides.flatMap((side) => {
    const { story } = followers[side].followed;
    return story ? [{ side, story }] : [];
  });
  const busy = sides.some((side) => followers[side].followed.busy);
  const follow = () => {
    setAt(0);
    for (const side of sides) followers[side].follow(kind, number);
  };
  return (
    <Card
      id="steps"
      title={`One ${kind}, line by line`}
      wide
      note={`As skipline run --trace-${kind} N has it: each operation on a line, in the order of time. Arrow keys in the list go back and forth${two ? ", on both sides at once" : ""}.`}
    >
      <form
        class="step-form"
        onSubmit={(event) => {
          event.preventDefault();
          follow();
        }}
      >
        <label class="inline">
          Follow
          <select id="step-kind" value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
            <option value="packet">packet</option>
            <option value="descriptor">descriptor of a copy engine</option>
          </select>
        </label>
        <label class="inline">
          number
          <input
            class="number"
            id="step-number"
            type="number"
            min={0}
            max={10_000_000}
            value={number}
            onInput={(event) => setNumber(Math.max(0, Math.trunc(Number(event.currentTarget.value))))}
          />
        </label>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "running …" : "Follow it"}
        </button>
        {sides.map((side) => {
          const { problem } = followers[side].followed;
          return problem && <Alert key={side}>{`${two ? `${side.toUpperCase()}: ` : ""}${sentence(problem)}`}</Alert>;
        })}
      </form>
      {stories.length > 0 && <Stories stories={stories} two={two} at={at} go={setAt} />}
    </Card>
  );
}

/** Runs a side again with one packet or descriptor recorded; a change of the side ends that, and forgets it. */
function useFollower(side: Side): { followed: Followed; follow: (kind: Kind, number: number) => void } {
  const [followed, tell] = useState<Followed>(NOTHING);
  const stop = useRef<(() => void) | undefined>(undefined);
  const config = configs[side].value;
  useEffect(() => {
    tell(NOTHING);
    return () => stop.current?.();
  }, [config]);
  const follow = (kind: Kind, number: number) => {
    if (!config) return;
    tell({ busy: true });
    const wanted: RunRequest = { ...request(config), ...(kind === "packet" ? { trace_packet: number } : { trace_descriptor: number }) };
    stop.current = engine.value?.run(`trace-${side}`, wanted, (event) => {
      if (event.kind === "checked") return;
      const { step } = event;
      if (step.state === "refused") tell({ problem: step.error.message });
      if (step.state !== "ended") return;
      const { trace, descriptor_trace: descriptor } = step.result;
      const events = kind === "packet" ? (trace ?? []) : (descriptor?.events ?? []);
      if (events.length > 0) tell({ story: { events, ...(descriptor ? { descriptor } : {}) } });
      else tell({ problem: `There is no ${kind} ${number}: they are numbered from 0, and this run ended before it came. Choose a lower number` });
    });
  };
  return { followed, follow };
}
