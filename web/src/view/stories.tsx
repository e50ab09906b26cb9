// Stories of one side or two: where they are at a step, all their steps, and how they differ.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { TraceEvent } from "../engine/protocol";
import type { Side } from "../model/config";
import { durationOf, nanoseconds, placesOf, type Story, totalsOf } from "../model/stories";

interface SideStory {
  side: Side;
  story: Story;
}

const PLACES = ["device", "cache", "core", "memory"] as const;

/** A step forth or back is one on both sides; a story that has fewer steps stays at its last. */
export function Stories(props: { stories: SideStory[]; two: boolean; at: number; go: (at: number) => void }): JSX.Element {
  const { stories, two, at, go } = props;
  const last = Math.max(...stories.map(({ story }) => story.events.length)) - 1;
  const move = (to: number) => go(Math.min(Math.max(to, 0), last));
  const keys = (pressed: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: last, PageDown: at + 10, PageUp: at - 10 }[pressed.key];
    if (to === undefined) return;
    pressed.preventDefault();
    move(to);
  };
  return (
    <>
      <div class="story-buttons">
        <button type="button" onClick={() => move(0)} disabled={at === 0} aria-label="First step">
          |◀
        </button>
        <button type="button" onClick={() => move(at - 1)} disabled={at === 0} aria-label="Step back">
          ◀
        </button>
        <span id="step-at">
          step {at + 1} of {last + 1}
        </span>
        <button type="button" onClick={() => move(at + 1)} disabled={at === last} aria-label="Step forth">
          ▶
        </button>
        <button type="button" onClick={() => move(last)} disabled={at === last} aria-label="Last step">
          ▶|
        </button>
      </div>
      <div class={two ? "sides" : ""}>
        {stories.map(({ side, story }) => {
          const own = Math.min(at, story.events.length - 1);
          return (
            <div key={side} class={two ? `of-side side-${side}` : "story-parts"} data-story={side}>
              {two && <h3>{side.toUpperCase()}</h3>}
              <Moment story={story} at={own} />
              <EventList label={two ? `All steps of ${side.toUpperCase()}` : "All steps"} story={story} at={own} move={move} keys={keys} />
            </div>
          );
        })}
      </div>
      <InAll stories={stories} two={two && stories.length === 2} />
    </>
  );
}

/** A step in words, and the phases of a descriptor. */
function Moment({ story, at }: { story: Story; at: number }): JSX.Element {
  const { events, descriptor } = story;
  const event = events[at] as TraceEvent;
  const places = placesOf(event);
  return (
    <div class="story-now" aria-live="polite">
      <ol class="places" aria-hidden="true">
        {PLACES.map((place) => (
          <li key={place} class={places.includes(place) ? "here" : ""}>
            {place}
          </li>
        ))}
      </ol>
      <p>
        <b>{nanoseconds(event.time_ns - (events[0]?.time_ns ?? 0))}</b> after the first: <b>{event.agent}</b> does a <b>{event.operation}</b> on line{" "}
        {event.line}
        {event.part ? ` of its ${event.part}` : ""}; it is found: <b>{event.found}</b>.
      </p>
      {event.evicted && (
        <p>
          For it a line of <b>{event.evicted.owner}</b> goes: {event.evicted.state === "dirty" ? "written back to memory" : "clean, dropped"},{" "}
          {event.evicted.read ? "read before" : "unread: a leak, if a device wrote it"}.
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
  );
}

function EventList(props: { label: string; story: Story; at: number; move: (at: number) => void; keys: (pressed: KeyboardEvent) => void }): JSX.Element {
  const { label, at, move, keys } = props;
  const { events } = props.story;
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const current = list.current?.children[at] as HTMLElement | undefined;
    if (current && list.current) list.current.scrollTop = current.offsetTop - list.current.offsetTop - list.current.clientHeight / 2;
  }, [at, events]);
  const start = events[0]?.time_ns ?? 0;
  return (
    <ol class="events" ref={list} tabIndex={0} aria-label={label} onKeyDown={keys}>
      {events.map(({ time_ns, agent, operation, part, line, found, evicted }, number) => (
        <li key={number} class={number === at ? "here" : ""} aria-current={number === at ? "step" : undefined} onClick={() => move(number)}>
          <span class="event-time">{nanoseconds(time_ns - start)}</span>
          <span>{agent}</span>
          <span>{operation}</span>
          <span>{part ? `${part} ${line}` : `line ${line}`}</span>
          <span>{found}</span>
          <span class="soft">{evicted ? `${evicted.owner}, ${evicted.state}, ${evicted.read ? "read" : "unread"}` : ""}</span>
        </li>
      ))}
    </ol>
  );
}

/** Operations of each kind by where they found their line; with two sides what B has more or less. */
function InAll({ stories, two }: { stories: SideStory[]; two: boolean }): JSX.Element {
  const rows = totalsOf(stories.map(({ story }) => story));
  const heads = stories.map(({ side }) => (two ? side.toUpperCase() : "lines"));
  const difference = (values: number[]) => (values[1] ?? 0) - (values[0] ?? 0);
  const times = stories.map(({ story }) => durationOf(story));
  return (
    <table class="in-all" id="steps-in-all">
      <caption class="sr">Operations in all</caption>
      <thead>
        <tr>
          {["agents", "operation", "found"].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
          {[...heads, ...(two ? ["B − A"] : [])].map((head) => (
            <th key={head} scope="col" class="right">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ agents, operation, found, lines }) => (
          <tr key={`${agents}${operation}${found}`}>
            <td>{agents}</td>
            <td>{operation}</td>
            <td>{found}</td>
            {lines.map((count, place) => (
              <td key={place} class="right">
                {count}
              </td>
            ))}
            {two && <td class="right">{signed(difference(lines), String)}</td>}
          </tr>
        ))}
        <tr>
          <td colSpan={3}>from the first operation to the last</td>
          {times.map((time, place) => (
            <td key={place} class="right">
              {nanoseconds(time)}
            </td>
          ))}
          {two && <td class="right">{signed(difference(times), nanoseconds)}</td>}
        </tr>
      </tbody>
    </table>
  );
}

function signed(change: number, said: (amount: number) => string): string {
  return change === 0 ? "0" : `${change > 0 ? "+" : "−"}${said(Math.abs(change))}`;
}
