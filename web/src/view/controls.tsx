// The controls of one configuration: presets, knobs, all other keys, and what is wrong beside the control.
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Json } from "../engine/protocol";
import { type Config, ofPreset, presetFor, type Side } from "../model/config";
import { KNOBS, type Knob, knobOf } from "../model/knobs";
import { bytes } from "../model/numbers";
import { PRESETS } from "../model/presets";
import { type Key, valueAt } from "../model/schema";
import { catalogue, configs, open, parts, schema, set } from "../store";
import { Imports } from "./imports";
import { Alert, Term } from "./parts";

const GENERIC = ["offered_gbps", "packet_bytes", "rx_descriptors", "cores", "ddio_ways", "core_way_mask", "platform"];

export function Controls({ side }: { side: Side }): JSX.Element | null {
  const config = configs[side].value;
  if (!config) return null;
  const keys = knobKeys(config);
  const run = parts[side];
  const refusal = run.state.value === "refused" ? run.refusal.value : undefined;
  const hasPlace = refusal?.key && keys.includes(refusal.key);
  const groups = groupsOf(keys);
  return (
    <div class={`controls side-${side}`} id={`controls-${side}`}>
      <PresetChoice side={side} config={config} />
      {refusal && !hasPlace && <Alert>{sentence(refusal.message)}</Alert>}
      {[...groups].map(([group, knobs]) => (
        <fieldset key={group}>
          <legend>{group}</legend>
          {knobs.map((knob) => (
            <KnobControl key={knob.key} side={side} knob={knob} error={refusal?.key === knob.key ? refusal.message : undefined} />
          ))}
        </fieldset>
      ))}
      <MoreKeys side={side} config={config} shown={keys} />
      <Imports side={side} />
    </div>
  );
}

/** The knobs of a configuration: its preset's, and whatever else it has set. */
function knobKeys(config: Config): string[] {
  const preset = presetFor(config);
  const own = preset?.knobs ?? GENERIC;
  const changed = Object.keys(config.settings).filter((key) => !own.includes(key) && preset?.settings[key] !== config.settings[key]);
  return [...own, ...changed];
}

function groupsOf(keys: string[]): Map<string, Knob[]> {
  const groups = new Map<string, Knob[]>();
  for (const group of [...new Set(KNOBS.map((knob) => knob.group))]) groups.set(group, []);
  groups.set("Other keys", []);
  for (const key of keys) {
    const knob = knobOf(key) ?? { key, label: key, group: "Machine" as const, form: "schema" as const };
    const place = knobOf(key) ? knob.group : "Other keys";
    groups.get(place)?.push(knob);
  }
  for (const [group, knobs] of groups) if (knobs.length === 0) groups.delete(group);
  return groups;
}

