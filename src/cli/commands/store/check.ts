import type { Command } from "commander";
import { plural } from "../../../base/text/plural.ts";
import type { DatabaseCheck } from "../../../store/check.ts";
import { database } from "../../data-place.ts";
import { type ConfigOptions, newConfigCommand } from "../../help.ts";
import { type Facts, facts } from "../../terminal/list.ts";
import { CommandError, CommandFailed, printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends ConfigOptions {
  readonly store?: string;
  readonly migrate?: true;
}

export function storeCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Check the PostgreSQL connection and schema")
    .option("--store <url>", "the database (SLUICE_STORE; default: the configuration's)")
    .option("--migrate", "bring its schema up to date first, as `sluice serve` does")
    .examples(
      ["sluice store check", "exit status 1 when it cannot be reached, or its schema is not up to date"],
      ["sluice store check --migrate --store postgres://sluice@db/sluice", "prepare an empty database"],
    )
    .action(async (options: Options) => {
      const location = database(options, terminal);
      if (location === null) {
        throw new CommandError(
          "no database is configured, so the data is in the data folder; pass --store for a database",
        );
      }
      const { checkDatabase } = await import("../../../store/open.ts");
      const checked = await checkDatabase(location, { migrates: options.migrate === true });
      const isUpToDate = checked.schema.version >= checked.schema.known;
      if (options.json) printJson(await documentOf(checked, isUpToDate), terminal);
      else terminal.print(facts(factsOf(checked, isUpToDate, terminal), terminal));
      if (!isUpToDate) throw new CommandFailed();
    });
}

async function documentOf(checked: DatabaseCheck, isUpToDate: boolean): Promise<object> {
  const { listNodes } = await import("../../../admin/system/list-nodes.ts");
  const { nodes, schema } = checked;
  return {
    store: checked.name,
    server_version: checked.serverVersion,
    encrypted: checked.isEncrypted,
    round_trip_ms: Math.round(checked.roundTripMs * 100) / 100,
    schema: { ...schema, up_to_date: isUpToDate },
    nodes: await listNodes({ nodes: { list: async () => nodes } }),
  };
}

function factsOf(
  { name, serverVersion, isEncrypted, roundTripMs, schema, nodes }: DatabaseCheck,
  isUpToDate: boolean,
  { style }: Terminal,
): Facts {
  const advice = schema.version === 0 ? "empty" : `${schema.version} of ${schema.known}`;
  const state = isUpToDate
    ? `${schema.version}  ${style.good("up to date")}`
    : `${style.warn(advice)}; --migrate or \`sluice serve\` brings it up to date`;
  const joined = nodes.filter((node) => node.state !== "dead").map((node) => node.name);
  return [
    ["store", `${style.good("✓")} ${name}`],
    ["server", `PostgreSQL ${serverVersion}`],
    ["connection", isEncrypted ? "encrypted" : style.warn("not encrypted")],
    ["round trip", `${roundTripMs.toFixed(2)} ms`],
    ["schema", state],
    [
      "joined",
      joined.length === 0 ? "no gateway" : `${plural(joined.length, "gateway")}: ${joined.join(", ")}`,
    ],
  ];
}
