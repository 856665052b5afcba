import type { Command } from "commander";
import { inTurns } from "../../base/loop/in-turns.ts";
import type { StoredPrices } from "../../config/catalog/stored-prices.ts";
import type { LoadOptions } from "../../config/load.ts";
import { host, port, project, region } from "../arguments.ts";
import { type DataOptions, newCommand } from "../help.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";

interface Options extends DataOptions {
  readonly host?: string;
  readonly port?: number;
  readonly demoOnly?: true;
  readonly bedrock?: string;
  readonly vertex?: string;
  readonly local?: true;
  readonly newLedger?: true;
}

export function serveCommand(terminal: Terminal): Command {
  return newCommand("serve", "Start the gateway")
    .option(
      "--config <file>",
      "the configuration (SLUICE_CONFIG; default: ./sluice.toml, /etc/sluice/sluice.toml or the built-in one)",
    )
    .option(
      "--data <dir>",
      "the data folder for keys, ledger and usage (SLUICE_DATA; default: ./sluice-data)",
    )
    .option("--store <url>", "a PostgreSQL database instead of the folder (SLUICE_STORE)")
    .option("--host <host>", "the address to listen on (SLUICE_HOST; default: 127.0.0.1)", host)
    .option("--port <port>", "the port; 0 chooses a free one (SLUICE_PORT; default: 8787)", port)
    .option("--demo-only", "without a file, ignore provider keys in the environment")
    .option(
      "--bedrock <region>",
      "without a file, serve Claude on Amazon Bedrock, with AWS's own credentials",
      region,
    )
    .option("--vertex <project>", "without a file, serve Vertex AI, with Google's own credentials", project)
    .option("--new-ledger", "start over with an empty ledger in a folder that has lost its own")
    .option("--local", "without a file, serve the models of Ollama, at OLLAMA_HOST or its usual port")
    .examples(
      [
        "sluice serve",
        "with the demo models; the first run creates two keys and prints commands to try them",
      ],
      [
        "OPENAI_API_KEY=… sluice serve",
        "without a file, also serves providers whose keys are in the environment",
      ],
      ["sluice serve --config sluice.toml --host 0.0.0.0", "accept requests from other machines"],
      ["kill -HUP $(pidof sluice)", "reload the configuration"],
    )
    .addHelpText(
      "after",
      "\nSIGTERM and Ctrl-C let open streams finish; a second one ends at once. Closing the terminal stops it, too, unless it\nwas started with `nohup`.",
    )
    .action((options: Options) => serve(options, terminal));
}

async function serve(options: Options, terminal: Terminal): Promise<void> {
  const { loadingSettings, loadSettings } = await import("../../config/load.ts");
  const first = await loadOptions(options, terminal);
  const { settings: withoutStore, source } = loadSettings(first);
  const { startService } = await import("../serve/service.ts");
  const { ServiceLog } = await import("../../app/service-log.ts");
  const { withLoggedNotes } = await import("../serve/logged-notes.ts");
  const { createReloads } = await import("../serve/reload.ts");
  const { OwnLists } = await import("../serve/own-lists.ts");
  const { writeFilesForCommands } = await import("../serve/files-for-commands.ts");
  const { untilStopped } = await import("../serve/signals.ts");
  const { serviceManager } = await import("../serve/service-manager.ts");
  const { showEnvironment } = await import("../serve/show-environment.ts");
  const manager = serviceManager(terminal.env);
  // Reloads read the same file again: if it is gone, the built-in configuration must not replace it.
  const again = () =>
    loadOptions(source.file === null ? options : { ...options, config: source.file }, terminal);
  const lists = new OwnLists((text) => terminal.note(text));
  const load = (stored: StoredPrices | null) =>
    lists.load(
      async (prices) => (await inTurns(loadingSettings({ ...(await again()), prices }))).settings,
      stored,
    );
  const check = async (stored: StoredPrices | null) => {
    const { checkingConfig } = await import("../check-config.ts");
    return inTurns(checkingConfig({ ...(await again()), prices: lists.over(stored) }));
  };
  const log = new ServiceLog(withoutStore.log);
  const reloads = createReloads({ load, check }, terminal, manager);
  const running = await startService({
    settings: withoutStore,
    configOnDisk: reloads,
    json: options.json === true,
    newLedger: options.newLedger === true,
    terminal: withLoggedNotes(terminal, log),
    log,
  });
  reloads.of(running);
  lists.retryWith(() => reloads.reload({ suspendsKeys: false }));
  const { settings } = running;
  // Signal handlers must be installed before readiness is announced.
  const onStopping = () => {
    log.info("stopping: draining requests");
    manager.stopping();
  };
  // The log has them, too.
  const printLoss = (loss: string) => terminal.note(`${terminal.noteStyle.bad("error:")} ${loss}`);
  const stopped = untilStopped(running, {
    onStopping,
    onLoss: printLoss,
    onReload: () => reloads.reloadReporting(),
  });
  showWarnings(settings.warnings, terminal);
  writeFilesForCommands(settings, terminal, running.url);
  showEnvironment(source.environment, { settings, json: options.json === true, url: running.url, terminal });
  // On a terminal the line below says so.
  if (terminal.noteColumns === null) log.info(`listening on ${running.url}`);
  terminal.print(options.json ? JSON.stringify({ listening: running.url }) : `listening on ${running.url}`);
  manager.ready(`listening on ${running.url}`);
  const losses = await stopped;
  for (const loss of losses) printLoss(loss);
  log.info("stopped");
  process.exit(losses.length === 0 ? 0 : 1);
}

/** A self-hosted server is asked for its models at each start; vendors are never called. */
async function loadOptions(options: Options, { env, cwd }: Terminal): Promise<LoadOptions> {
  const { config, demoOnly, bedrock, vertex, local, newLedger: _, ...flags } = options;
  const { requestedBedrock, requestedVertex } = await import("../../config/environment/requested.ts");
  const requested = [
    ...(bedrock === undefined ? [] : [requestedBedrock(bedrock, env)]),
    ...(vertex === undefined ? [] : [requestedVertex(vertex, env)]),
    ...(local === undefined
      ? []
      : [await (await import("../serve/local-models.ts")).discoverLocalModels(env)]),
  ];
  return { file: config, env, cwd, flags, demoOnly, requested };
}
