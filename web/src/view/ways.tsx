// The ways of the last-level cache: whose lines they hold, read and unread.
import type { JSX } from "preact";
import type { LlcReport } from "../engine/protocol";
import type { Side } from "../model/config";
import { bytes } from "../model/numbers";
import { type Owner, ownersOf } from "../model/owners";
import { drawn } from "../store";
import { Term } from "./parts";

/** Cells of a way: each stands for a share of its lines. */
const CELLS = 60;
const [CELL, GAP, COLUMN] = [11, 1.5, 26];

interface Share {
  owner: Owner;
  unread: number;
  read: number;
}

function sharesOf(llc: LlcReport, way: [number, number][], owners: Map<string, Owner>): Share[] {
  const shares = new Map<string, Share>();
  llc.agents.forEach((agent, number) => {
    const owner = owners.get(agent);
    const [unread = 0, read = 0] = way[number] ?? [];
    if (!owner || unread + read === 0) return;
    const share = shares.get(owner.id) ?? { owner, unread: 0, read: 0 };
    share.unread += unread;
    share.read += read;
    shares.set(owner.id, share);
  });
  return [...shares.values()].sort((one, other) => Number(other.owner.isDevice) - Number(one.owner.isDevice));
}

/** Cells of a way in order: each owner's unread ones, then its read ones; the rest is empty. */
function cellsOf(shares: Share[], lines: number): ({ owner: Owner; unread: boolean } | undefined)[] {
  const exact = shares.flatMap(({ owner, unread, read }) => [
    { owner, unread: true, share: (unread * CELLS) / lines },
    { owner, unread: false, share: (read * CELLS) / lines },
  ]);
  const cells: ({ owner: Owner; unread: boolean } | undefined)[] = [];
  let sum = 0;
  for (const { owner, unread, share } of exact) {
    sum += share;
    while (cells.length < Math.round(sum)) cells.push({ owner, unread });
  }
  while (cells.length < CELLS) cells.push(undefined);
  return cells.slice(0, CELLS);
}

export function Ways({ side }: { side: Side }): JSX.Element {
  const { llc, result } = drawn[side].value;
  if (!llc || !result) return <p class="about">The cache fills with the first batch.</p>;
  const owners = ownersOf(result.scenario, llc.agents);
  const sockets = llc.sockets.map((ways, socket) => ({ ways, socket })).filter(({ ways }) => ways.some((way) => way.some(([unread, read]) => unread + read > 0)));
  return (
    <figure class="ways">
      {sockets.map(({ socket, ways }) => (
        <div key={socket}>
          {sockets.length > 1 && <h3>Socket {socket}</h3>}
          <WaysOfSocket side={side} llc={llc} ways={ways} lines={llc.lines_of_way} owners={owners} mask={ioMask(llc)} socket={socket} />
        </div>
      ))}
      <Legend owners={[...new Set(owners.values())]} llc={llc} byAgent={owners} />
      <figcaption class="about">
        Each column is a <Term id="way">way</Term> of {bytes(llc.lines_of_way * 64)}; each cell is 1/{CELLS} of it.
        Filled: <Term id="unread">unread</Term> since its owner wrote it. Pale with a dot: read since. The bar below marks the ways in
        which devices may <Term id="allocate">allocate</Term>.
      </figcaption>
    </figure>
  );
}

function ioMask(llc: LlcReport): number {
  return llc.io_way_masks.reduce((all, mask) => all | mask, 0);
}

function WaysOfSocket(props: {
  side: Side;
  llc: LlcReport;
  ways: [number, number][][];
  lines: number;
  owners: Map<string, Owner>;
  mask: number;
  socket: number;
}): JSX.Element {
  const { ways, lines, owners, llc, mask, side, socket } = props;
  const rows = 15;
  const columns = CELLS / rows;
  const wayWidth = columns * (CELL + GAP) + COLUMN - CELL;
  const width = ways.length * wayWidth;
  const height = rows * (CELL + GAP) + 34;
  const order = ways.map((_, place) => ways.length - 1 - place);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} class="drawing way-grid" role="img" id={`ways-${side}-${socket}`} aria-label={describe(llc, ways, owners, lines)}>
      {order.map((way, place) => {
        const cells = cellsOf(sharesOf(llc, ways[way] ?? [], owners), lines);
        const left = place * wayWidth + (COLUMN - CELL) / 2;
        const isDevices = (mask & (1 << way)) !== 0;
        return (
          <g key={way} data-way={way}>
            {cells.map((cell, number) => (
              <Cell key={number} x={left + (number % columns) * (CELL + GAP)} y={(rows - 1 - Math.floor(number / columns)) * (CELL + GAP)} cell={cell} />
            ))}
            <rect
              x={left}
              y={rows * (CELL + GAP) + 3}
              width={columns * (CELL + GAP) - GAP}
              height={4}
              rx={2}
              class={isDevices ? "device-way" : "core-way"}
            />
            <text x={left + (columns * (CELL + GAP) - GAP) / 2} y={rows * (CELL + GAP) + 24} text-anchor="middle" class="way-number">
              {way}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

function Cell({ x, y, cell }: { x: number; y: number; cell: { owner: Owner; unread: boolean } | undefined }): JSX.Element {
  if (!cell) return <rect x={x} y={y} width={CELL} height={CELL} rx={2} class="empty" />;
  const colour = `var(${cell.owner.colour})`;
  return (
    <g style={{ fill: colour }}>
      <rect x={x} y={y} width={CELL} height={CELL} rx={2} style={{ fillOpacity: cell.unread ? 1 : 0.28 }} />
      {!cell.unread && <circle cx={x + CELL / 2} cy={y + CELL / 2} r={1.7} />}
    </g>
  );
}

function describe(llc: LlcReport, ways: [number, number][][], owners: Map<string, Owner>, lines: number): string {
  const said = ways.map((way, number) => {
    const shares = sharesOf(llc, way, owners).map(
      ({ owner, unread, read }) => `${owner.label} ${percent(unread + read, lines)}, unread ${percent(unread, lines)}`,
    );
    return `way ${number}: ${shares.join("; ") || "empty"}`;
  });
  return `Content of the last-level cache. ${said.join(". ")}.`;
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / Math.max(whole, 1)).toFixed(0)} %`;
}

function Legend({ owners, llc, byAgent }: { owners: Owner[]; llc: LlcReport; byAgent: Map<string, Owner> }): JSX.Element {
  const lines = new Map<string, [number, number]>();
  for (const ways of llc.sockets) {
    for (const way of ways) {
      way.forEach(([unread, read], number) => {
        const owner = byAgent.get(llc.agents[number] ?? "");
        if (!owner) return;
        const sum = lines.get(owner.id) ?? [0, 0];
        lines.set(owner.id, [sum[0] + unread, sum[1] + read]);
      });
    }
  }
  return (
    <ul class="legend">
      {owners.map((owner) => {
        const [unread, read] = lines.get(owner.id) ?? [0, 0];
        return (
          <li key={owner.id}>
            <span class="swatch" style={{ background: `var(${owner.colour})` }} />
            {owner.label}: {bytes((unread + read) * 64)}
            <span class="soft"> ({percent(unread, unread + read)} unread)</span>
          </li>
        );
      })}
    </ul>
  );
}
