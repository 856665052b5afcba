import type { ClientId } from "../../base/models/client-snippets.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";
import { checkClientFile } from "./client-file.ts";
import { canWrite, formatOf, printFound, writeIssued } from "./connect.ts";
import { type DeviceCode, findEndpoints, requestCode, waitForKey } from "./device-login.ts";
import { baseUrl, type ConnectOptions, findIssuedConnection } from "./find-connection.ts";

/** Options of a login, whether it is for a key or signs the machine in. */
export interface LoginOptions extends ConnectOptions {
  readonly for?: ClientId;
  readonly browser: boolean;
}

export async function login(address: string, options: LoginOptions, terminal: Terminal): Promise<void> {
  const signInUrl = baseUrl(address);
  const url = options.url === undefined ? signInUrl : baseUrl(options.url);
  const client = options.for;
  const writes = client !== undefined && canWrite(client);
  // A file that cannot be changed is reported now: the key is issued only once.
  if (writes) {
    const format = formatOf(client, "--for");
    checkClientFile(format.path(terminal.env), format);
  }
  const endpoints = await findEndpoints(new URL(signInUrl).origin);
  const code = await requestCode(endpoints);
  showCode(code, options, terminal);
  const key = await waitForKey(endpoints, code);
  if (writes) return writeIssued(client, { url, key }, options, terminal);
  if (options.json && client === undefined) {
    const { address: found } = await findIssuedConnection(url, key);
    return printJson({ key, url: found }, terminal);
  }
  if (!options.json) {
    terminal.print(
      `${terminal.style.good("✓")} Your key (save it, it is not shown again):\n\n  ${terminal.style.bold(key)}\n`,
    );
  }
  return printFound(client ?? "curl", await findIssuedConnection(url, key), options, terminal);
}

/** Prints the code, and opens the page. */
export function showCode(
  { uri, completeUri, userCode }: DeviceCode,
  options: Pick<LoginOptions, "browser">,
  terminal: Terminal,
): void {
  const { noteStyle } = terminal;
  terminal.note(
    [
      `Open ${noteStyle.bold(completeUri)}`,
      `and approve code ${noteStyle.bold(userCode)}.`,
      noteStyle.dim(`If the page asks for the code: ${uri}. Waiting for up to 15 minutes …`),
    ].join("\n"),
  );
  if (options.browser && terminal.interactive) openBrowser(completeUri);
}

/** If there is no browser, the person opens the address that was printed. */
function openBrowser(url: string): void {
  const command = process.platform === "darwin" ? "open" : "xdg-open";
  if (Bun.which(command) === null) return;
  Bun.spawn([command, url], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).unref();
}
