import { basename } from "node:path";
import { snippetOf } from "../../base/models/client-snippets.ts";
import { checkClientFile } from "../connect/client-file.ts";
import { codexWithToken } from "../connect/codex-config.ts";
import { writeFound } from "../connect/connect.ts";
import { findEndpoints, requestCode, waitForGrant } from "../connect/device-login.ts";
import { baseUrl, findIssuedConnection } from "../connect/find-connection.ts";
import { type LoginOptions, showCode } from "../connect/login.ts";
import { CommandError, Misuse, printDone, type Terminal } from "../terminal/terminal.ts";
import { writeSignIn } from "./saved-sign-in.ts";
import { tokensIn } from "./tokens-in.ts";

/** Signs this machine in: `sluice token` then has tokens for programs that take one from a command. */
export async function signInMachine(
  address: string,
  options: LoginOptions,
  terminal: Terminal,
): Promise<void> {
  const url = baseUrl(address);
  const client = options.for;
  if (client === "claude-code")
    throw new Misuse(
      `Claude Code signs in by itself: sluice connect claude-code --sign-in --url ${url} --write`,
    );
  if (client !== undefined && client !== "codex")
    throw new Misuse(
      `--sign-in supports --for codex; ${client} can use the output of sluice token --url ${url}`,
    );
  const format = codexWithToken(ownCommand(), ["token", "--url", url]);
  // A file that cannot be changed is reported before anything is approved.
  if (client !== undefined) checkClientFile(format.path(terminal.env), format);
  const endpoints = await findEndpoints(url);
  const clientId = client === undefined ? "sluice" : snippetOf(client).name;
  const code = await requestCode(endpoints, clientId);
  showCode(code, options, terminal);
  const tokens = tokensIn(await waitForGrant(endpoints, code, clientId), Date.now());
  if (tokens === null)
    throw new CommandError("the gateway issued no tokens; it may be older than this sluice");
  const { token, revocation } = endpoints;
  writeSignIn({ url, token, revocation, ...tokens }, terminal.env);
  if (client === undefined) {
    const sentence = `Signed in to ${url}. sluice token --url ${url} prints a token.`;
    return printDone(options.json, { url, signed_in: true }, sentence, terminal);
  }
  const found = await findIssuedConnection(url, tokens.access);
  await writeFound(client, format, found, options, terminal);
}

/** A client may not have this program on its path. */
function ownCommand(): string {
  return basename(process.execPath).startsWith("bun") ? "sluice" : process.execPath;
}
