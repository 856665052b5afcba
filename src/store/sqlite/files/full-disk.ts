import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "../../../base/system/system-code.ts";
import { size } from "../../../base/text/size.ts";
import { StoreError } from "../../store.ts";
import { isOutOfSpace } from "../connection.ts";

const fullCodes = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL"]);
/** SQLite has one code for most disk failures. With less free space than this, the disk counts as full. */
const nextToNothingBytes = 1024 * 1024;

/** Whether the store could not be opened or changed because its disk is full. */
export function isFull(error: unknown, dir: string): boolean {
  const code = systemCode(error) ?? "";
  return fullCodes.has(code) || (isOutOfSpace(code) && freeBytes(dir) < nextToNothingBytes);
}

export function diskFullError(dir: string): StoreError {
  return new StoreError(
    "disk_full",
    `The disk with ${dir} is full (${size(freeBytes(dir))} free). ` +
      "Nothing was lost. Free at least 64 MiB, then retry.",
  );
}

/** The free space of the nearest existing folder. */
function freeBytes(dir: string): number {
  try {
    const disk = statfsSync(dir);
    return disk.bavail * disk.bsize;
  } catch {
    return dirname(dir) === dir ? 0 : freeBytes(dirname(dir));
  }
}
