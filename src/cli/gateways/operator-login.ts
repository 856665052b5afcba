import { operatorEndpoints, requestCode, waitForGrant } from "../connect/device-login.ts";
import { baseUrl } from "../connect/find-connection.ts";
import { type LoginOptions, showCode } from "../connect/login.ts";
import { CommandError, printDone, type Terminal } from "../terminal/terminal.ts";
import { readGateways, writeGateways } from "./known-gateways.ts";

const clientId = "sluice-operator";

/** Signs in as an operator in the browser, and remembers the gateway with the token that it issues. */
export async function loginAsOperator(
  address: string,
  options: Pick<LoginOptions, "browser" | "json">,
  terminal: Terminal,
): Promise<void> {
  const url = baseUrl(address);
  const { used, gateways } = readGateways(terminal.env);
  const endpoints = operatorEndpoints(url);
  const code = await requestCode(endpoints, clientId);
  showCode(code, options, terminal);
  const { access_token: token, role } = await waitForGrant(endpoints, code, clientId);
  if (typeof token !== "string" || !token.startsWith("slua_"))
    throw new CommandError("the gateway issued no admin token; it may be older than this sluice");
  const [name] = Object.entries(gateways).find(([, known]) => known.url === url) ?? [new URL(url).host];
  writeGateways({ used, gateways: { ...gateways, [name]: { url, token } } }, terminal.env);
  const sentence = `Signed in to ${url} as ${String(role)}; use it with --gateway ${name}.`;
  printDone(options.json, { name, url, role }, sentence, terminal);
}
