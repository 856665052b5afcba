import { systemCode } from "../base/system-code.ts";

interface SystemError extends Error {
  readonly syscall?: unknown;
  readonly path?: unknown;
}

/** An error of the system or the database as a sentence; null for a bug of ours. */
export function systemFailure(error: SystemError): string | null {
  const code = systemCode(error);
  if (code === null) return null;
  if (code.startsWith("SQLITE_")) return `the database cannot be used: ${error.message} (${code})`;
  if (!/^E[A-Z0-9]+$/.test(code)) return null;
  const [, reason = error.message] = /^E[A-Z0-9]+: (.*?)(?:, \w+(?: '.*')?)?$/.exec(error.message) ?? [];
  const what = typeof error.syscall === "string" ? `cannot ${error.syscall} ` : "";
  const where = typeof error.path === "string" ? `${error.path}: ` : "";
  return `${what}${where}${reason} (${code})`;
}
