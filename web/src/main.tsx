// The page begins: finds the simulator, and draws.
import { render } from "preact";
import { BrowserEngine } from "./engine/browser";
import { NativeEngine } from "./engine/native";
import { commandLine } from "./model/config";
import { configs, connect, drawn, failure, runs, set, timings } from "./store";
import "./style.css";
import { App } from "./view/app";

declare global {
  interface Window {
    /** For tests, and for whoever looks under the hood. */
    skipline: object;
  }
}

window.skipline = { timings, configs, runs, drawn, set, commandLine };

// The slowest step begins first: the module is unpacked and compiled beside the first drawing of the page.
const loading = NativeEngine.find() ?? BrowserEngine.load();

const place = document.getElementById("app");
if (place) render(<App />, place);

async function begin(): Promise<void> {
  await connect(await loading);
}

begin().catch((error: unknown) => {
  failure.value = `The simulator cannot be loaded: ${error instanceof Error ? error.message : String(error)}.`;
});
