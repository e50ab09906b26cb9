// Builds the page: a folder for any web server, and one file that a browser opens from the disk.
//
//   node scripts/build.mjs WASM-BINDGEN MODULE.wasm OUT
//
// WASM-BINDGEN is the program of that name, of the version in Cargo.lock; MODULE.wasm is what cargo has built of the
// crate web; OUT is the folder to write.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { licences } from "./licences.mjs";

const [, , bindgen, module, out] = process.argv;
if (!bindgen || !module || !out) {
  console.error("usage: node scripts/build.mjs WASM-BINDGEN MODULE.wasm OUT");
  process.exit(2);
}
const web = dirname(dirname(fileURLToPath(import.meta.url)));
const generated = join(web, "src/engine/generated");
const MOST_PACKED_BYTES = 3_000_000;
const MOST_FILE_BYTES = 4_000_000;

rmSync(generated, { recursive: true, force: true });
execFileSync(bindgen, [module, "--target", "web", "--omit-default-module-path", "--out-dir", generated, "--out-name", "skipline"], { stdio: "inherit" });
const optimised = join(web, "build/skipline.wasm");
mkdirSync(dirname(optimised), { recursive: true });
const features = ["simd", "bulk-memory", "sign-ext", "mutable-globals", "nontrapping-float-to-int", "reference-types", "multivalue"];
// Runs are as fast with more, and the page takes a third longer to its first numbers: browsers compile functions as
// they are called, and larger ones take longer.
const settings = ["-O1", ...features.map((feature) => `--enable-${feature}`), "--strip-debug", "--strip-producers"];
// Takes half a minute: the result is kept, with a digest of what it was made of.
const bound = join(generated, "skipline_bg.wasm");
const digest = createHash("sha256").update(settings.join(" ")).update(readFileSync(bound)).digest("hex");
const kept = `${optimised}.of`;
if (!existsSync(optimised) || !existsSync(kept) || readFileSync(kept, "utf8") !== digest) {
  execFileSync(join(web, "node_modules/.bin/wasm-opt"), [bound, ...settings, "-o", optimised], { stdio: "inherit" });
  writeFileSync(kept, digest);
}

process.chdir(web);
await build({ configFile: join(web, "vite.config.ts"), logLevel: "warn" });

const script = readFileSync(join(web, "build/bundle/app.js"), "utf8");
const style = readFileSync(join(web, "build/bundle/style.css"), "utf8");
const wasm = readFileSync(optimised);
const text = licences(web);
const template = readFileSync(join(web, "index.html.template"), "utf8");
// Functions as replacements: `$` means nothing in them.
const page = (parts) => Object.entries({ LICENCES: text.replaceAll("</script", "<\\/script"), ...parts })
  .reduce((html, [name, part]) => html.replace(`<!--${name}-->`, () => part), template);
const folder = page({ STYLE: '<link rel="stylesheet" href="style.css">', WASM: "", SCRIPT: '<script src="app.js" defer></script>' });
const packed = gzipSync(wasm, { level: 9 });
const single = page({
  TOKEN: "",
  STYLE: `<style>${style}</style>`,
  WASM: `<script type="text/plain" id="skipline-wasm">${packed.toString("base64")}</script>`,
  SCRIPT: `<script>${script.replaceAll("</script", "<\\/script")}</script>`,
});

// Written beside, then renamed: a page is there whole or not at all.
const target = resolve(out);
const fresh = `${target}.new`;
rmSync(fresh, { recursive: true, force: true });
mkdirSync(fresh, { recursive: true });
writeFileSync(join(fresh, "index.html"), folder);
writeFileSync(join(fresh, "app.js"), script);
writeFileSync(join(fresh, "style.css"), style);
cpSync(optimised, join(fresh, "skipline.wasm"));
writeFileSync(join(fresh, "licences.txt"), text);
writeFileSync(join(fresh, "skipline-explorer.html"), single);
const sizes = ["index.html", "app.js", "style.css", "skipline.wasm"].map((name) => gzipSync(readFileSync(join(fresh, name)), { level: 9 }).length);
const [folderBytes, singleBytes] = [sizes.reduce((sum, size) => sum + size, 0), statSync(join(fresh, "skipline-explorer.html")).size];
if (folderBytes > MOST_PACKED_BYTES || singleBytes > MOST_FILE_BYTES) {
  console.error(`error: the page is too large: ${folderBytes} bytes packed (at most ${MOST_PACKED_BYTES}), ${singleBytes} as one file (at most ${MOST_FILE_BYTES})`);
  process.exit(1);
}
if (existsSync(target)) rmSync(target, { recursive: true });
renameSync(fresh, target);
console.log(`${out}: ${(folderBytes / 1e6).toFixed(2)} MB packed, ${(singleBytes / 1e6).toFixed(2)} MB as one file`);
