import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { whyUnreadable, whyUnwritable } from "../../base/files/problem.ts";
import { isObject, tryParse } from "../../base/json.ts";
import type { Environment } from "../../base/system/environment.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { replaceFile } from "../serve/files-for-commands.ts";
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
  const folder = join(
    env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"),
    "sluice",
    "sign-ins",
  );
  const name = new Bun.CryptoHasher("sha256").update(url).digest("hex").slice(0, 32);
  return join(folder, `${name}.json`);
}

/** Null if this machine is not signed in there. */
export function readSignIn(url: string, env: Environment): SavedSignIn | null {
  const file = fileOf(url, env);
  try {
    const saved = tryParse(readFileSync(file, "utf8"));
    if (isSignIn(saved) && saved.url === url) return saved;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw new CommandError(`${file} cannot be read: ${whyUnreadable(error)}`);
  }
  throw new CommandError(`${file} is damaged; delete it, and run sluice login ${url} --sign-in`);
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
  const file = fileOf(signIn.url, env);
  try {
    makeFolder(file);
    replaceFile(file, JSON.stringify(signIn), 0o600);
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${whyUnwritable(error)}`);
  }
}

export function removeSignIn(url: string, env: Environment): void {
  rmSync(fileOf(url, env), { force: true });
}

function makeFolder(file: string): void {
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
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
  makeFolder(lock);
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
