import { parseArgs } from "node:util";
import { currentCommit } from "./config/release/commit.ts";
import { compile } from "./config/release/compile.ts";
import { targets } from "./config/release/targets.ts";
import { version } from "./package.json";

/**
 * Makes the one executable: `bun run build` for this machine, `--target` for another, `--outfile` for another place.
 * `bun run release` makes what is published.
 */
const { values } = parseArgs({
  options: {
    target: { type: "string" },
    outfile: { type: "string", default: "dist/sluice" },
    help: { type: "boolean", short: "h" },
  },
});

const names = targets.map(({ bun }) => bun);
if (values.help) {
  console.log(`usage: bun run build [--target ${names.join("|")}] [--outfile dist/sluice]`);
  process.exit(0);
}

const target = names.find((name) => name === values.target);
if (values.target !== undefined && target === undefined) {
  console.error(`error: --target must be one of ${names.join(", ")}`);
  process.exit(2);
}

const startedMs = performance.now();
await compile({
  outfile: values.outfile,
  commit: currentCommit()?.id ?? null,
  ...(target === undefined ? {} : { target }),
});
const megabytes = Math.round(Bun.file(values.outfile).size / 1_000_000);
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
console.log(
  `${values.outfile}: sluice ${version}, ${target ?? "this machine"}, ${megabytes} MB, ${seconds} s`,
);
