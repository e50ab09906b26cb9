// The simulator behind `skipline explore`: a request for each run, whose answer comes line by line.
import type { Engine, Lane, Listener, RunEvent, RunRequest } from "./protocol";

/** The name of the element of a page that `skipline explore` serves: its content is the token. */
const TOKEN = 'meta[name="skipline-token"]';

export class NativeEngine implements Engine {
  readonly kind = "native";
  private readonly under = new Map<Lane, AbortController>();

  private constructor(private readonly token: string) {}

  /** The engine of this page; undefined if the page was not served by `skipline explore`. */
  static find(): NativeEngine | undefined {
    const token = document.querySelector<HTMLMetaElement>(TOKEN)?.content;
    return token ? new NativeEngine(token) : undefined;
  }

  private post(path: string, body: BodyInit, signal?: AbortSignal): Promise<Response> {
    const headers = { "X-Skipline-Token": this.token };
    return fetch(path, { method: "POST", body, headers, ...(signal ? { signal } : {}) });
  }

  run(lane: Lane, request: RunRequest, listener: Listener): () => void {
    this.under.get(lane)?.abort();
    const control = new AbortController();
    this.under.set(lane, control);
    this.follow(request, control.signal, listener).catch((error: unknown) => {
      if (control.signal.aborted) return;
      const message = `skipline explore does not answer: ${String(error)}; is it still running?`;
      listener({ kind: "step", step: { state: "refused", error: { message, key: null } } });
    });
    return () => control.abort();
  }

  private async follow(request: RunRequest, signal: AbortSignal, listener: Listener): Promise<void> {
    const response = await this.post("run", JSON.stringify(request), signal);
    if (!response.ok || !response.body) throw new Error(`${response.status} ${response.statusText}`);
    let rest = "";
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value ?? "")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (!signal.aborted && line) listener(eventOf(line));
      if (done) return;
    }
  }

  async fact(name: string, argument = ""): Promise<string | null> {
    const response = await this.post(`fact/${name}`, argument);
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return response.text();
  }

  async putFile(name: string, content: Uint8Array): Promise<void> {
    const response = await this.post(`file/${encodeURIComponent(name)}`, new Blob([content as BlobPart]));
    if (!response.ok) throw new Error(await response.text());
  }
}

function eventOf(line: string): RunEvent {
  const read = JSON.parse(line);
  return "state" in read ? { kind: "step", step: read } : { kind: "checked", checked: read };
}
