import { accessSync, constants, statSync } from "node:fs";
import { freeBytesOf, lowDiskBytes } from "../../alerts/disk-watch.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { type Finding, messageOf, ok, problem, warning } from "./finding.ts";

/** Permissions that let other users read or change the ledger. */
const otherUsersBits = 0o077;
/** A gateway needs this much to keep recording charges while the operator makes room. */
const fullDiskBytes = 100_000_000;

/** Who can use the data folder, and how much room its disk has. */
export function checkFolder(dir: string): readonly Finding[] {
  const stats = statSync(dir, { throwIfNoEntry: false });
  if (stats === undefined) return [ok("folder", `${dir} does not exist yet; \`sluice serve\` creates it`)];
  if (!stats.isDirectory()) return [problem("folder", `${dir} is not a folder`, "pass a different --data")];
  return [permissions(dir, stats.mode), ownership(dir, stats.uid), diskSpace(dir)].filter(
    (finding) => finding !== null,
  );
}

function permissions(dir: string, mode: number): Finding | null {
  if ((mode & otherUsersBits) === 0) return null;
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  const text = `${dir} has the mode ${shown}, so other users can reach the ledger`;
  return problem("folder", text, `chmod 700 ${dir}`);
}

function ownership(dir: string, owner: number): Finding {
  const self = process.geteuid?.();
  if (self !== undefined && self !== 0 && owner !== self)
    return problem(
      "folder",
      `${dir} belongs to user ${owner}`,
      "run the command as that user, e.g. with sudo -u",
    );
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok("folder", `${dir} can be written`);
  } catch (error) {
    const code = systemCode(error);
    const fix = code === "EROFS" ? "mount the disk for writing" : `chmod 700 ${dir}`;
    return problem("folder", `${dir} cannot be written (${code ?? messageOf(error)})`, fix);
  }
}

function diskSpace(dir: string): Finding {
  const free = freeBytesOf(dir);
  const text = `${(free / 1e9).toFixed(1)} GB free on the disk of ${dir}`;
  const fix = "free some space, or lower [retention]; `sluice store size` shows what uses the space";
  if (free < fullDiskBytes) return problem("disk", text, fix);
  return free < lowDiskBytes ? warning("disk", text, fix) : ok("disk", text);
}
