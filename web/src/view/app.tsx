// The page as a whole.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Side } from "../model/config";
import { configs, compare, edited, engine, failure, linkProblems, parts, swap } from "../store";
import { Controls } from "./controls";
import { KnobCurve, Trail } from "./charts";
import { DataPath } from "./data_path";
import { Evictions, Limits } from "./evictions";
import { Alert, Card, Term } from "./parts";
import { PictureTools } from "./pictures";
import { Exports, Sources } from "./sources";
import { Steps } from "./steps";
import { RunLine, Tiles } from "./tiles";
import { go, Tour } from "./tour";
import { Ways } from "./ways";

export function App(): JSX.Element {
  const two = configs.b.value !== undefined;
  const sides: Side[] = two ? ["a", "b"] : ["a"];
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to the numbers
      </a>
      <Header two={two} />
      <div class="layout">
        <aside class="panel" aria-label="Settings">
          {two && <SideTabs />}
          <Controls key={two ? edited.value : "a"} side={two ? edited.value : "a"} />
        </aside>
        <main id="main" tabIndex={-1}>
          {failure.value && <Alert>{failure.value}</Alert>}
          {linkProblems.value.length > 0 && (
            <Alert>
              The link that opened this page cannot be read whole: {linkProblems.value.join("; ")}. What could be read is shown.
            </Alert>
          )}
          <section id="answer" aria-label="The answer">
            {sides.map((side) => (
              <Answer key={side} side={side} two={two} />
            ))}
          </section>
          <Tiles />
          <div class="grid">
            <Card
              id="path"
              title="The data path"
              tools={<PictureTools of="data-path-a" name="data-path" />}
              wide
            >
              <Sides sides={sides}>{(side) => <DataPath side={side} sides={sides} />}</Sides>
            </Card>
            <Card id="llc" title={<>The ways of the <Term id="llc">last-level cache</Term></>} tools={<PictureTools of="ways-a-0" name="ways" />} wide={two}>
              <Sides sides={sides}>{(side) => <Ways side={side} />}</Sides>
            </Card>
            <Card id="evictions" title="Who evicted whom" wide={two}>
              <Sides sides={sides}>{(side) => <Evictions side={side} />}</Sides>
            </Card>
            <KnobCurve />
            <Trail />
            <Card id="limits" title="What is busy" wide={two}>
              <Sides sides={sides}>{(side) => <Limits side={side} />}</Sides>
            </Card>
            <Exports />
            <Steps />
            <Sources />
          </div>
        </main>
      </div>
      <Tour />
      <footer>
        <p>
          Skipline: the same model as <code>skipline run</code>, {engine.value?.kind === "native" ? "by the native program" : "as WebAssembly in this page"}. The page loads nothing from elsewhere
          and sends nothing anywhere. <details class="licences"><summary>Licences</summary><Licences /></details>
        </p>
      </footer>
    </>
  );
}

function Sides({ sides, children }: { sides: Side[]; children: (side: Side) => JSX.Element }): JSX.Element {
  if (sides.length === 1) return children("a");
  return (
    <div class="sides">
      {sides.map((side) => (
        <div key={side} class={`of-side side-${side}`}>
          <h3>{side.toUpperCase()}</h3>
          {children(side)}
        </div>
      ))}
    </div>
  );
}

function Answer({ side, two }: { side: Side; two: boolean }): JSX.Element {
  const { result, checked, state } = parts[side];
  const title = String(checked.value?.scenario.title ?? configs[side].value?.file ?? "");
  return (
    <div class={`answer side-${side}`}>
      <h2>
        {two && <span class="side-name">{side.toUpperCase()}</span>} {title}
      </h2>
      <p class="said" id={`said-${side}`}>{result.value?.answer ?? "Simulating …"}</p>
      <p class="sr" role="status">
        {state.value === "ended" ? `${two ? `${side.toUpperCase()}: ` : ""}${result.value?.answer}` : ""}
      </p>
      <RunLine side={side} />
    </div>
  );
}

function SideTabs(): JSX.Element {
  return (
    <div class="tabs" role="group" aria-label="The configuration that the controls change">
      {(["a", "b"] as const).map((side) => (
        <button key={side} type="button" aria-pressed={edited.value === side} class={`side-${side}`} onClick={() => (edited.value = side)}>
          Change {side.toUpperCase()}
        </button>
      ))}
      <button type="button" class="quiet" onClick={swap}>
        Swap
      </button>
    </div>
  );
}

function Header({ two }: { two: boolean }): JSX.Element {
  return (
    <header class="top">
      <h1>
        <Logo /> Skipline <span class="soft">explorer</span>
      </h1>
      <p class="tagline">Drag a slider, see the leak</p>
      <nav aria-label="The page">
        <span class="badge" id="engine" title={engine.value?.kind === "native" ? "The native program on this machine simulates" : "The simulator runs in this page, as WebAssembly"}>
          {engine.value ? (engine.value.kind === "native" ? "native engine" : "in your browser") : "loading …"}
        </span>
        <button type="button" id="tour" onClick={() => go(0)}>
          Tour
        </button>
        <button type="button" id="compare" aria-pressed={two} onClick={() => compare(!two)}>
          {two ? "End the comparison" : "Compare"}
        </button>
        <ThemeSwitch />
      </nav>
    </header>
  );
}

const THEME = "skipline-theme";

function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState<string>(() => stored() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const other = theme === "dark" ? "light" : "dark";
  const change = () => {
    setTheme(other);
    try {
      localStorage.setItem(THEME, other);
    } catch {
      // A page from the disk may have no storage: the choice holds until it is closed.
    }
  };
  return (
    <button type="button" id="theme" onClick={change} title={`Change to ${other}`}>
      {theme === "dark" ? "☀" : "☾"}
      <span class="sr">Change to {other}</span>
    </button>
  );
}

function stored(): string | undefined {
  try {
    return localStorage.getItem(THEME) ?? undefined;
  } catch {
    return undefined;
  }
}

function Logo(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      {[0, 1, 2, 3].map((column) =>
        [0, 1, 2].map((row) => (
          <rect key={`${column}${row}`} x={2 + column * 7.4} y={4 + row * 8.4} width="6" height="6.6" rx="1.6" style={{ fill: column > 1 ? "var(--category-2)" : "var(--category-1)", fillOpacity: row === 0 && column % 2 === 1 ? 0.3 : 1 }} />
        )),
      )}
    </svg>
  );
}

function Licences(): JSX.Element {
  const text = document.getElementById("licences")?.textContent ?? "";
  return <pre class="licence-text">{text.trim()}</pre>;
}
