import { parseArgs } from "node:util";
import { judge } from "./bars.ts";
import { clusterReport, judgeCluster, runClusterBench } from "./cluster.ts";
import { fillStore } from "./fill.ts";
import { keepGatewaysOnOneProcessor } from "./gateways.ts";
import { countInstructions, instructionReport } from "./instructions.ts";
import { buildOther } from "./other-build.ts";
import { repeatedReport, runRepeatedly } from "./repeated.ts";
import { report } from "./report.ts";
import { runBench } from "./run.ts";
import { measureTail } from "./tail.ts";

const usage = `Measures the compiled executable against a bare Bun proxy and other gateways, all on this machine.

usage: bun run bench [--full] [--only TEXT] [--against COMMIT] [--one-cpu] [--json] [--check] [--no-build]
       bun run bench --runs 5 [--one-cpu] [--json] [--no-build]
       bun run bench --store postgres [--json] [--check] [--no-build]
       bun run bench instructions [--only TEXT] [--against COMMIT] [--json] [--no-build]
       bun run bench tail [--calls 500000] [--no-build]
       bun run bench fill --data DIR [--keys 10000] [--records 1000000]

  --full       every dialect, size and concurrency (about ten minutes; without it under three)
  --only TEXT  only the cells whose name contains this, such as "chat, JSON"
  --runs N     chat requests of 1 KB, 32 at a time, in N runs: median and range, next to Portkey, LiteLLM and Bifrost
               where npm and pip can install them
  --against COMMIT   builds that commit, too, and measures both in the same turns
  --one-cpu    every gateway has one processor, as in a small container
  --json       print everything as JSON instead of tables
  --check      exit 1 when a bar is missed
  --no-build   take dist/sluice as it is
  --store postgres   gateways on a PostgreSQL of their own, against SQLite, in turns
  instructions count instructions instead of time, under qemu-user; the same on a busy machine. Takes two minutes for
               each cell that --only names; two cells of chat without it
  tail         one call at a time, on a fresh process and after it has served many
  fill         make a data folder with a long history, to see what growth costs`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: "boolean", default: false },
    only: { type: "string" },
    runs: { type: "string" },
    against: { type: "string" },
    "one-cpu": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
    store: { type: "string" },
    data: { type: "string" },
    calls: { type: "string", default: "500000" },
    keys: { type: "string", default: "10000" },
    records: { type: "string", default: "1000000" },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (values.help) console.log(usage);
else if (positionals[0] === "fill" && values.data !== undefined) await fill(values.data);
else if (positionals[0] === "instructions") await instructions();
else if (positionals.length === 0 && values.runs !== undefined) await benchRepeatedly(Number(values.runs));
else if (positionals[0] === "tail") await tail();
else if (positionals.length === 0 && values.store === "postgres") await benchCluster();
else if (positionals.length === 0 && values.store === undefined) await bench();
else {
  console.error(usage);
  process.exitCode = 2;
}

async function fill(data: string): Promise<void> {
  const startedAtMs = performance.now();
  const { credit } = await fillStore(data, { keys: Number(values.keys), records: Number(values.records) });
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.log(`${data}: ${values.keys} keys and ${values.records} records in ${seconds} s`);
  console.log(`a credit key among them: ${credit.secret}`);
}

async function benchRepeatedly(count: number): Promise<void> {
  prepare();
  if (values["one-cpu"]) keepGatewaysOnOneProcessor();
  const runs = await runRepeatedly(count, progress);
  console.log(values.json ? JSON.stringify(runs, null, 2) : repeatedReport(runs));
}

async function benchCluster(): Promise<void> {
  prepare();
  const results = await runClusterBench(progress);
  const bars = judgeCluster(results);
  console.log(values.json ? JSON.stringify({ ...results, bars }, null, 2) : clusterReport(results, bars));
  if (values.check && bars.some((bar) => bar.met === false)) process.exitCode = 1;
}

async function instructions(): Promise<void> {
  prepare();
  using other = values.against === undefined ? null : buildOther(values.against);
  const counts = await countInstructions({
    only: values.only ?? null,
    other: other?.executable ?? null,
    progress,
  });
  console.log(values.json ? JSON.stringify(counts, null, 2) : instructionReport(counts));
}

async function tail(): Promise<void> {
  prepare();
  console.log(await measureTail({ calls: Number(values.calls), progress }));
}

function progress(line: string): void {
  console.error(`… ${line}`);
}

function prepare(): void {
  if (process.platform !== "linux") throw new Error("CPU time is read from /proc, which only Linux has");
  if (!values["no-build"]) build();
}

async function bench(): Promise<void> {
  prepare();
  if (values["one-cpu"]) keepGatewaysOnOneProcessor();
  using other = values.against === undefined ? null : buildOther(values.against);
  const results = await runBench({
    full: values.full,
    only: values.only ?? null,
    other: other?.executable ?? null,
    progress,
  });
  const bars = judge(results);
  console.log(values.json ? JSON.stringify({ ...results, bars }, null, 2) : report(results, bars));
  if (values.check && bars.some((bar) => bar.met === false)) process.exitCode = 1;
}

function build(): void {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "build.ts"], {
    cwd: new URL("../..", import.meta.url).pathname,
  });
  if (exitCode !== 0) throw new Error(`the executable could not be built:\n${stderr}`);
}
