import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runtimeSettings } from "../../src/cli/serve/runtime-settings.ts";
import { instructionsBar } from "./bars.ts";
import { type Cell, cellEvents, cellName, shortList } from "./cells.ts";
import { type Gateway, runGatewaysUnder, startBare, startProvider, startSluice } from "./gateways.ts";
import { growthCell } from "./growth.ts";
import type { LoadJob } from "./load-job.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import { align, barRows } from "./report.ts";

/**
 * Counts the instructions that a request takes, by running the gateways under qemu-user. On a machine whose neighbours are noisy
 * CPU times differ by a fifth from run to run, and these counts by a hundredth. They leave out the system, and how fast an
 * instruction is.
 */
export interface InstructionOptions {
  readonly only: string | null;
  readonly other: string | null;
  readonly progress: (line: string) => void;
}

export interface InstructionCount {
  readonly gateway: string;
  readonly cell: string;
  /** Thousands a request (a stream of 200 events), on the event loop. */
  readonly loop: number;
  /** On all other threads, the just-in-time compiler included. */
  readonly others: number;
  /** Two windows in a row agreed. If not, the runtime was still compiling, and fewer would be counted later. */
  readonly isSteady: boolean;
}

const cache = join(import.meta.dir, "../../node_modules/.cache/sluice-bench");
/** Requests of a connection in a window: as many on a busy machine, where the emulator is 20 to 200 times slower than the processor. */
const perConnection = (cell: Cell) => (cell.stream ? 15 : 60);
/** The runtime compiles until here. What has not come to rest by then is marked. */
const maxWindows = 20;
/** A gateway that is this slow counts as overloaded at times, above all while nothing is compiled, and rejects what comes. */
const mostRejectedWindows = 30;
const steadyShare = 0.01;
/** The compiler has come to rest if the other threads have less than this share of the event loop's instructions. */
const restingShare = 0.2;
const bytesPerCount = 8;

export async function countInstructions(options: InstructionOptions): Promise<readonly InstructionCount[]> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "instructions-"));
  const plugin = buildPlugin(folder);
  const load = startLoad();
  const provider = await startProvider(folder);
  const { url } = provider.target(growthCell);
  const cells = chosenCells(options.only);
  const { other } = options;
  const starts: Readonly<Record<string, () => Promise<Gateway>>> = {
    bare: () => startBare(folder, url),
    sluice: () => startSluice(join(folder, "sluice"), url),
    ...(other && { other: () => startSluice(join(folder, "other"), url, { name: "other", program: other }) }),
  };
  const counts: InstructionCount[] = [];
  try {
    for (const [name, start] of Object.entries(starts)) {
      const file = join(folder, `${name}.counts`);
      runGatewaysUnder(emulator(plugin, file));
      const gateway = await start();
      for (const cell of cells) {
        const count = {
          gateway: name,
          cell: cellName(cell),
          ...(await countCell(load, gateway, cell, file)),
        };
        options.progress(`${count.cell}: ${name} ${countText(count)}`);
        counts.push(count);
      }
      await gateway.stop();
    }
  } finally {
    await provider.stop();
    load.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return counts;
}

/** Without a choice the ones that a change of the common path shows in: each takes a minute a gateway. */
function chosenCells(only: string | null): readonly Cell[] {
  const all = shortList().filter(({ route }) => route !== "embeddings");
  const named = all.filter((cell) => cellName(cell) === only);
  if (named.length > 0) return named;
  const chosen = all.filter((cell) =>
    only === null
      ? cell.route === "chat" && cell.size === "1 KB" && cell.concurrency === 32
      : cellName(cell).includes(only),
  );
  if (chosen.length > 0) return chosen;
  throw new Error(`no cell has ${only} in its name; choose among: ${all.map(cellName).join("; ")}`);
}

/** Repeats windows until two in a row agree, and the compiler is at rest. */
async function countCell(load: LoadProcess, gateway: Gateway, cell: Cell, file: string) {
  let last = Number.POSITIVE_INFINITY;
  for (let window = 1; ; window += 1) {
    const { loop, others } = await countWindow(load, gateway, cell, file);
    const isSteady = Math.abs(loop - last) < steadyShare * last && others < restingShare * loop;
    if (isSteady || window === maxWindows) return { loop, others, isSteady };
    last = loop;
  }
}

