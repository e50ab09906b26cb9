// A guided tour of five stops, for ten minutes.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { ofPreset } from "../model/config";
import { presetOf, type Preset } from "../model/presets";
import { chooseCurve, chooseMetric, compare, configs, open, set } from "../store";
import { Term } from "./parts";

interface Stop {
  title: string;
  /** The part of the page that it is about. */
  place: string;
  preset: string;
  settings: { [key: string]: string };
  metric: string;
  curve?: string;
  text: ComponentChildren;
  task: ComponentChildren;
}

const STOPS: Stop[] = [
  {
    title: "What DDIO is",
    place: "path",
    preset: "ring",
    settings: { rx_descriptors: "256" },
    metric: "pcie_write_hit_rate",
    text: (
      <>
        A NIC writes packets straight into the last-level cache: <Term id="ddio">DDIO</Term>. A write <i>hits</i> if the line is still there
        from the last time its buffer was used. With a ring of 256 packets nearly all writes hit, and memory is hardly touched.
      </>
    ),
    task: (
      <>
        Set <b>DDIO ways</b> to 0. Every packet now goes to memory and comes back from there: look at the widths. Then set it to 2 again.
      </>
    ),
  },
  {
    title: "The leak",
    place: "path",
    preset: "ring",
    settings: { rx_descriptors: "2048" },
    metric: "pcie_write_hit_rate",
    text: (
      <>
        The ring now has 2048 packets of 1500 bytes: 3 MiB. They need more room than the ways that the NIC may <Term id="allocate">allocate</Term> in.
        New packets push out old ones, some of them <Term id="unread">unread</Term>: that is the <Term id="leak">leak</Term>.
      </>
    ),
    task: (
      <>
        Move <b>Receive ring</b> slowly from 256 to 4096, and watch the hit rate and the red arrow. Where does it begin?
      </>
    ),
  },
  {
    title: "Ways",
    place: "llc",
    preset: "ways",
    settings: {},
    metric: "pcie_write_hit_rate",
    curve: "ddio_ways",
    text: (
      <>
        The cache has 11 <Term id="way">ways</Term>. The NIC's new lines may go into two of them, the bar below the grid says which. The curve shows what
        more ways do; the diamonds were measured on the real server.
      </>
    ),
    task: (
      <>
        Give the NIC 4 <b>DDIO ways</b>, then 8. How many suffice? What do the cores lose?
      </>
    ),
  },
  {
    title: "Rings",
    place: "curve",
    preset: "ring",
    settings: { packet_bytes: "512", rx_descriptors: "1024" },
    metric: "pcie_write_hit_rate",
    curve: "rx_descriptors",
    text: (
      <>
        What counts is ring × packet size: the room that circulating buffers take. Small packets take fewer lines, so that a larger ring still fits. A
        ring that is too small drops packets when the core is late.
      </>
    ),
    task: (
      <>
        Compare packets of 512 and 1500 bytes: press <b>Compare</b>, and change the <b>Packet size</b> of B.
      </>
    ),
  },
  {
    title: "Neighbours",
    place: "llc",
    preset: "ssd",
    settings: {},
    metric: "main:pcie_write_hit_rate",
    text: (
      <>
        Devices share the same ways. Four SSDs write blocks beside the NIC's packets: both push out each other's lines. The table below says who evicted
        whom.
      </>
    ),
    task: (
      <>
        Set <b>Neighbour: DDIO ways</b> to 0: the blocks go to memory and leave the ways to the packets. What does memory pay for it?
      </>
    ),
  },
];

/** The stop, from 0; undefined if the tour is not under way. */
export const stop = signal<number | undefined>(undefined);

export function go(to: number | undefined): void {
  stop.value = to;
  // The focus returns to where the tour began: its own buttons are gone.
  if (to === undefined) document.getElementById("tour")?.focus();
  const next = to === undefined ? undefined : STOPS[to];
  if (!next) return;
  if (configs.b.value) compare(false);
  open(ofPreset(presetOf(next.preset) as Preset));
  for (const [key, value] of Object.entries(next.settings)) set("a", key, value);
  chooseMetric(next.metric);
  if (next.curve) chooseCurve(next.curve);
}

export function Tour(): JSX.Element | null {
  const number = stop.value;
  const heading = useRef<HTMLHeadingElement>(null);
  const now = number === undefined ? undefined : STOPS[number];
  useEffect(() => {
    document.querySelectorAll(".toured").forEach((part) => part.classList.remove("toured"));
    if (!now) return;
    const place = document.getElementById(now.place);
    place?.classList.add("toured");
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    place?.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "nearest" });
    heading.current?.focus({ preventScroll: true });
  }, [now]);
  if (!now || number === undefined) return null;
  const last = STOPS.length - 1;
  return (
    <aside class="tour" aria-labelledby="tour-title" onKeyDown={(event) => event.key === "Escape" && go(undefined)}>
      <p class="tour-count">
        Stop {number + 1} of {STOPS.length}
      </p>
      <h2 id="tour-title" ref={heading} tabIndex={-1}>
        {now.title}
      </h2>
      <p>{now.text}</p>
      <p class="task">
        <b>Try it.</b> {now.task}
      </p>
      <div class="buttons">
        <button type="button" onClick={() => go(number - 1)} disabled={number === 0}>
          Back
        </button>
        {number < last ? (
          <button type="button" class="primary" onClick={() => go(number + 1)}>
            Next: {STOPS[number + 1]?.title}
          </button>
        ) : (
          <button type="button" class="primary" onClick={() => go(undefined)}>
            Done
          </button>
        )}
        <button type="button" class="quiet" onClick={() => go(undefined)}>
          End the tour
        </button>
      </div>
    </aside>
  );
}
