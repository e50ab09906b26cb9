// The simulator in this browser: a worker for each lane, all with one compiled module.
import type { Engine, Lane, Listener, RunRequest } from "./protocol";
import type { FromWorker, ToWorker } from "./worker";
import EngineWorker from "./worker?worker&inline";

/** The id of the element that has the module in a page of one file: gzip in base64. */
const EMBEDDED = "skipline-wasm";
const BESIDE = "skipline.wasm";

class LaneWorker {
  /** Settled with the first message of the worker. */
  readonly hasAnswered: Promise<void>;
  private noteAnswer: () => void = () => {};
  private listener: Listener | undefined;
  private run = 0;
  private request: string | undefined;
  private calls = 0;
  private readonly waiting = new Map<number, (text: string | null) => void>();

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly files: Map<string, Uint8Array>,
    private worker = new EngineWorker(),
  ) {
    this.hasAnswered = new Promise((resolve) => {
      this.noteAnswer = resolve;
    });
    this.load();
  }

  private load(): void {
    this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    this.post({ kind: "load", module: this.module });
    for (const [name, content] of this.files) void this.putFile(name, content);
  }

  /** Starts another worker, with a WebAssembly module that has not trapped. */
  private replace(): void {
    this.worker.terminate();
    for (const resolve of this.waiting.values()) resolve(null);
    this.waiting.clear();
    this.worker = new EngineWorker();
    this.load();
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private receive(message: FromWorker): void {
    this.noteAnswer();
    if (message.kind === "answer") {
      this.waiting.get(message.call)?.(message.text);
      this.waiting.delete(message.call);
      return;
    }
    if (message.kind === "failed") this.replace();
    // A run that was replaced may still have a message under way.
    if (message.run !== this.run) {
      if (message.kind === "failed" && this.request) this.post({ kind: "start", run: this.run, request: this.request });
      return;
    }
    if (message.kind === "failed") {
      const text = `the simulator cannot go on: ${message.message}`;
      this.listener?.({ kind: "step", step: { state: "refused", error: { message: text, key: null } } });
    } else if (message.kind === "checked") {
      this.listener?.({ kind: "checked", checked: JSON.parse(message.text) });
    } else {
      this.listener?.({ kind: "step", step: JSON.parse(message.text) });
    }
  }

  start(request: RunRequest, listener: Listener): () => void {
    const run = ++this.run;
    this.listener = listener;
    this.request = JSON.stringify(request);
    this.post({ kind: "start", run, request: this.request });
    return () => {
      if (this.run !== run) return;
      this.run++;
      this.request = undefined;
      this.post({ kind: "stop" });
    };
  }

  private call(message: (call: number) => ToWorker): Promise<string | null> {
    const call = ++this.calls;
    return new Promise((resolve) => {
      this.waiting.set(call, resolve);
      this.post(message(call));
    });
  }

  fact(name: string, argument: string): Promise<string | null> {
    return this.call((call) => ({ kind: "fact", call, name, argument }));
  }

  putFile(name: string, content: Uint8Array): Promise<unknown> {
    return this.call((call) => ({ kind: "file", call, name, content }));
  }
}

export class BrowserEngine implements Engine {
  readonly kind = "browser";
  private readonly lanes = new Map<Lane, LaneWorker>();
  private readonly files = new Map<string, Uint8Array>();

  private constructor(
    private readonly module: WebAssembly.Module,
    first: Worker,
  ) {
    this.lanes.set("a", new LaneWorker(module, this.files, first));
  }

  static async load(): Promise<BrowserEngine> {
    // The first worker starts while the module is compiled.
    const first = new EngineWorker();
    return new BrowserEngine(await WebAssembly.compile(await moduleBytes()), first);
  }

  private lane(lane: Lane): LaneWorker {
    let worker = this.lanes.get(lane);
    if (!worker) {
      worker = new LaneWorker(this.module, this.files);
      this.lanes.set(lane, worker);
    }
    return worker;
  }

  run(lane: Lane, request: RunRequest, listener: Listener): () => void {
    return this.lane(lane).start(request, listener);
  }

  async fact(name: string, argument = ""): Promise<string | null> {
    // The run that a page begins with comes first: two workers would compile the same functions at a time.
    await this.lane("a").hasAnswered;
    return this.lane("curve").fact(name, argument);
  }

  async putFile(name: string, content: Uint8Array): Promise<void> {
    this.files.set(name, content);
    await Promise.all([...this.lanes.values()].map((worker) => worker.putFile(name, content)));
  }
}

async function moduleBytes(): Promise<ArrayBuffer> {
  const embedded = document.getElementById(EMBEDDED);
  if (embedded) {
    const letters = atob((embedded.textContent ?? "").trim());
    // To iterate over the letters takes twenty times as long.
    const packed = new Uint8Array(letters.length);
    for (let at = 0; at < packed.length; at++) packed[at] = letters.charCodeAt(at);
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(unpacked).arrayBuffer();
  }
  const response = await fetch(BESIDE);
  if (!response.ok) throw new Error(`${BESIDE} cannot be loaded: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}
