// The licences of what is in the page: its packages of npm, then the crates of the module, as in THIRD-PARTY.txt.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Crates of the module that the wheel does not have; their licences are among those below. */
const ONLY_HERE = "wasm-bindgen, js-sys, web-time: MIT or Apache-2.0.";

/** Packages that build or test the page, and are not in it. */
function shipped(web) {
  const lock = JSON.parse(readFileSync(join(web, "package-lock.json"), "utf8"));
  return Object.entries(lock.packages).filter(([path, facts]) => path && !facts.dev && !facts.optional).map(([path]) => path);
}

/** The list with the text of each licence. */
export function licences(web) {
  const parts = shipped(web).map((path) => {
    const folder = join(web, path);
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
    return { name, version, license, text };
  });
  const same = new Map();
  for (const { name, version, license, text } of parts) {
    const key = text || license;
    same.set(key, [...(same.get(key) ?? []), `${name} ${version} (${license})`]);
  }
  const own = "Skipline: Apache-2.0.";
  const crates = readFileSync(join(web, "../THIRD-PARTY.txt"), "utf8");
  const list = parts.map(({ name, version, license }) => `${name} ${version}: ${license}`).join("\n");
  const texts = [...same].map(([text, names]) => `${"-".repeat(60)}\n${names.join(", ")}\n\n${text}`).join("\n\n");
  return `${own}\n\n${list}\n\n${texts}\n\n${ONLY_HERE}\n\n${crates}`;
}
