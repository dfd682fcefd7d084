/**
 * Builds the client package into a folder (`--outDir`, default dist/client), as the server serves it at `/client/` and
 * `npm pack` packs it: a module, a script that puts the same names into `Realtime`, the React hook, the worklets and the
 * types. The names are fixed, as those of the pages: see vite.config.ts.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "vite";

const WEB = dirname(fileURLToPath(import.meta.url));
const CLIENT = join(WEB, "packages/client");
const WORKLETS = ["capture", "playback"];
const TARGET = "es2022";

/** The script of each worklet, without imports. */
async function workletScripts() {
  const scripts = new Map();
  for (const name of WORKLETS) {
    const input = join(CLIENT, `src/worklets/${name}.ts`);
    const { output } = await build({
      configFile: false,
      logLevel: "warn",
      build: { target: TARGET, write: false, modulePreload: false, rolldownOptions: { input } },
    });
    scripts.set(name, output[0].code.trim());
  }
  return scripts;
}

/** The hook alone: React and the client are imported. */
async function buildHook(outDir) {
  const external = (id) => (id === "react" ? id : id.endsWith("/realtime.ts") ? "./realtime.js" : null);
  await build({
    configFile: false,
    root: CLIENT,
    publicDir: false,
    logLevel: "warn",
    plugins: [
      {
        name: "externals",
        enforce: "pre",
        resolveId: (id) => (external(id) === null ? null : { id: external(id), external: true }),
      },
    ],
    build: {
      target: TARGET,
      outDir,
      emptyOutDir: false,
      lib: { entry: "src/react.ts", formats: ["es"], fileName: () => "realtime.react.js" },
      rolldownOptions: { output: { minify: true } },
    },
  });
}

/** One file in one format. A classic script knows its own address by `document.currentScript` only. */
async function buildFile(format, fileName, outDir, scripts) {
  const inlined = [...scripts].map(([name, code]) => `export const ${name.toUpperCase()} = ${JSON.stringify(code)};`);
  await build({
    configFile: false,
    root: CLIENT,
    publicDir: false,
    logLevel: "warn",
    plugins: [{ name: "inlined-worklets", load: (id) => (id.endsWith("/src/inlined-worklets.ts") ? inlined.join("\n") : null) }],
    define: format === "iife" ? { "import.meta.url": '""' } : {},
    build: {
      target: TARGET,
      outDir,
      emptyOutDir: false,
      modulePreload: false,
      lib: { entry: "src/realtime.ts", name: "Realtime", formats: [format], fileName: () => fileName },
      // As a library, a module would keep its white space.
      rolldownOptions: { output: { minify: true } },
    },
  });
}

/** The declarations that the entries need; what tsc makes for the other files is of no use. */
function writeTypes(folder) {
  const made = mkdtempSync(join(tmpdir(), "types-"));
  try {
    const tsc = join(WEB, "node_modules/typescript/bin/tsc");
    const { status } = spawnSync(process.execPath, [tsc, "--project", CLIENT, "--emitDeclarationOnly", "--outDir", made], { stdio: "inherit" });
    if (status !== 0) throw new Error("the types cannot be built");
    const needed = new Set(["realtime", "react"]);
    // Grows while it is read.
    for (const name of needed) {
      const text = readFileSync(join(made, `${name}.d.ts`), "utf-8").replace(/"\.\/([\w./-]+)\.ts"/g, (_, found) => {
        needed.add(found);
        return `"./${found}.js"`;
      });
      write(join(folder, `${name}.d.ts`), text);
    }
  } finally {
    rmSync(made, { recursive: true });
  }
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const { values } = parseArgs({ options: { outDir: { type: "string" } } });
const outDir = resolve(values.outDir ?? join(WEB, "dist/client"));
rmSync(outDir, { recursive: true, force: true });
const scripts = await workletScripts();
for (const [name, code] of scripts) write(join(outDir, "worklets", `${name}.js`), `${code}\n`);
await buildFile("es", "realtime.js", outDir, scripts);
await buildFile("iife", "realtime.script.js", outDir, scripts);
await buildHook(outDir);
writeTypes(join(outDir, "types"));
