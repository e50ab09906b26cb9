// Evictions from the last-level cache: by whom, of whose lines, read before or not.
import type { JSX } from "preact";
import type { Result } from "../engine/protocol";
import type { Side } from "../model/config";
import { short } from "../model/numbers";
import { type Owner, ownersOf } from "../model/owners";
import { drawn } from "../store";
import { Term } from "./parts";

interface Row {
  evictor: Owner;
  owner: Owner;
  read: number;
  unread: number;
}

function rowsOf(result: Result): Row[] {
  const counts = (result.metrics.evictions?.value ?? {}) as { [name: string]: number | null };
  const parts = Object.entries(counts).flatMap(([name, count]) => {
    const match = /^([^>]+)>([^:]+):(read|unread)$/.exec(name);
    return match && count ? [{ evictor: match[1] as string, owner: match[2] as string, unread: match[3] === "unread", count }] : [];
  });
  const agents = [...new Set(parts.flatMap(({ evictor, owner }) => [evictor, owner]))].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  const owners = ownersOf(result.scenario, agents);
  const rows = new Map<string, Row>();
  for (const { evictor, owner, unread, count } of parts) {
    const [by, of] = [owners.get(evictor), owners.get(owner)];
    if (!by || !of) continue;
    const row = rows.get(`${by.id}>${of.id}`) ?? { evictor: by, owner: of, read: 0, unread: 0 };
    row[unread ? "unread" : "read"] += count;
    rows.set(`${by.id}>${of.id}`, row);
  }
  return [...rows.values()].sort((one, other) => other.read + other.unread - one.read - one.unread);
}

export function Evictions({ side }: { side: Side }): JSX.Element {
  const result = drawn[side].value.result;
  const rows = result ? rowsOf(result) : [];
  if (rows.length === 0) return <p class="about">No line was evicted from the last-level cache.</p>;
  const all = rows.reduce((sum, { read, unread }) => sum + read + unread, 0);
  const most = Math.max(...rows.map(({ read, unread }) => read + unread));
  return (
    <table class="evictions">
      <thead>
        <tr>
          <th scope="col">made room</th>
          <th scope="col">whose line went</th>
          <th scope="col">
            lines: <Term id="unread">unread</Term> | read
          </th>
          <th scope="col" class="right">
            share
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, 8).map(({ evictor, owner, read, unread }) => (
          <tr key={`${evictor.id}>${owner.id}`}>
            <td>
              <Swatch owner={evictor} />
            </td>
            <td>
              <Swatch owner={owner} />
            </td>
            <td class="bar-cell">
              <span class="bar unread" style={{ width: `${(50 * unread) / most}%`, background: `var(${owner.colour})` }} />
              <span class="bar" style={{ width: `${(50 * read) / most}%`, background: `var(${owner.colour})` }} />
              <span class="bar-text">
                {short(unread)} | {short(read)}
              </span>
            </td>
            <td class="right">{((100 * (read + unread)) / all).toFixed(1)} %</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Swatch({ owner }: { owner: Owner }): JSX.Element {
  return (
    <>
      <span class="swatch" style={{ background: `var(${owner.colour})` }} />
      {owner.label}
    </>
  );
}

/** The busiest resources. */
export function Limits({ side }: { side: Side }): JSX.Element {
  const limits = drawn[side].value.result?.limits ?? [];
  return (
    <ul class="limits">
      {limits.slice(0, 6).map(({ resource, tenant, utilisation_percent }) => (
        <li key={`${resource}${tenant ?? ""}`}>
          <span class="limit-name">
            {resource}
            {tenant && tenant !== "main" ? ` (${tenant})` : ""}
          </span>
          <span class="limit-bar">
            <span style={{ width: `${Math.min(utilisation_percent, 100)}%` }} class={utilisation_percent > 95 ? "full" : ""} />
          </span>
          <span class="limit-value">{utilisation_percent.toFixed(0)} %</span>
        </li>
      ))}
    </ul>
  );
}
