import { appendFileSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface SecretOutput {
  readonly settings: Settings;
  readonly json: boolean;
  readonly terminal: Terminal;
}

const fileName = "first-start.txt";

/**
 * Shows secrets that are shown only once. A service's output is kept by its manager, where others may read it for
 * years. So if nobody is watching, they go into a file that only its owner can read. With only the demo configured
 * they are printed anyway, unless a service manager started the program: somebody is trying it out.
 */
export function showSecrets(
  what: "first_keys" | "admin_token",
  text: string,
  { settings, json, terminal }: SecretOutput,
): void {
  const isWatched = terminal.columns !== null;
  const isService =
    terminal.env["JOURNAL_STREAM"] !== undefined || terminal.env["NOTIFY_SOCKET"] !== undefined;
  if (isWatched || (settings.isDemo && !isService)) {
    terminal.print(text);
    return;
  }
  const file = join(settings.server.dataDir, fileName);
  appendFileSync(file, `${stripVTControlCharacters(text).trimEnd()}\n\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
  const name = what === "admin_token" ? "the dashboard's token is" : "the first keys are";
  terminal.print(
    json ? JSON.stringify({ [`${what}_file`]: file }) : `${name} in ${file}; read it, then delete it`,
  );
}
