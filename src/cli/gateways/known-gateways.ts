import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { whyUnreadable, whyUnwritable } from "../../base/files/problem.ts";
import { isObject, tryParse } from "../../base/json.ts";
import type { Environment } from "../../base/system/environment.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { replaceFile } from "../serve/files-for-commands.ts";
import { CommandError } from "../terminal/terminal.ts";

/** Gateways that this user's commands can call from here, with their admin tokens. */
export interface KnownGateways {
  /** The name of the one that is called without `--gateway`; null if none is. */
  readonly used: string | null;
  readonly gateways: Readonly<Record<string, KnownGateway>>;
}

export interface KnownGateway {
  readonly url: string;
  readonly token: string;
}

function fileOf(env: Environment): string {
  const folder = env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config");
  return join(folder, "sluice", "gateways.json");
}

export function readGateways(env: Environment): KnownGateways {
  const file = fileOf(env);
  try {
    const known = tryParse(readFileSync(file, "utf8"));
    if (areGateways(known)) return known;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { used: null, gateways: {} };
    throw new CommandError(`${file} cannot be read: ${whyUnreadable(error)}`);
  }
  throw new CommandError(`${file} is damaged; delete it, and add the gateways again`);
}

function areGateways(known: unknown): known is KnownGateways {
  if (!isObject(known)) return false;
  const { used, gateways } = known;
  const isKnown = (each: unknown) =>
    isObject(each) && typeof each["url"] === "string" && typeof each["token"] === "string";
  return (
    (used === null || typeof used === "string") &&
    isObject(gateways) &&
    Object.values(gateways).every(isKnown)
  );
}

/** Only this user can read the file: it has tokens. */
export function writeGateways(known: KnownGateways, env: Environment): void {
  const file = fileOf(env);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    replaceFile(file, JSON.stringify(known), 0o600);
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${whyUnwritable(error)}`);
  }
}
