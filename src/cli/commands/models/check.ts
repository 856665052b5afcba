import type { Command } from "commander";
import type { ModelCheckView } from "../../../admin/models/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import type { ModelSettings, Settings } from "../../../config/settings.ts";
import { didYouMean } from "../../../config/suggest.ts";
import { remoteGateway } from "../../gateways/remote.ts";
import {
  type ConfigOptions,
  type CsvOption,
  type DataOptions,
  newOperationCommand,
  withCsv,
} from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import type { OperationClient } from "../../operations/client.ts";
import { runningGateway } from "../../operations/with-operations.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { withProgress } from "../../terminal/progress.ts";
import { CommandError, CommandFailed, span, type Terminal } from "../../terminal/terminal.ts";

export function modelsCheckCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("check", "Send one small request to each provider, or for one model"))
    .argument("[model]", "test every deployment of this model instead")
    .examples(
      ["sluice models check", "exit status 1 when any provider fails"],
      ["sluice models check house-model", "each of its deployments"],
    )
    .addHelpText(
      "after",
      "\nA running gateway checks its own providers, with its own secrets; --config checks that file from here.\nA provider with several keys is checked with each of them.",
    )
    .action(async (id: string | undefined, options: DataOptions & CsvOption) => {
      const gateway =
        options.config === undefined
          ? await runningGateway(terminal, options)
          : remoteGateway(terminal, options);
      const checks = await (gateway === null
        ? checkedHere(id, options, terminal)
        : withProgress("calling the providers", checkedBy(gateway, id), terminal));
      printList({ rows: checks, columns: columnsOf(terminal), nothing: "No providers." }, options, terminal);
      // In a check of all providers, one that is not called because no LLM uses it does not fail the command. A named model does.
      const isFailure = (check: ModelCheckView) =>
        !check.ok && (id !== undefined || wasCalled(check) || !check.usable);
      if (checks.some(isFailure)) throw new CommandFailed();
    });
}

async function checkedBy(gateway: OperationClient, model: string | undefined) {
  return (await gateway.post<{ data: readonly ModelCheckView[] }>("/models/check", { model })).data;
}

async function checkedHere(id: string | undefined, options: ConfigOptions, terminal: Terminal) {
  const { checkProviders } = await import("../../../admin/models/check-providers.ts");
  const settings = await loadAndWarn(options, terminal);
  const model = id === undefined ? undefined : modelNamed(id, settings);
  const target =
    model === undefined
      ? plural(settings.providers.size, "provider")
      : plural(model.deployments.length, "deployment");
  return withProgress(`asking ${target}`, checkProviders(settings, model), terminal);
}

function modelNamed(id: string, { models }: Settings): ModelSettings {
  const model = models.find((candidate) => candidate.id === id || candidate.aliases.includes(id));
  if (model !== undefined) return model;
  const known = new Set(models.map((candidate) => candidate.id));
  throw new CommandError(
    `model "${id}" does not exist${didYouMean(id, known) || "; run `sluice models list`"}`,
  );
}

function wasCalled({ upstream_model }: ModelCheckView): boolean {
  return upstream_model !== null;
}

function columnsOf({ style }: Terminal): readonly ListColumn<ModelCheckView>[] {
  const none = style.dim("–");
  return [
    {
      name: "ok",
      title: "",
      cell: (check) =>
        check.ok ? style.good("✓") : wasCalled(check) || !check.usable ? style.bad("✗") : none,
    },
    {
      name: "provider",
      title: "PROVIDER",
      cell: ({ provider, key }) => style.bold(provider) + (key === null ? "" : ` key ${key}`),
    },
    { name: "key" },
    { name: "upstream_model", title: "MODEL", elastic: true, cell: (check) => check.upstream_model ?? none },
    { name: "dialect", title: "DIALECT", cell: ({ dialect }) => dialect ?? none },
    { name: "status" },
    { name: "took_ms", title: "TOOK", align: "right", cell: (check) => span(check.took_ms) },
    { name: "problem", title: "RESULT", cell: ({ problem }) => problem ?? style.good("OK") },
  ];
}
