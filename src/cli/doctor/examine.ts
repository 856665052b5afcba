import { cpus, release, totalmem } from "node:os";
import { version } from "../../../package.json";
import type { CheckedConfig } from "../../config/on-disk.ts";
import { ConfigError } from "../../config/problems.ts";
import { checkConfig } from "../check-config.ts";
import { dataFolder } from "../data-place.ts";
import type { DataOptions } from "../help.ts";
import type { OperationClient } from "../operations/client.ts";
import { runningGateway } from "../operations/with-operations.ts";
import { configFileOf } from "../serve/files-for-commands.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";
import { checkClock } from "./check-clock.ts";
import { checkData } from "./check-database.ts";
import { checkFolder } from "./check-folder.ts";
import { checkGateway } from "./check-gateway.ts";
import { type Finding, messageOf, problem } from "./finding.ts";
import { type JudgedConfig, judgeHere, judgeRunning } from "./judged-config.ts";

export interface Examination {
  readonly machine: ReturnType<typeof describeMachine>;
  /** Null if it cannot be located. */
  readonly dataFolder: string | null;
  readonly configFile: string | null;
  /** As written, without secrets; null if it cannot be read. */
  readonly toml: string | null;
  readonly findings: readonly Finding[];
}

/** Runs every check. A check that fails is a finding, never an error. */
export async function examine(terminal: Terminal, options: DataOptions): Promise<Examination> {
  const { env, cwd } = terminal;
  const machine = describeMachine();
  let dir: string;
  try {
    dir = dataFolder(options, terminal);
  } catch (error) {
    const text =
      error instanceof ConfigError
        ? error.problems.map(({ message }) => `${error.origin}: ${message}`).join("; ")
        : messageOf(error);
    return { machine, dataFolder: null, configFile: null, toml: null, findings: [problem("folder", text)] };
  }
  const checked = checkConfig({ file: options.config ?? configFileOf(dir), env, cwd });
  const { file } = checked;
  const [gateway, config] = await Promise.all([checkGateway(dir), judge(terminal, options, checked)]);
  const clock = await checkClock(config.addresses);
  const data = await checkData(terminal, { ...options, ...(file === null ? {} : { config: file }) }, dir);
  const findings = [...checkFolder(dir), ...clock, ...data, ...gateway, ...config.findings];
  return { machine, dataFolder: dir, configFile: file, toml: config.toml, findings };
}

/** A file that is named is judged from here. Otherwise the gateway that runs judges its own. */
async function judge(
  terminal: Terminal,
  options: DataOptions,
  checked: CheckedConfig,
): Promise<JudgedConfig> {
  const client = options.config === undefined ? await gatewayHere(terminal, options) : null;
  if (client === null) return judgeHere(checked);
  try {
    return await judgeRunning(client);
  } finally {
    await client.close();
  }
}

/** Null also if it cannot be reached: another check says so. */
function gatewayHere(terminal: Terminal, options: DataOptions): Promise<OperationClient | null> {
  return runningGateway(terminal, options).catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
}

function describeMachine() {
  return {
    version,
    bun: Bun.version,
    platform: process.platform,
    arch: process.arch,
    system: release(),
    cpus: cpus().length,
    memory_bytes: totalmem(),
  };
}
