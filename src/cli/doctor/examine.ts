import { cpus, release, totalmem } from "node:os";
import { version } from "../../../package.json";
import { configTextDocument, runningConfigOf } from "../../admin/config/config-text.ts";
import type { CheckedConfig } from "../../config/on-disk.ts";
import { ConfigError } from "../../config/problems.ts";
import { checkConfig } from "../check-config.ts";
import { dataFolder } from "../data-place.ts";
import type { DataOptions } from "../help.ts";
import { configFileOf } from "../serve/files-for-commands.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { checkClock } from "./check-clock.ts";
import { configFindings } from "./check-config.ts";
import { checkData } from "./check-database.ts";
import { checkFolder } from "./check-folder.ts";
import { checkGateway } from "./check-gateway.ts";
import { checkProviderKeys } from "./check-providers.ts";
import { type Finding, messageOf, problem } from "./finding.ts";

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
  const { settings, file } = checked;
  const providers = [...(settings?.providers.values() ?? [])];
  const remote = [checkGateway(dir), checkProviderKeys(providers), checkClock(providers)];
  const [gateway = [], keys = [], clock = []] = await Promise.all(remote);
  const data = await checkData(terminal, { ...options, ...(file === null ? {} : { config: file }) }, dir);
  const findings = [...configFindings(checked), ...checkFolder(dir), ...clock, ...data, ...gateway, ...keys];
  return { machine, dataFolder: dir, configFile: file, toml: writtenToml(checked), findings };
}

function writtenToml({ settings }: CheckedConfig): string | null {
  return settings === null ? null : configTextDocument(runningConfigOf(settings)).toml.trimEnd();
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
