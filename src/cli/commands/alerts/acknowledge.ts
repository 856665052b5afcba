import { Argument, type Command } from "commander";
import { iso } from "../../../admin/moments.ts";
import type { AcknowledgedView } from "../../../admin/system/alert-schema.ts";
import { alertKindNames } from "../../../alerts/alert.ts";
import { expiry } from "../../arguments.ts";
import { type DataOptions, newOperationCommand } from "../../help.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { printDone, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly until: number;
}

export function alertsAcknowledgeCommand(terminal: Terminal): Command {
  return newOperationCommand("ack", "Acknowledge the alerts of a kind until a day")
    .addArgument(new Argument("<kind>", "the kind, as `sluice status` lists it").choices(alertKindNames))
    .requiredOption("--until <when>", "how long, such as 30d, or a date", expiry)
    .examples("sluice alerts ack price_outdated --until 30d")
    .addHelpText(
      "after",
      "\nThe alerts stay in the list, with who acknowledged them. `sluice status --check` ignores them.",
    )
    .action(async (kind: string, { until: untilMs, ...options }: Options) => {
      await withOperations(terminal, options, { writes: true }, async (client) => {
        const document = await client.post<AcknowledgedView>("/alerts/ack", { kind, until: iso(untilMs) });
        const message = `${kind} is acknowledged until ${document.acknowledged.until}`;
        printDone(options.json, document, message, terminal);
      });
    });
}
