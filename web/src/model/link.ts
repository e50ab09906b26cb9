// The address of a page: everything that is shown, in the part behind #, with the version of its format.
import type { Config } from "./config";
import { ofPreset } from "./config";
import { DEFAULT_PRESET, presetOf } from "./presets";

/** The version of links that this page writes; a later one may have other parts. */
export const LINK_VERSION = 1;

export interface View {
  a: Config;
  b?: Config;
  curveKey?: string;
  metric?: string;
}

/** A link as it was read, and what of it could not be. */
export interface ReadLink {
  view: View;
  problems: string[];
}

export function writeLink(view: View): string {
  const parts = new URLSearchParams();
  parts.set("v", String(LINK_VERSION));
  writeConfig(parts, "", view.a);
  if (view.b) writeConfig(parts, "b.", view.b);
  if (view.curveKey) parts.set("x", view.curveKey);
  if (view.metric) parts.set("y", view.metric);
  return `#${parts}`;
}

function writeConfig(parts: URLSearchParams, prefix: string, config: Config): void {
  const preset = config.preset === undefined ? undefined : presetOf(config.preset);
  if (preset) parts.set(`${prefix}p`, preset.id);
  else parts.set(`${prefix}file`, config.file);
  if (config.text !== undefined) parts.set(`${prefix}text`, config.text);
  const own = preset?.settings ?? {};
  for (const [key, value] of Object.entries(config.settings)) {
    if (own[key] !== value) parts.append(`${prefix}s`, `${key}=${value}`);
  }
  for (const key of Object.keys(own)) if (!(key in config.settings)) parts.append(`${prefix}without`, key);
  if (config.seed !== 1) parts.set(`${prefix}seed`, String(config.seed));
}

const KNOWN = new Set(["v", "p", "file", "text", "s", "without", "seed", "x", "y"]);

export function readLink(hash: string): ReadLink {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const problems: string[] = [];
  const version = Number(parts.get("v") ?? LINK_VERSION);
  if (version !== LINK_VERSION) {
    problems.push(`it is of version ${parts.get("v")}, and this page reads version ${LINK_VERSION}`);
  }
  const strange = [...new Set(parts.keys())].filter((name) => !KNOWN.has(name.replace(/^b\./, "")));
  if (strange.length) problems.push(`these parts are not known: ${strange.join(", ")}`);
  const a = readConfig(parts, "", problems) ?? ofPreset(DEFAULT_PRESET);
  const b = readConfig(parts, "b.", problems);
  const view: View = { a };
  if (b) view.b = b;
  const [x, y] = [parts.get("x"), parts.get("y")];
  if (x) view.curveKey = x;
  if (y) view.metric = y;
  return { view, problems };
}

function readConfig(parts: URLSearchParams, prefix: string, problems: string[]): Config | undefined {
  const [id, file, text] = ["p", "file", "text"].map((name) => parts.get(prefix + name));
  if (!id && !file) return undefined;
  const preset = id ? presetOf(id) : undefined;
  if (id && !preset) problems.push(`the preset ${id} is not known`);
  const base = preset ?? DEFAULT_PRESET;
  const config: Config = file ? { file, settings: {}, seed: 1 } : ofPreset(base);
  if (text) config.text = text;
  for (const key of parts.getAll(`${prefix}without`)) delete config.settings[key];
  for (const setting of parts.getAll(`${prefix}s`)) {
    const [key, ...value] = setting.split("=");
    if (key && value.length) config.settings[key] = value.join("=");
    else problems.push(`the setting ${setting} is not KEY=VALUE`);
  }
  const seed = parts.get(`${prefix}seed`);
  if (seed !== null) {
    if (/^\d{1,15}$/.test(seed)) config.seed = Number(seed);
    else problems.push(`the seed ${seed} is not a whole number`);
  }
  return config;
}
