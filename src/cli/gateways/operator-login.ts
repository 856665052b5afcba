import { operatorEndpoints, requestCode, waitForGrant } from "../connect/device-login.ts";
import { baseUrl } from "../connect/find-connection.ts";
import { type LoginOptions, showCode } from "../connect/login.ts";
import { CommandError, printDone, type Terminal } from "../terminal/terminal.ts";
import { type KnownGateways, readGateways, writeGateways } from "./known-gateways.ts";

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
  const name = nameFor(url, gateways);
  writeGateways({ used, gateways: { ...gateways, [name]: { url, token } } }, terminal.env);
  const sentence = `Signed in to ${url} as ${String(role)}; use it with --gateway ${name}.`;
  printDone(options.json, { name, url, role }, sentence, terminal);
}

/** The name that it has, or a new one: no other gateway may be called by a name that stands for the first one already. */
function nameFor(url: string, gateways: KnownGateways["gateways"]): string {
  const known = Object.entries(gateways).find(([, gateway]) => gateway.url === url);
  if (known !== undefined) return known[0];
  const { host } = new URL(url);
  let name = host;
  for (let number = 2; Object.hasOwn(gateways, name); number += 1) name = `${host}-${number}`;
  return name;
}
