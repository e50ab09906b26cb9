// A worker: runs the simulator in slices, so that a new request is heard between two of them.
import { BrowserEngine, fact, initSync, panic_message, put_file } from "./generated/skipline.js";

export type ToWorker =
  | { kind: "load"; module: WebAssembly.Module }
  | { kind: "start"; run: number; request: string }
  | { kind: "stop" }
  | { kind: "fact"; call: number; name: string; argument: string }
  | { kind: "file"; call: number; name: string; content: Uint8Array };

export type FromWorker =
  | { kind: "checked" | "step"; run: number; text: string }
  | { kind: "failed"; run: number; message: string }
  | { kind: "answer"; call: number; text: string | null };

/** Time of a slice: shorter than a frame, so that the first numbers of a new request are not late. */
const SLICE_MS = 12;
/** Time between two reports of mere progress: each is a frame that the page has to paint. */
const PROGRESS_MS = 100;

const scope = self as unknown as DedicatedWorkerGlobalScope;
let engine: BrowserEngine | undefined;
let current = 0;
/** When the last step was reported, or the run began. */
let posted = 0;
/** The request that is to be started: while a slider moves, only the last of those that have come. */
let pending: { run: number; request: string } | undefined;
// A message to oneself is the one wait that browsers do not stretch to milliseconds.
const turn = new MessageChannel();
let scheduled = false;
turn.port1.onmessage = () => {
  scheduled = false;
  if (pending) begin(pending);
  else guarded(current, slice);
};

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  turn.port2.postMessage(0);
}

function post(message: FromWorker): void {
  scope.postMessage(message);
}

/** Calls the module; after a trap, of which the page tells, it is of no use, and the page starts another worker. */
function guarded(run: number, call: () => void): void {
  try {
    call();
  } catch (error) {
    current = 0;
    let message = "";
    try {
      message = panic_message();
    } catch {
      // The module is beyond answering.
    }
    post({ kind: "failed", run, message: message || String(error) });
  }
}

function begin({ run, request }: { run: number; request: string }): void {
  pending = undefined;
  guarded(run, () => {
    const text = engine?.start(request) ?? "";
    const refused = text.startsWith('{"state":"refused"');
    post({ kind: refused ? "step" : "checked", run, text });
    posted = performance.now();
    current = refused ? 0 : run;
    if (!refused) schedule();
  });
}

function slice(): void {
  if (!engine || current === 0) return;
  const text = engine.advance(SLICE_MS);
  const now = performance.now();
  if (!text.startsWith('{"state":"under_way"') || now - posted >= PROGRESS_MS) {
    post({ kind: "step", run: current, text });
    posted = now;
  }
  if (text.startsWith('{"state":"ended"') || text.startsWith('{"state":"refused"')) current = 0;
  else schedule();
}

scope.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  switch (data.kind) {
    case "load":
      initSync({ module: data.module });
      engine = new BrowserEngine();
      return;
    case "start":
      pending = data;
      schedule();
      return;
    case "stop":
      current = 0;
      pending = undefined;
      engine?.stop();
      return;
    case "fact":
      guarded(0, () => post({ kind: "answer", call: data.call, text: fact(data.name, data.argument) ?? null }));
      return;
    case "file":
      guarded(0, () => {
        put_file(data.name, data.content);
        post({ kind: "answer", call: data.call, text: null });
      });
  }
};
