// One classic script and one style sheet: a page from the disk loads no modules.
import { defineConfig } from "vite";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  worker: { format: "iife" },
  build: {
    target: "es2022",
    outDir: "build/bundle",
    emptyOutDir: true,
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "explorer", fileName: () => "app.js", cssFileName: "style" },
  },
});