export function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function PresetChoice({ side, config }: { side: Side; config: Config }): JSX.Element {
  const id = useId();
  const choose = (name: string) => {
    const preset = PRESETS.find((one) => one.id === name);
    if (!preset) return;
    if (side === "a") open(ofPreset(preset));
    else configs.b.value = ofPreset(preset);
  };
  const preset = presetFor(config);
  return (
    <div class="preset">
      <label for={id}>Begin with</label>
      <select id={id} value={config.preset ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        {!preset && <option value="">{config.file}</option>}
        {["Figures of papers", "Servers"].map((group) => (
          <optgroup key={group} label={group}>
            {PRESETS.filter((one) => one.group === group).map((one) => (
              <option key={one.id} value={one.id}>
                {one.title}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {preset && <p class="question">{preset.question}</p>}
    </div>
  );
}

function KnobControl({ side, knob, error }: { side: Side; knob: Knob; error: string | undefined }): JSX.Element {
  const id = useId();
  const key = schema.value?.key(knob.key);
  const config = configs[side].value;
  const checked = parts[side].checked.value;
  const stated = config?.settings[knob.key];
  const resolved = valueAt(checked?.scenario, knob.key);
  const value = stated ?? text(resolved);
  const isOwn = stated !== undefined && presetFor(config as Config)?.settings[knob.key] !== stated;
  const change = (next: string) => set(side, knob.key, next);
  const shared = { id, value, change, invalid: error !== undefined, describedBy: `${id}-about` };
  return (
    <div class={`knob${error ? " wrong" : ""}`} data-key={knob.key}>
      <div class="knob-head">
        <label for={id}>{knob.term ? <Term id={knob.term}>{knob.label}</Term> : knob.label}</label>
        {isOwn && (
          <button type="button" class="quiet" title="Back to the beginning's value" onClick={() => reset(side, knob.key)}>
            ↺<span class="sr">Reset {knob.label}</span>
          </button>
        )}
      </div>
      <Input knob={knob} schemaKey={key} side={side} {...shared} />
      {error && <Alert>{sentence(error)}</Alert>}
      <p class="about" id={`${id}-about`}>
        {key?.about ? `${firstSentence(key.about)} ` : ""}
        {allowed(key)}
        <span class="source">{sourceOf(side, knob.key)}</span>
      </p>
    </div>
  );
}

function reset(side: Side, key: string): void {
  const config = configs[side].value;
  set(side, key, config ? presetFor(config)?.settings[key] : undefined);
}

interface InputProps {
  id: string;
  knob: Knob;
  schemaKey: Key | undefined;
  side: Side;
  value: string;
  change: (next: string) => void;
  invalid: boolean;
  describedBy: string;
}

function Input(props: InputProps): JSX.Element {
  const { knob, schemaKey: key } = props;
  if (knob.form === "platform") return <Choice {...props} choices={[...new Set([...(catalogue.value?.platforms ?? []), props.value])]} />;
  if (knob.form === "nic") return <Choice {...props} choices={catalogue.value?.nics ?? []} />;
  if (knob.form === "mask") return <MaskInput {...props} />;
  if (knob.form === "powers" || knob.form === "numbers") return <Slider {...props} />;
  if (key?.kind === "choice") return <Choice {...props} choices={key.choices} />;
  if (key?.kind === "switch") return <Switch {...props} />;
  return <Field {...props} />;
}

function Slider({ id, knob, side, value, change, invalid, describedBy }: InputProps): JSX.Element {
  const powers = knob.form === "powers";
  const ways = parts[side].checked.value?.platform.llc_ways;
  const from = knob.from ?? 0;
  const to = knob.key.endsWith("ddio_ways") && ways ? ways : (knob.to ?? 100);
  const number = Number(value);
  const at = powers ? Math.log2(Math.max(number, 1)) : number;
  const said = `${powers && knob.unit === "B" ? bytes(number) : value}${knob.unit && !(powers && knob.unit === "B") ? ` ${knob.unit}` : ""}`;
  return (
    <div class="slider">
      <input
        id={id}
        type="range"
        min={powers ? Math.log2(from) : from}
        max={powers ? Math.log2(to) : to}
        step={powers ? 1 : (knob.step ?? 1)}
        value={Number.isFinite(at) ? at : from}
        aria-valuetext={said}
        aria-describedby={describedBy}
        onInput={(event) => {
          const next = Number(event.currentTarget.value);
          change(String(powers ? 2 ** next : Number(next.toFixed(4))));
        }}
      />
      <input
        class="number"
        type="text"
        inputMode="decimal"
        aria-label={`${knob.label}, as a number`}
        aria-invalid={invalid}
        value={value}
        onChange={(event) => change(event.currentTarget.value.trim())}
      />
      {knob.unit && <span class="unit">{knob.unit === "B" && number >= 1024 ? `B (${bytes(number)})` : knob.unit}</span>}
    </div>
  );
}

function Choice({ id, value, change, describedBy, choices, invalid }: InputProps & { choices: string[] }): JSX.Element {
  const known = choices.includes(value);
  return (
    <select id={id} value={value} aria-describedby={describedBy} aria-invalid={invalid} onChange={(event) => change(event.currentTarget.value)}>
      {!known && <option value={value}>{value || "the platform's own"}</option>}
      {choices.filter(Boolean).map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  );
}

function Switch({ id, value, change, describedBy }: InputProps): JSX.Element {
  const on = value === "true";
  return (
    <input id={id} type="checkbox" role="switch" checked={on} aria-describedby={describedBy} onChange={() => change(String(!on))} />
  );
}

function Field({ id, value, change, describedBy, invalid }: InputProps): JSX.Element {
  return (
    <input
      id={id}
      type="text"
      value={value}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      onChange={(event) => change(event.currentTarget.value.trim())}
    />
  );
}

/** A mask of ways: a button for each, the highest way on the left, as hardware writes it. */
function MaskInput({ id, knob, side, value, change, describedBy }: InputProps): JSX.Element {
  const ways = parts[side].checked.value?.platform.llc_ways ?? 11;
  const mask = Number(value);
  const hex = (bits: number) => `0x${bits.toString(16)}`;
  return (
    <div class="mask" role="group" aria-label={knob.label} aria-describedby={describedBy} id={id} tabIndex={-1}>
      {Array.from({ length: ways }, (_, place) => ways - 1 - place).map((way) => {
        const on = (mask & (1 << way)) !== 0;
        return (
          <button
            key={way}
            type="button"
            aria-pressed={on}
            aria-label={`Way ${way}`}
            title={`Way ${way}`}
            onClick={() => change(hex(on ? mask & ~(1 << way) : mask | (1 << way)))}
          >
            {way}
          </button>
        );
      })}
      <code>{Number.isFinite(mask) ? hex(mask) : value}</code>
    </div>
  );
}

/** Every other key of a scenario, found by a part of its name or meaning. */
function MoreKeys({ side, config, shown }: { side: Side; config: Config; shown: string[] }): JSX.Element {
  const [search, look] = useState("");
  const id = useId();
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const keys = words.length ? (schema.value?.all() ?? []) : [];
  const found = keys.filter(
    ({ path, about }) => !shown.includes(path) && words.every((word) => `${path} ${about}`.toLowerCase().includes(word)),
  );
  return (
    <fieldset class="more">
      <legend>All other keys</legend>
      <label for={id}>Search by name or meaning</label>
      <input id={id} type="search" value={search} placeholder="prefetch, pool, iommu …" onInput={(event) => look(event.currentTarget.value)} />
      {words.length > 0 && (
        <p class="about" aria-live="polite">
          {found.length} {found.length === 1 ? "key" : "keys"}
        </p>
      )}
      {found.slice(0, 8).map((key) => (
        <KnobControl key={key.path} side={side} knob={{ key: key.path, label: key.path, group: "Machine", form: "schema" }} error={undefined} />
      ))}
      <label class="inline">
        Seed
        <input
          class="number"
          type="number"
          min={0}
          max={999999}
          value={config.seed}
          onChange={(event) => {
            const seed = Math.trunc(Number(event.currentTarget.value));
            if (seed >= 0) configs[side].value = { ...config, seed };
          }}
        />
      </label>
    </fieldset>
  );
}

function text(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function firstSentence(about: string): string {
  const end = about.search(/\.( |$)/);
  return end < 0 ? about : about.slice(0, end + 1);
}

function allowed(key: Key | undefined): string {
  if (!key || (key.least === undefined && key.most === undefined)) return "";
  if (key.most === undefined) return `Allowed: ${key.least} and more. `;
  return `Allowed: ${key.least ?? 0} to ${key.most}. `;
}

/** The source of a value: the user, the preset, the testbed with its source, or a default. */
function sourceOf(side: Side, key: string): string {
  const config = configs[side].value;
  const stated = config?.settings[key];
  const preset = config ? presetFor(config) : undefined;
  if (stated !== undefined && preset?.settings[key] !== stated) return "Source: you.";
  if (stated !== undefined) return `Source: ${preset?.experiment ?? "the preset"}.`;
  const of = parts[side].result.value?.testbed?.settings.find((setting) => setting.key === key);
  if (of) return `Source: ${of.source} (${of.confidence}).`;
  return `Source: ${config?.file ?? ""}, or the default.`;
}
