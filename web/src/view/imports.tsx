// Files of one's own: a scenario, a platform, a capture. What is wrong with one is said here.
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Side } from "../model/config";
import { bytes } from "../model/numbers";
import { configs, engine, imported, set } from "../store";
import { Alert } from "./parts";

/** Longest file of keys, and longest capture: more does not fit beside the simulator in a page. */
const MOST_KEYS_BYTES = 4 << 20;
const MOST_CAPTURE_BYTES = 512 << 20;

/** Settings that a capture takes the place of: what arrives, and when. */
const OF_ARRIVALS = /^(traffic\.|offered_gbps$|packet_bytes$)/;

export function Imports({ side }: { side: Side }): JSX.Element {
  return (
    <fieldset class="imports">
      <legend>Files of your own</legend>
      <FileInput label="Scenario (TOML)" accept=".toml" most={MOST_KEYS_BYTES} take={(file) => takeScenario(side, file)} />
      <FileInput label="Platform: your server (TOML)" accept=".toml" most={MOST_KEYS_BYTES} take={(file) => takePlatform(side, file)} />
      <FileInput label="Capture (pcap, pcapng; gzip, xz, zstd, bzip2)" accept="" most={MOST_CAPTURE_BYTES} take={(file) => takeCapture(side, file)} />
      <p class="about">Files stay in this page: nothing is sent anywhere.</p>
    </fieldset>
  );
}

function FileInput(props: { label: string; accept: string; most: number; take: (file: File) => Promise<void> }): JSX.Element {
  const id = useId();
  const [problem, tell] = useState<string | undefined>();
  const take = async (file: File) => {
    tell(undefined);
    try {
      if (file.size > props.most) {
        const limit = `${file.name} has ${bytes(file.size)}; a page takes ${bytes(props.most)} at most`;
        throw new Error(`${limit}. Cut it (editcap -c 1000000), or run it with the command: skipline run reads files of any size.`);
      }
      if (file.size === 0) throw new Error(`${file.name} is empty.`);
      await props.take(file);
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="file">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        type="file"
        accept={props.accept}
        aria-invalid={problem !== undefined}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void take(file);
        }}
      />
      {problem && <Alert>{problem}</Alert>}
    </div>
  );
}

/** Asks the simulator whether it takes a scenario, before the page changes. */
async function refusalOf(file: string, text: string): Promise<string | undefined> {
  const checked = await engine.value?.fact("checked", JSON.stringify({ file, text, settings: [], seed: 1 }));
  const answer = checked ? JSON.parse(checked) : {};
  return answer.state === "refused" ? answer.error.message : undefined;
}

async function takeScenario(side: Side, file: File): Promise<void> {
  const text = await file.text();
  const refused = await refusalOf(file.name, text);
  if (refused) throw new Error(refused);
  configs[side].value = { file: file.name, text, settings: {}, seed: 1 };
}

async function takePlatform(side: Side, file: File): Promise<void> {
  const name = file.name.endsWith(".toml") ? file.name : `${file.name}.toml`;
  await engine.value?.putFile(name, new Uint8Array(await file.arrayBuffer()));
  const answer = JSON.parse((await engine.value?.fact("platform", name)) ?? "{}");
  if (answer.state === "refused") throw new Error(answer.error.message);
  imported.value = [...imported.value, name];
  set(side, "platform", name);
}

async function takeCapture(side: Side, file: File): Promise<void> {
  await engine.value?.putFile(file.name, new Uint8Array(await file.arrayBuffer()));
  const config = configs[side].value;
  if (!config) return;
  const kept = Object.entries(config.settings).filter(([key]) => !OF_ARRIVALS.test(key));
  const settings = { ...Object.fromEntries(kept), "traffic.pcap": file.name };
  const request = { file: config.file, settings: Object.entries(settings), seed: 1, ...(config.text === undefined ? {} : { text: config.text }) };
  const checked = await engine.value?.fact("checked", JSON.stringify(request));
  const answer = checked ? JSON.parse(checked) : {};
  if (answer.state === "refused") throw new Error(answer.error.message);
  imported.value = [...imported.value, file.name];
  configs[side].value = { ...config, settings };
}
