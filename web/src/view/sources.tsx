// Sources of the numbers: fitted parameters, the slice function, the testbed; and exports.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { commandLine, request } from "../model/config";
import { downloadText, resultCsv } from "../model/exports";
import { configs, edited, engine, imported, parts, view } from "../store";
import { writeLink } from "../model/link";
import { Card, Mark } from "./parts";

export function Sources(): JSX.Element {
  const result = parts.a.result.value;
  const own = result?.fitted_parameters.filter((parameter) => !parameter.is_elsewhere) ?? [];
  const elsewhere = (result?.fitted_parameters.length ?? 0) - own.length;
  return (
    <Card id="sources" title="What to believe" wide>
      <ul class="sources">
        <li>
          <Mark basis="measured" /> Diamonds and bars in curves: published measurements, never mixed with the others.
        </li>
        <li>
          <Mark basis="fitted" /> A simulated number at a point on which parameters were chosen.
        </li>
        <li>
          <Mark basis="predicted" /> Every other simulated number.
        </li>
        {result && (
          <>
            <li>
              Parameters that were fitted: {own.length ? own.map(({ key }) => key).join(", ") : "none"}
              {elsewhere ? `; fitted on other machines and assumed here: ${elsewhere}` : ""}.
            </li>
            <li>Slice function: {result.slice_function}.</li>
            <li>
              Platform {result.platform}
              {result.testbed ? `, testbed ${result.testbed.title}` : ""}; Skipline {result.version}.
            </li>
            {result.notes?.map((note) => (
              <li key={note}>{note}.</li>
            ))}
          </>
        )}
        <li>± is the 95 % interval of this run. It does not hold the model's own error.</li>
      </ul>
    </Card>
  );
}

export function Exports(): JSX.Element {
  const side = configs.b.value ? edited.value : "a";
  const config = configs[side].value ?? configs.a.value;
  const [result, text] = [parts[side].result.value, parts[side].text.value];
  const [said, say] = useState("");
  const line = commandLine(config);
  const copy = async (what: string, content: string) => {
    try {
      await navigator.clipboard.writeText(content);
      say(`${what} copied.`);
    } catch {
      say(`This browser does not let the page copy. ${what}: select it by hand.`);
    }
  };
  const toml = async () => {
    const answer = JSON.parse((await engine.value?.fact("changed_text", JSON.stringify(request(config)))) ?? "{}");
    if (answer.text) downloadText("scenario.toml", `# skipline run scenario.toml${config.seed === 1 ? "" : ` --seed ${config.seed}`}\n${answer.text}`, "application/toml");
  };
  // Without the token of this page, which opens nothing for others.
  const link = `${location.href.split(/[?#]/)[0]}${writeLink(view.value)}`;
  return (
    <Card id="exports" title={`Take it away${configs.b.value ? `: ${side.toUpperCase()}` : ""}`}>
      <p class="about">The command line that reproduces it:</p>
      <code class="command" id="command-line">
        {line}
      </code>
      <div class="buttons">
        <button type="button" onClick={() => void copy("The command", line)}>
          Copy the command
        </button>
        <button type="button" onClick={() => void copy("The link", link)}>
          Copy the link
        </button>
        <button type="button" onClick={() => void toml()}>
          Scenario (TOML)
        </button>
        <button type="button" disabled={!result} onClick={() => result && downloadText("result.csv", resultCsv(result), "text/csv")}>
          Numbers (CSV)
        </button>
        <button type="button" disabled={!text} onClick={() => text && downloadText("result.json", `${text}\n`, "application/json")}>
          Result (JSON)
        </button>
      </div>
      <p class="about" aria-live="polite">
        {said}
        {imported.value.length > 0 && ` A link does not contain ${imported.value.join(", ")}.`}
      </p>
    </Card>
  );
}
