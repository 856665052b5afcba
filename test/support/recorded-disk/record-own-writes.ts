import { plugin } from "bun";

/** Preloaded by the programs whose disk is recorded: gives the module that writes to the log itself a recorded `node:fs`. */
plugin({
  name: "recorded writes",
  setup({ onLoad }) {
    onLoad({ filter: /\/store\/sqlite\/log\/failed-sync\.ts$/ }, async ({ path }) => {
      const recordedFs = new URL("./recorded-fs.ts", import.meta.url).pathname;
      const source = await Bun.file(path).text();
      return { contents: source.replace('"node:fs"', JSON.stringify(recordedFs)), loader: "ts" };
    });
  },
});
