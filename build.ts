import { parseArgs } from "node:util";
import { version } from "./package.json";

/**
 * Makes the one executable: `bun run build` for this machine, `--target` for another, `--outfile` for
 * another place. Nothing is minified (it breaks how Elysia finds out what a handler reads, and saves
 * nothing next to the runtime), and the executable reads no bunfig.toml and no .env of the folder it is
 * started in, because both could run code.
 */
const targets = ["bun-linux-x64", "bun-linux-arm64", "bun-darwin-arm64"] as const;

/** Threads are entry points of their own, and are found in the executable by their paths below `src`. */
const entrypoints = [
  "src/main.ts",
  "src/store/sqlite/writers/writer-thread.ts",
  "src/catalog/tokens/worker.ts",
  "src/gateway/large/thread.ts",
];

const { values } = parseArgs({
  options: {
    target: { type: "string" },
    outfile: { type: "string", default: "dist/sluice" },
    help: { type: "boolean", short: "h" },
  },
});

if (values.help) {
  console.log(`usage: bun run build [--target ${targets.join("|")}] [--outfile dist/sluice]`);
  process.exit(0);
}

const target = targets.find((name) => name === values.target);
if (values.target !== undefined && target === undefined) {
  console.error(`error: --target must be one of ${targets.join(", ")}`);
  process.exit(2);
}

const startedMs = performance.now();
const result = await Bun.build({
  entrypoints,
  bytecode: true,
  format: "esm",
  define: { "process.env.NODE_ENV": '"production"' },
  compile: {
    outfile: values.outfile,
    autoloadBunfig: false,
    autoloadDotenv: false,
    ...(target === undefined ? {} : { target }),
  },
});

if (!result.success) {
  for (const log of result.logs) console.error(log);
  process.exit(1);
}
const megabytes = Math.round(Bun.file(values.outfile).size / 1_000_000);
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
console.log(
  `${values.outfile}: sluice ${version}, ${target ?? "this machine"}, ${megabytes} MB, ${seconds} s`,
);
