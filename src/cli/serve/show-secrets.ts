import { closeSync, constants, fchmodSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface SecretOutput {
  readonly settings: Settings;
  readonly json: boolean;
  readonly terminal: Terminal;
}

const fileName = "first-start.txt";

/**
 * Shows secrets that are shown only once. A service manager or a container engine keeps a program's output, where others
 * may read it for years. So without a terminal, the secrets go into a file that only its owner can read.
 */
export function showSecrets(
  what: "first_keys" | "admin_token",
  text: string,
  { settings, json, terminal }: SecretOutput,
): void {
  if (terminal.columns !== null) {
    terminal.print(text);
    return;
  }
  const file = join(settings.server.data, fileName);
  appendSecret(file, `${Bun.stripANSI(text).trimEnd()}\n\n`);
  const name = what === "admin_token" ? "the dashboard's token is" : "the first keys are";
  terminal.print(
    json ? JSON.stringify({ [`${what}_file`]: file }) : `${name} in ${file}; read it, then delete it`,
  );
}

/** Not through a symbolic link: the folder may belong to another user than the one who starts the program. */
function appendSecret(file: string, text: string): void {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const descriptor = openSync(file, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    fchmodSync(descriptor, 0o600);
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}
