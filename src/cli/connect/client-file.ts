import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { whyUnreadable, whyUnwritable } from "../../base/files/problem.ts";
import { isObject, tryParse } from "../../base/json.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { replaceFile } from "../serve/files-for-commands.ts";
import { CommandError } from "../terminal/terminal.ts";
import {
  type ClientConnection,
  type ClientFileFormat,
  digestOf,
  UnreadableClientFile,
  type WrittenSetting,
} from "./client-edit.ts";

/**
 * Edits a client's own file so that it can be undone. Two files are kept next to it until then: a copy of the original,
 * and a record of what was written, with digests instead of the key. Undoing removes both.
 */
interface ConnectRecord {
  /** The digest of the whole file. If it still matches, undoing restores the original bytes. */
  readonly digest: string;
  /** The permissions before; null if there was no file. */
  readonly mode: number | null;
  readonly settings: readonly WrittenSetting[];
}

export interface WrittenClientFile {
  readonly file: string;
  /** Null if there was no file. */
  readonly backup: string | null;
  readonly settings: readonly WrittenSetting[];
}

export interface UndoneClientFile {
  readonly file: string;
  /** `edited`: the file was changed since, so only our settings were removed. */
  readonly result: "restored" | "deleted" | "edited" | "already gone";
}

const privateMode = 0o600;
const backupOf = (file: string) => `${file}.sluice-backup`;
const recordOf = (file: string) => `${file}.sluice-undo`;

interface Before {
  readonly bytes: Uint8Array | null;
  readonly mode: number | null;
}

export function writeClientFile(
  path: string,
  format: ClientFileFormat,
  connection: ClientConnection,
): WrittenClientFile {
  const file = realFile(path);
  const before = beforeUs(file, format);
  const { text, settings } = readable(file, () => format.write(textOf(file, before.bytes), connection));
  const record: ConnectRecord = { digest: digestOf(text), mode: before.mode, settings };
  writable(file, () => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (before.bytes !== null) replaceFile(backupOf(file), before.bytes, privateMode);
    replaceFile(recordOf(file), JSON.stringify(record), privateMode);
    // The file contains the key now.
    replaceFile(file, text, privateMode);
  });
  return { file, backup: before.bytes === null ? null : backupOf(file), settings };
}

/** The model in the client's settings, as they were before Sluice changed them; null if there is none. */
export function modelInFile(path: string, format: ClientFileFormat): string | null {
  const file = realFile(path);
  return readable(file, () => format.modelIn(textOf(file, beforeUs(file, format).bytes)));
}

/** Throws if the file could not be changed. Nothing is written. */
export function checkClientFile(path: string, format: ClientFileFormat): void {
  const file = realFile(path);
  const { bytes } = beforeUs(file, format);
  const connection = { address: "http://127.0.0.1", key: "slu_", model: null };
  readable(file, () => format.write(textOf(file, bytes), connection));
}

/** Throws if there is nothing to undo, and writes nothing then. */
export function undoClientFile(path: string, format: ClientFileFormat): UndoneClientFile {
  const file = realFile(path);
  const record = readRecord(file);
  if (record === null) {
    throw new CommandError(`nothing to undo: \`sluice connect --write\` has not changed ${file}`);
  }
  const current = readBytes(file);
  const { bytes, mode } = beforeUs(file, format);
  const isUntouched = current !== null && digestOf(current) === record.digest;
  writable(file, () => {
    if (bytes === null) rmSync(file, { force: true });
    else replaceFile(file, bytes, mode ?? privateMode);
    rmSync(recordOf(file), { force: true });
    rmSync(backupOf(file), { force: true });
  });
  if (current === null) return { file, result: "already gone" };
  if (!isUntouched) return { file, result: "edited" };
  return { file, result: bytes === null ? "deleted" : "restored" };
}

/** The file as it was before Sluice changed it. */
function beforeUs(file: string, format: ClientFileFormat): Before {
  const current = readBytes(file);
  const record = readRecord(file);
  if (current === null) return { bytes: null, mode: null };
  if (record === null) return { bytes: current, mode: statSync(file).mode & 0o777 };
  const { mode } = record;
  if (digestOf(current) !== record.digest) {
    const text = readable(file, () => format.remove(textOf(file, current), record.settings));
    return { bytes: new TextEncoder().encode(text), mode: mode ?? privateMode };
  }
  if (mode === null) return { bytes: null, mode };
  const bytes = readBytes(backupOf(file));
  if (bytes === null) throw new CommandError(`${backupOf(file)} is missing, so ${file} cannot be restored`);
  return { bytes, mode };
}

/** A settings file is often a link into a folder of dotfiles; the link stays. */
function realFile(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function readBytes(file: string): Uint8Array | null {
  try {
    return readFileSync(file);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw new CommandError(`${file} cannot be read: ${whyUnreadable(error)}`);
  }
}

function readRecord(file: string): ConnectRecord | null {
  const bytes = readBytes(recordOf(file));
  if (bytes === null) return null;
  const parsed = tryParse(textOf(recordOf(file), bytes));
  if (!isObject(parsed) || typeof parsed["digest"] !== "string" || !Array.isArray(parsed["settings"])) {
    throw new CommandError(
      `${recordOf(file)} is damaged; restore ${file} from ${backupOf(file)}, and delete both`,
    );
  }
  // Written above, by this program.
  return parsed as unknown as ConnectRecord;
}

function textOf(file: string, bytes: Uint8Array | null): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes ?? new Uint8Array());
  } catch {
    throw new CommandError(`${file} cannot be changed: it is not UTF-8 text`);
  }
}

function readable<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof UnreadableClientFile)) throw error;
    throw new CommandError(
      `${file} cannot be changed: ${error.message}; correct the file, then run this again`,
    );
  }
}

function writable(file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${whyUnwritable(error)}`);
  }
}