function windowOf(gateway: Gateway, cell: Cell): LoadJob {
  const { concurrency } = cell;
  const once = {
    mode: "once",
    requestsPerConnection: perConnection(cell),
    warmupMs: 0,
    windowMs: 0,
  } as const;
  return { target: gateway.target(cell), concurrency, ...once, eventsPerResponse: cellEvents(cell) };
}

/** A window in which something was rejected is repeated. */
async function countWindow(load: LoadProcess, gateway: Gateway, cell: Cell, file: string) {
  for (let rejected = 0; ; rejected += 1) {
    const before = readCounts(file);
    const { requests, failures, firstFailure } = await load.run(windowOf(gateway, cell));
    const after = readCounts(file);
    if (failures > 0 && rejected === mostRejectedWindows)
      throw new Error(`${cellName(cell)}: ${firstFailure}`);
    const perRequest = (one: number, other: number) => (one - other) / (1000 * requests);
    if (failures === 0)
      return {
        loop: perRequest(after.loop, before.loop),
        others: perRequest(after.others, before.others),
      };
    await Bun.sleep(1000);
  }
}

function readCounts(file: string): { readonly loop: number; readonly others: number } {
  const bytes = readFileSync(file);
  let others = 0;
  for (let at = bytesPerCount; at < bytes.length; at += bytesPerCount)
    others += Number(bytes.readBigUInt64LE(at));
  return { loop: Number(bytes.readBigUInt64LE(0)), others };
}

function buildPlugin(folder: string): string {
  const plugin = join(folder, "count-instructions.so");
  const source = join(import.meta.dir, "count-instructions.c");
  const { exitCode, stderr } = Bun.spawnSync(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, source]);
  if (exitCode !== 0) throw new Error(`the plugin could not be built; a C compiler is needed:\n${stderr}`);
  if (Bun.which("qemu-x86_64") === null) {
    throw new Error("qemu-x86_64 is needed; on Debian, apt-get install qemu-user");
  }
  return plugin;
}

/** The emulator counts an instruction of the C library that copies many bytes once per byte, so that it must not be used. */
const withoutByteCopies = { GLIBC_TUNABLES: "glibc.cpu.hwcaps=-ERMS" };

/** With the settings that `serve` would otherwise start itself again for, outside of the emulator. */
function emulator(plugin: string, file: string): readonly string[] {
  const all = Object.entries({ ...runtimeSettings, ...withoutByteCopies });
  const settings = all.map(([name, value]) => `${name}=${value}`);
  return ["env", ...settings, "qemu-x86_64", "-cpu", "max", "-plugin", `${plugin},counts=${file}`];
}

export function instructionReport(counts: readonly InstructionCount[]): string {
  const width = Math.max(...counts.map(({ cell }) => cell.length));
  const gateways = [...new Set(counts.map(({ gateway }) => gateway))];
  const column = (text: string) => text.padStart(20);
  const rows = [...new Set(counts.map(({ cell }) => cell))].map((cell) => {
    const found = gateways.map((gateway) =>
      counts.find((each) => each.cell === cell && each.gateway === gateway),
    );
    return [cell.padEnd(width), ...found.map((each) => column(each ? countText(each) : ""))];
  });
  const head = ["thousands of instructions a request: event loop + other threads".padEnd(width)];
  const names = ["".padEnd(width), ...gateways.map(column)];
  const chat = counts.find(({ gateway, cell }) => gateway === "sluice" && cell === cellName(growthCell));
  const bars = align(barRows([instructionsBar(chat?.loop ?? null)]), [0, 3]);
  return [...[head, names, ...rows].map((row) => row.join("").trimEnd()), "", bars].join("\n");
}

function countText({ loop, others, isSteady }: InstructionCount): string {
  return `${isSteady ? "" : "≤ "}${loop.toFixed(0)} + ${others.toFixed(0)}`;
}
