// A configuration: a scenario with settings. What is shown, shared and exported begins here.
import type { RunRequest } from "../engine/protocol";
import { DEFAULT_PRESET, presetOf, type Preset } from "./presets";

export interface Config {
  /** The preset; absent for a scenario of one's own. */
  preset?: string;
  /** Path of a built-in scenario, or the name of one's own. */
  file: string;
  /** The text of a scenario of one's own. */
  text?: string;
  settings: { [key: string]: string };
  seed: number;
}

/** Which of two configurations side by side. */
export type Side = "a" | "b";

export function ofPreset(preset: Preset): Config {
  return { preset: preset.id, file: preset.file, settings: { ...preset.settings }, seed: 1 };
}

export const DEFAULT: Config = ofPreset(DEFAULT_PRESET);

export function request(config: Config): RunRequest {
  return {
    file: config.file,
    settings: Object.entries(config.settings),
    seed: config.seed,
    ...(config.text === undefined ? {} : { text: config.text }),
  };
}

export function withSetting(config: Config, key: string, value: string | undefined): Config {
  const settings = { ...config.settings };
  if (value === undefined) delete settings[key];
  else settings[key] = value;
  return { ...config, settings };
}

/** The preset that a configuration began with. */
export function presetFor(config: Config): Preset | undefined {
  return config.preset === undefined ? undefined : presetOf(config.preset);
}

/** The command line that reproduces a run. */
export function commandLine(config: Config): string {
  const words = ["skipline", "run", quoted(config.text === undefined ? config.file : "scenario.toml")];
  for (const [key, value] of Object.entries(config.settings)) words.push("--set", quoted(`${key}=${value}`));
  if (config.seed !== 1) words.push("--seed", String(config.seed));
  return words.join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
