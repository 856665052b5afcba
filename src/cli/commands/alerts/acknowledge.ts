import { Argument, type Command } from "commander";
import { iso } from "../../../admin/moments.ts";
import { alertKindNames } from "../../../alerts/alert.ts";
import { expiry } from "../../arguments.ts";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { callingUser } from "../../operations/calling-user.ts";
import { printDone, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly until: number;
}

export function alertsAcknowledgeCommand(terminal: Terminal): Command {
  return newDataCommand("ack", "Acknowledge the alerts of a kind until a day")
    .addArgument(new Argument("<kind>", "the kind, as `sluice status` lists it").choices(alertKindNames))
    .requiredOption("--until <when>", "how long, such as 30d, or a date", expiry)
    .examples("sluice alerts ack price_outdated --until 30d")
    .addHelpText(
      "after",
      "\nThe alerts stay in the list, with who acknowledged them. `sluice status --check` ignores them.",
    )
    .action(async (kind: string, { until: untilMs, ...options }: Options) => {
      await withStore(terminal, options, { writes: true }, async (context) => {
        const by = callingUser();
        await context.store.alerts.acknowledge({ kind, actor: by, untilMs });
        const until = iso(untilMs);
        await auditChange(context, "alerts.ack", { prefix: kind }, `until ${until}`);
        printDone(
          options.json,
          { kind, acknowledged: { by, until } },
          `${kind} is acknowledged until ${until}`,
          terminal,
        );
      });
    });
}
