import { closeSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { whyUnwritable } from "../../base/files/problem.ts";
import { isObject } from "../../base/json.ts";
import type { Environment } from "../../base/system/environment.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { makePrivateFolder, readPrivateFile, settingsFile, writePrivateFile } from "../private-file.ts";
import { CommandError } from "../terminal/terminal.ts";

/** A sign-in of this machine at one gateway, in a separate file that only this user can read. */
export interface SavedSignIn {
  /** The gateway's address, with `/token` for accounts with a token budget. */
  readonly url: string;
  readonly token: string;
  readonly revocation: string | null;
  readonly access: string;
  readonly accessEndsAtMs: number;
  readonly refresh: string;
}

function fileOf(url: string, env: Environment): string {
  const name = new Bun.CryptoHasher("sha256").update(url).digest("hex").slice(0, 32);
  return settingsFile(env, "sign-ins", `${name}.json`);
}

/** Null if this machine is not signed in there. */
export function readSignIn(url: string, env: Environment): SavedSignIn | null {
  const isOfUrl = (saved: unknown): saved is SavedSignIn => isSignIn(saved) && saved.url === url;
  return readPrivateFile(fileOf(url, env), isOfUrl, `run sluice login ${url} --sign-in`);
}

/** Tokens are only sent to the origin that issued them. */
function isSignIn(saved: unknown): saved is SavedSignIn {
  if (!isObject(saved)) return false;
  const { url, token, revocation, access, accessEndsAtMs, refresh } = saved;
  const isOwn = (address: unknown) =>
    typeof address === "string" && URL.parse(address)?.origin === URL.parse(String(url))?.origin;
  const texts = [url, access, refresh].every((text) => typeof text === "string");
  return (
    texts && typeof accessEndsAtMs === "number" && isOwn(token) && (revocation === null || isOwn(revocation))
  );
}

export function writeSignIn(signIn: SavedSignIn, env: Environment): void {
  writePrivateFile(fileOf(signIn.url, env), signIn);
}

export function removeSignIn(url: string, env: Environment): void {
  rmSync(fileOf(url, env), { force: true });
}

const lockEveryMs = 50;
/** Longer than a refresh takes. An older lock belongs to a process that is gone. */
const staleMs = 30_000;

/** Runs the work while no other process has the lock of this sign-in. */
export async function withLock<Result>(
  url: string,
  env: Environment,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = `${fileOf(url, env)}.lock`;
  makePrivateFolder(lock);
  while (!tryLock(lock)) {
    if (isStale(lock)) rmSync(lock, { force: true });
    else await Bun.sleep(lockEveryMs);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    const descriptor = openSync(lock, "wx", 0o600);
    writeSync(descriptor, String(process.pid));
    closeSync(descriptor);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw new CommandError(`${lock} cannot be written: ${whyUnwritable(error)}`);
  }
}

function isStale(lock: string): boolean {
  try {
    return Date.now() - statSync(lock).mtimeMs > staleMs;
  } catch {
    // It was released at this moment.
    return false;
  }
}
