// Agents of a machine as people group them: the cores of each tenant, co-runners, devices.
import type { Json } from "../engine/protocol";
import { valueAt } from "./schema";

export interface Owner {
  id: string;
  label: string;
  /** A colour of the page. */
  colour: string;
  isDevice: boolean;
}

const DEVICE_COLOURS = ["--category-2", "--category-4", "--category-5", "--category-6"];
const CORE_COLOURS = ["--category-1", "--category-3", "--category-7"];

/** The owner of each agent, by the agent's name. */
export function ownersOf(scenario: { [key: string]: Json }, agents: string[]): Map<string, Owner> {
  const byName = new Map<string, Owner>();
  const cores = coreGroups(scenario);
  let [device, group] = [0, 0];
  const groups = new Map<string, Owner>();
  for (const agent of agents) {
    const core = /^core(\d+)$/.exec(agent);
    if (!core) {
      const colour = DEVICE_COLOURS[device++ % DEVICE_COLOURS.length] as string;
      byName.set(agent, { id: agent, label: deviceLabel(agent), colour, isDevice: true });
      continue;
    }
    const label = cores[Number(core[1])] ?? "cores";
    let owner = groups.get(label);
    if (!owner) {
      owner = { id: label, label, colour: CORE_COLOURS[group++ % CORE_COLOURS.length] as string, isDevice: false };
      groups.set(label, owner);
    }
    byName.set(agent, owner);
  }
  return byName;
}

function deviceLabel(agent: string): string {
  const [, kind, number] = /^([a-z]+)(\d+)$/.exec(agent) ?? [];
  const names: { [kind: string]: string } = { nic: "NIC", ssd: "SSD", dsa: "DSA", cbdma: "CBDMA" };
  return kind ? `${names[kind] ?? kind} ${number}` : agent;
}

/** For each core the group that it belongs to: cores are numbered socket by socket, tenants before co-runners. */
function coreGroups(scenario: { [key: string]: Json }): string[] {
  const many = ["tenant", "co_runner"].map((key) => (valueAt(scenario, key) ?? []) as { [key: string]: Json }[]);
  const [tenants = [], neighbours = []] = many;
  const requests = [
    { label: tenants.length ? "cores of main" : "cores", keys: scenario },
    ...tenants.map((keys) => ({ label: `cores of ${keys.name ?? "tenant"}`, keys })),
    ...neighbours.map((keys) => ({ label: "neighbour's cores", keys })),
  ];
  const groups: string[] = [];
  for (const socket of [0, 1]) {
    for (const { label, keys } of requests) {
      if (Number(keys.socket ?? 0) !== socket) continue;
      for (let core = 0; core < Number(keys.cores ?? 1); core++) groups.push(label);
    }
  }
  return groups;
}
