import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RunningConfig, runningConfigOf } from "../../admin/config/config-text.ts";
import type { KnownNames } from "../../admin/key-terms/known-names.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { configuredDataDir, pointerFile } from "../../config/locate-data.ts";
import type { Settings } from "../../config/settings.ts";
import { nameOfDatabase } from "../../store/open.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { reachable } from "./reachable.ts";

const servedFile = "served.json";

/**
 * Writes files that commands read. In the data folder: the gateway's address, the names it serves, its configuration
 * without secrets, and its database if it uses one. In the working directory: where the data is, if commands would look
 * elsewhere. Commands also work without these files.
 */
export function writeFilesForCommands(
  settings: Settings,
  { env, cwd }: Pick<Terminal, "env" | "cwd">,
  url: string,
): void {
  const { server, store, named } = settings;
  attempt(() => {
    const config = runningConfigOf(settings);
    const address = reachable(url);
    const served = {
      ...named,
      pid: process.pid,
      address,
      config,
      ...(store === null ? {} : { store: nameOfDatabase(store) }),
    };
    replaceFile(join(server.data, servedFile), JSON.stringify(served), 0o600);
  });
  attempt(() => {
    if (configuredDataDir({ env, cwd }) === server.data) rmSync(pointerFile(cwd), { force: true });
    else replaceFile(pointerFile(cwd), `${server.data}\n`, 0o644);
  });
}

/** Replaces the file instead of writing to it, because it may be a symbolic link created by another user. */
export function replaceFile(file: string, text: string | Uint8Array, mode: number): void {
  const written = `${file}.${process.pid}`;
  rmSync(written, { force: true });
  writeFileSync(written, text, { mode, flag: "wx" });
  renameSync(written, file);
}

function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // A failure must not stop the gateway.
  }
}

/** Every name that the gateway on this data last served; null if it never ran. */
export function servedNames(dir: string): KnownNames | null {
  const served = readServed(dir);
  return served === null ? null : { providers: texts(served["providers"]), models: texts(served["models"]) };
}

/** The database that the gateway of this folder last used; null if the data is in the folder itself. */
export function servedStore(dir: string): string | null {
  const store = readServed(dir)?.["store"];
  return typeof store === "string" ? store : null;
}

/** Address of the gateway on this folder, or of the last one that ran; null if none has run. */
export function servedAddress(dir: string): string | null {
  const address = readServed(dir)?.["address"];
  return typeof address === "string" ? address : null;
}

/** The address for people on other machines: `admin.public_url`, else the gateway's own. Null if none has run. */
export function publicAddress(dir: string): string | null {
  const admin = servedConfig(dir)?.written["admin"];
  const url = isObject(admin) ? admin["public_url"] : null;
  return typeof url === "string" ? url.replace(/\/$/, "") : servedAddress(dir);
}

/** The process of the gateway on this folder, if it runs and this user can know it. */
export function servedPid(dir: string): number | null {
  const pid = readServed(dir)?.["pid"];
  if (typeof pid !== "number") return null;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return systemCode(error) === "EPERM" ? pid : null;
  }
}

/** The running configuration of the gateway on this data, or its last one; null if none has run. */
export function servedConfig(dir: string): RunningConfig | null {
  const config = readServed(dir)?.["config"];
  if (!isObject(config) || !isObject(config["written"])) return null;
  const { file, written, prices } = config;
  // An earlier build wrote no prices.
  const origins = Array.isArray(prices) ? (prices as unknown as RunningConfig["prices"]) : [];
  return { file: typeof file === "string" ? file : null, written, prices: origins };
}

/** The data folder was replaced, so the files that a gateway wrote here describe other data. */
export function forgetServed(dir: string): void {
  attempt(() => rmSync(join(dir, servedFile), { force: true }));
}

function readServed(dir: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dir, servedFile), "utf8"));
    return isObject(value) ? value : {};
  } catch {
    return null;
  }
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}

/** The configuration of the gateway that serves this data, which need not be where a command runs; undefined if it is not known. */
export function configFileOf(dir: string): string | undefined {
  const file = servedConfig(dir)?.file ?? null;
  return file !== null && existsSync(file) ? file : undefined;
}
