import { closeSync, openSync, readFileSync } from "node:fs";

/** Whether closing a terminal can end this process: it was started from one, and without `nohup`. A service has none. */
export function endsWithTerminal(): boolean {
  return hasTerminal() && !ignoresHangup();
}

export function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/** Whether SIGHUP is ignored, as `nohup` arranges. Call this before SIGHUP has a handler. */
function ignoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    return (BigInt(`0x${ignored}`) & hangupBit) !== 0n;
  } catch {
    // Not Linux. `nohup` also redirects the output.
    return !process.stdout.isTTY && !process.stderr.isTTY;
  }
}

/** SIGHUP is the first signal. */
const hangupBit = 1n;
