import { lookup } from "node:dns/promises";
import { BlockList, isIPv6 } from "node:net";
import type { ClientId } from "../../base/models/client-snippets.ts";
import {
  claudeSettings,
  claudeSignIn,
  signInSettings,
  variablesInTheWay,
} from "../connect/claude-settings.ts";
import { writeClientFile } from "../connect/client-file.ts";
import { type ConnectOptions, gatewayUrl } from "../connect/find-connection.ts";
import { CommandError, Misuse, printJson, type Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";

interface Options extends ConnectOptions {
  readonly write?: true;
}

/** Shows or writes the two settings with which Claude Code signs in at the gateway. */
export async function connectBySignIn(client: ClientId, options: Options, terminal: Terminal): Promise<void> {
  if (client !== "claude-code")
    throw new Misuse(`--sign-in supports claude-code; for codex, run sluice login URL --sign-in --for codex`);
  const address = gatewayUrl(options, terminal);
  const warnings = await addressWarnings(address);
  const settings = signInSettings(address);
  const path = claudeSettings.path(terminal.env);
  if (!options.write) {
    showWarnings(warnings, terminal);
    if (options.json) return printJson({ client, url: address, file: path, settings }, terminal);
    const { style } = terminal;
    return terminal.print(
      `${style.dim(`Settings for Claude Code, in ${path}:`)}\n\n${JSON.stringify(settings, null, 2)}`,
    );
  }
  const { file, backup } = writeClientFile(path, claudeSignIn, { address, key: "", model: null });
  const inTheWay = variablesInTheWay(await Bun.file(file).text());
  if (inTheWay.length > 0)
    warnings.push(
      `${file} has ${inTheWay.join(", ")}, which prevents Claude Code from signing in; remove it`,
    );
  showWarnings(warnings, terminal);
  const changed = Object.keys(settings);
  if (options.json) return printJson({ client, url: address, file, backup, changed }, terminal);
  const { style } = terminal;
  terminal.print(
    [
      `${style.good("✓")} Claude Code now signs in at ${address}`,
      `  Changed in ${file}: ${changed.join(", ")}`,
      "  Start `claude`, or type `/login` in it, and choose Cloud gateway.",
      `  ${style.dim("Undo: sluice connect claude-code --undo")}`,
    ].join("\n"),
  );
}

const privateNetworks = new BlockList();
for (const [network, bits] of [
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["100.64.0.0", 10],
] as const)
  privateNetworks.addSubnet(network, bits);
for (const [network, bits] of [
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
] as const)
  privateNetworks.addSubnet(network, bits, "ipv6");

/** Claude Code rejects other addresses without sending a request, so the gateway cannot explain why. */
async function addressWarnings(address: string): Promise<string[]> {
  const { protocol, hostname } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, "");
  const found = await lookup(host, { all: true }).catch(() => []);
  const isLoopback = found.some((each) => /^(127\.|::1$)/.test(each.address));
  if (protocol === "http:" && !isLoopback)
    throw new CommandError(`${address} is not https; Claude Code signs in by http on this machine only`);
  const outside = found.find(({ address: ip }) => !privateNetworks.check(ip, isIPv6(ip) ? "ipv6" : "ipv4"));
  if (outside === undefined) return [];
  return [
    `${host} is ${outside.address}, a public address; Claude Code signs in at private addresses only, so use apiKeyHelper with sluice token`,
  ];
}
