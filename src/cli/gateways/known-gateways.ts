import { isObject } from "../../base/json.ts";
import type { Environment } from "../../base/system/environment.ts";
import { readPrivateFile, settingsFile, writePrivateFile } from "../private-file.ts";

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

const fileOf = (env: Environment) => settingsFile(env, "gateways.json");

export function readGateways(env: Environment): KnownGateways {
  const known = readPrivateFile(fileOf(env), areGateways, "add the gateways again");
  return known ?? { used: null, gateways: {} };
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

export function writeGateways(known: KnownGateways, env: Environment): void {
  writePrivateFile(fileOf(env), known);
}
