import type { Command } from "commander";
import { changesText } from "../../../admin/config/config-check.ts";
import { configTextDocument } from "../../../admin/config/config-text.ts";
import type {
  ConfigChangeView,
  ConfigCheckView,
  ConfigReloadView,
  ConfigTextView,
} from "../../../admin/config/schema.ts";
import type { YesOption } from "../../confirm.ts";
import { dataFolder } from "../../data-place.ts";
import { type CsvOption, type DataOptions, newOperationCommand, withCsv } from "../../help.ts";
import { type OperationClient, OperationRejected } from "../../operations/client.ts";
import { runningGateway } from "../../operations/with-operations.ts";
import { servedConfig } from "../../serve/files-for-commands.ts";
import { lossesOnDisk } from "../../sign-in-losses.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { CommandError, CommandFailed, printDone, printJson, type Terminal } from "../../terminal/terminal.ts";
import { showWarnings } from "../../warnings.ts";
import { invalidText } from "./check.ts";

export function configShowCommand(terminal: Terminal): Command {
  return newOperationCommand("show", "Print the running configuration, without secrets")
    .examples(["sluice config show", "the configuration of the gateway on this data folder"])
    .action(async (options: DataOptions) => {
      const document = await runningConfig(await runningGateway(terminal, options), options, terminal);
      if (options.json) return printJson(document, terminal);
      const { file, toml, prices } = document;
      terminal.note(terminal.noteStyle.dim(`# ${file ?? builtIn}`));
      terminal.print(toml.trimEnd());
      for (const line of priceLines(prices)) terminal.print(line);
    });
}

const builtIn = "the built-in configuration";

/** Written as comments, so that the output stays a valid configuration. */
function priceLines(prices: ConfigTextView["prices"]): string[] {
  const origins = Map.groupBy(prices, ({ price_source, price_checked }) => {
    const where = price_source === "catalog" ? "the built-in catalog" : "this configuration";
    return price_checked === null ? where : `${where}, checked ${price_checked}`;
  });
  const lines = [...origins].map(
    ([origin, entries]) => `# ${entries.map(({ model }) => model).join(", ")}: ${origin}`,
  );
  return lines.length === 0 ? [] : ["", "# Where prices come from:", ...lines];
}

/** The configuration that the gateway runs with, or wrote to `served.json` when it last ran. */
async function runningConfig(
  client: OperationClient | null,
  options: DataOptions,
  terminal: Terminal,
): Promise<ConfigTextView> {
  if (client !== null) return client.get("/config/toml");
  const dir = dataFolder(options, terminal);
  const served = servedConfig(dir);
  if (served !== null) return configTextDocument(served);
  throw new CommandError(
    `no gateway has run on ${dir}, so there is no running configuration; pass --data DIR`,
  );
}

export function configDiffCommand(terminal: Terminal): Command {
  return withCsv(
    newOperationCommand("diff", "Check the configuration on disk, and show what a reload would change"),
  )
    .argument("[file]", "the file to compare (default: the one that is running)")
    .examples(
      ["sluice config diff", "before `sluice config reload`"],
      ["sluice config diff staging.toml --json", "a different file, as JSON"],
    )
    .action(async (file: string | undefined, options: DataOptions & CsvOption) => {
      const client = await runningGateway(terminal, options);
      const asksGateway = client !== null && file === undefined && options.config === undefined;
      const document = asksGateway
        ? await client.get<ConfigCheckView>("/config/check")
        : await comparedHere(await runningConfig(client, options, terminal), file, options, terminal);
      const origin = document.file ?? builtIn;
      if (!document.ok) {
        if (options.json) printJson(document, terminal);
        else terminal.note(invalidText(origin, document.problems, terminal));
        throw new CommandFailed();
      }
      const nothing = `${terminal.style.good("✓")} ${origin} matches the running configuration`;
      const { lossesText } = await import("../../../admin/access/lost-sign-ins.ts");
      const list = { rows: document.changes, columns: columnsOf(terminal), document, nothing };
      printList(list, options, terminal);
      const { suspends_keys: keys, suspended_owners: people } = document;
      const suspended = lossesText({ keys, people });
      if (suspended !== null && !options.json)
        terminal.note(
          `${terminal.noteStyle.warn("!")} ${suspended}; \`sluice config reload --yes\` accepts that`,
        );
    });
}

/** Compares a file of this machine. */
async function comparedHere(
  running: ConfigTextView,
  named: string | undefined,
  options: DataOptions,
  terminal: Terminal,
): Promise<ConfigCheckView> {
  const { checkConfig } = await import("../../check-config.ts");
  const { configCheckDocument } = await import("../../../admin/config/config-check.ts");
  const { env, cwd } = terminal;
  const checked = checkConfig({ file: named ?? options.config ?? running.file ?? undefined, env, cwd });
  return configCheckDocument(checked, running.config, await lossesOnDisk(checked, options, terminal));
}

function columnsOf({ style }: Terminal): readonly ListColumn<ConfigChangeView>[] {
  const paint = { added: style.good, changed: style.warn, removed: style.bad };
  return [
    { name: "change", title: "CHANGE", cell: ({ change }) => paint[change](change) },
    { name: "where", title: "WHAT", elastic: true },
    { name: "before", title: "RUNNING", elastic: true },
    { name: "after", title: "ON DISK", elastic: true },
    {
      name: "needs_restart",
      title: "",
      cell: (row) => (row.needs_restart ? style.warn("needs a restart") : ""),
    },
  ];
}

export function configReloadCommand(terminal: Terminal): Command {
  return newOperationCommand("reload", "Load the configuration on disk into the running gateway")
    .examples(["sluice config diff && sluice config reload", "review first"])
    .addHelpText(
      "after",
      "\nAs with SIGHUP, a file with problems is rejected, and the old configuration keeps running.",
    )
    .option("--yes", "accept that keys are suspended whose owners could no longer sign in")
    .action(async (options: DataOptions & YesOption) => {
      const client = await runningGateway(terminal, options);
      if (client === null)
        throw new CommandError(`no gateway on this machine uses ${dataFolder(options, terminal)}`);
      const body = { suspend_keys: options.yes === true };
      const reloaded = await client.post<ConfigReloadView>("/config/reload", body).catch((error: unknown) => {
        if (!(error instanceof OperationRejected)) throw error;
        throw new CommandError(`the old configuration keeps running: ${error.message}`);
      });
      const { file, changes, needs_restart: needsRestart, new_secrets: newSecrets } = reloaded;
      if (!options.json) showWarnings(needsRestart, terminal);
      const parts = [
        ...(changes.length === 0 && newSecrets.length > 0 ? [] : [changesText(changes)]),
        ...newSecrets.map((secret) => `the new secret in ${secret} is used`),
      ];
      const message = `reloaded ${file ?? builtIn}: ${parts.join("; ")}`;
      const result = { file, needs_restart: needsRestart, new_secrets: newSecrets, changes };
      printDone(options.json, result, message, terminal);
    });
}
