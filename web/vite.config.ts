/**
 * The pages and the worklets, each under a fixed name: the built files are committed, so a build on
 * another machine must give the same bytes. The server sends them with an ETag instead of hashed names.
 */
import { defineConfig } from "vitest/config";

/** No test waits so long, unless it hangs. */
const HANG_MS = 120_000;
const SERVER = "http://127.0.0.1:8000";

// Paths are relative to the root, except those of the tests.
export default defineConfig({
  root: "packages/page",
  base: "./",
  resolve: {
    tsconfigPaths: true,
    // In development the pages load each worklet from its source, under its name in the build.
    alias: [
      { find: /^\/ring-worker\.js$/, replacement: "src/ring-worker.ts" },
      { find: /^\/worklets\/(\w+)\.js$/, replacement: "../client/src/worklets/$1.ts" },
    ],
  },
  build: {
    target: "es2022",
    outDir: "../../dist",
    emptyOutDir: true,
    // A worklet is loaded by path, never from a data: address, so that a strict Content-Security-Policy holds.
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      input: {
        page: "index.html",
        transcript: "transcript.html",
        room: "room.html",
        "ring-worker": "src/ring-worker.ts",
        "worklets/capture": "../client/src/worklets/capture.ts",
        "worklets/playback": "../client/src/worklets/playback.ts",
        "worklets/voices": "../client/src/worklets/voices.ts",
      },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
      },
    },
  },
  server: {
    fs: { allow: ["../.."] },
    proxy: { "/ws": { target: SERVER, ws: true }, "/rooms": { target: SERVER, ws: true }, "/api": SERVER },
  },
  test: {
    dir: "packages",
    include: ["**/test/**/*.test.ts"],
    environment: "node",
    isolate: false,
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
  },
});
