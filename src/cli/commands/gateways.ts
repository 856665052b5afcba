import type { Command } from "commander";
import { baseUrl } from "../connect/find-connection.ts";
import { type CsvOption, group, type JsonOption, newCommand, withCsv } from "../help.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { CommandError, Misuse, printDone, type Terminal } from "../terminal/terminal.ts";

const known = () => import("../gateways/known-gateways.ts");

/** Gateways elsewhere that commands of this user can call. */
export function gatewaysCommands(terminal: Terminal): Command {
  return group("gateways", "Remember gateways elsewhere, for --gateway", [
    addCommand(terminal),
    useCommand(terminal),
    listCommand(terminal),
    removeCommand(terminal),
  ]);
}

function addCommand(terminal: Terminal): Command {
  return newCommand("add", "Remember a gateway and an admin token for it")
    .argument("<name>", "a name of your choice")
    .argument("<url>", "the gateway's address")
    .examples([
      "sluice gateways add work https://sluice.example.com",
      "asks for the token, or takes SLUICE_TOKEN",
    ])
    .action(async (name: string, address: string, options: JsonOption) => {
      if (!/^[\w.-]{1,64}$/.test(name)) throw new Misuse("a name has letters, digits, dots and hyphens");
      const url = baseUrl(address, "the address");
      const { readGateways, writeGateways } = await known();
      const { env } = terminal;
      const token = (env["SLUICE_TOKEN"] || (await askToken(terminal))).trim();
      const { used, gateways } = readGateways(env);
      writeGateways({ used, gateways: { ...gateways, [name]: { url, token } } }, env);
      printDone(options.json, { name, url }, `${name} is ${url}; use it with --gateway ${name}`, terminal);
    });
}

async function askToken(terminal: Terminal): Promise<string> {
  const token = terminal.interactive ? await terminal.askSecret("Admin token (slua_…, not shown): ") : "";
  if (token.trim() === "") throw new CommandError("a gateway needs a token; set SLUICE_TOKEN");
  return token;
}

function useCommand(terminal: Terminal): Command {
  return newCommand(
    "use",
    "Make a gateway the default for commands; `here` returns to gateways on this machine",
  )
    .argument("<name>", "the gateway, or `here`")
    .examples("sluice gateways use work", "sluice gateways use here")
    .action(async (name: string, options: JsonOption) => {
      const { readGateways, writeGateways } = await known();
      const { gateways } = readGateways(terminal.env);
      if (name !== "here") rejectUnknown(name, Object.keys(gateways));
      const used = name === "here" ? null : name;
      writeGateways({ used, gateways }, terminal.env);
      const message = used === null ? "commands call the gateways of this machine" : `commands call ${name}`;
      printDone(options.json, { used }, message, terminal);
    });
}

interface ListedGateway {
  readonly name: string;
  readonly url: string;
  readonly used: boolean;
}

function listCommand(terminal: Terminal): Command {
  return withCsv(
    newCommand("list", "List the remembered gateways, without their tokens").examples([
      "sluice gateways list",
      "",
    ]),
  ).action(async (options: JsonOption & CsvOption) => {
    const { readGateways } = await known();
    const { used, gateways } = readGateways(terminal.env);
    const rows = Object.entries(gateways).map(([name, { url }]) => ({ name, url, used: name === used }));
    printList({ rows, columns, nothing: "No gateways." }, options, terminal);
  });
}

const columns: readonly ListColumn<ListedGateway>[] = [
  { name: "name", title: "NAME" },
  { name: "url", title: "ADDRESS", elastic: true },
  { name: "used", title: "USED", cell: ({ used }) => (used ? "yes" : "") },
];

function removeCommand(terminal: Terminal): Command {
  return newCommand("remove", "Forget a gateway and its token")
    .argument("<name>", "the gateway")
    .examples(["sluice gateways remove work", ""])
    .action(async (name: string, options: JsonOption) => {
      const { readGateways, writeGateways } = await known();
      const { used, gateways } = readGateways(terminal.env);
      rejectUnknown(name, Object.keys(gateways));
      const { [name]: _removed, ...rest } = gateways;
      writeGateways({ used: used === name ? null : used, gateways: rest }, terminal.env);
      printDone(options.json, { removed: name }, `${name} is forgotten`, terminal);
    });
}

function rejectUnknown(name: string, names: readonly string[]): void {
  if (names.includes(name)) return;
  throw new CommandError(`no gateway is called "${name}"; known: ${names.join(", ") || "none"}`);
}
