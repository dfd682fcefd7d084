/** The report of a run of tests: one script and one style, which `realtime/testing/report` writes into its page. */
import { defineConfig } from "vite";

export default defineConfig({
  root: "packages/page",
  publicDir: false,
  build: {
    target: "es2022",
    outDir: "../../../realtime/testing/report",
    emptyOutDir: false,
    modulePreload: false,
    rolldownOptions: {
      input: "src/report/report.ts",
      output: { entryFileNames: "[name].generated.js", assetFileNames: "[name].generated[extname]" },
    },
  },
});
