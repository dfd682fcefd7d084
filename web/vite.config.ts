/**
 * The pages and the worklets, each under a fixed name: the built files are committed, so a build on
 * another machine must give the same bytes. The server sends them with an ETag instead of hashed names.
 */
import { defineConfig } from "vitest/config";

const SERVER = "http://127.0.0.1:8000";

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    outDir: "dist",
    // A worklet is loaded by path, never from a data: address, so that a strict Content-Security-Policy holds.
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      input: {
        page: "index.html",
        transcript: "transcript.html",
        room: "room.html",
        "worklets/capture": "src/worklets/capture.ts",
        "worklets/playback": "src/worklets/playback.ts",
        "worklets/voices": "src/worklets/voices.ts",
      },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
      },
    },
  },
  server: {
    proxy: { "/ws": { target: SERVER, ws: true }, "/rooms": { target: SERVER, ws: true }, "/api": SERVER },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
