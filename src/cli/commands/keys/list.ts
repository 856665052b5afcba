import type { Command } from "commander";
import type { KeySummary } from "../../../admin/operations/key-summary.ts";
import { utcDay } from "../../../base/clock.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { colorStatus } from "../../key-output.ts";
import { withStore } from "../../open-store.ts";
import { count, creditsShown, fromNow } from "../../terminal/format.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly search?: string;
}

export function keysListCommand(terminal: Terminal): Command {
  return newDataCommand("list", "List all keys with what they have left")
    .option("--search <text>", "only keys whose label contains it, or whose id or prefix begins with it")
    .addHelpText(
      "after",
      examples(
        ["sluice keys list", ""],
        ["sluice keys list --search alice", ""],
        ["sluice keys list --json | jq -r '.[] | select(.status == \"expired\") | .id'", ""],
      ),
    )
    .action(async (options: Options) => {
      const { listKeys } = await import("../../../admin/operations/list-keys.ts");
      await withStore(terminal, options, {}, async (context) => {
        const views = await listKeys(context, options.search);
        if (options.json) printJson(views, terminal);
        else
          terminal.print(
            views.length === 0 ? nothing(options) : asTable(views, context.clock.wallMs(), terminal),
          );
      });
    });
}

function nothing(options: Options): string {
  return options.search === undefined
    ? "No keys yet. Create one with `sluice keys create --mode credit --credit 5`."
    : `No key fits "${options.search}".`;
}

function asTable(views: readonly KeySummary[], nowMs: number, terminal: Terminal): string {
  const { style } = terminal;
  const hasOwners = views.some(({ owner }) => owner !== null);
  const rows = views.map((view) => [
    style.bold(view.prefix),
    view.label ?? style.dim("–"),
    ...(hasOwners ? [view.owner ?? style.dim("–")] : []),
    view.mode,
    colorStatus(view.status, style),
    left(view),
    view.rpm_limit === null ? style.dim("–") : count(view.rpm_limit),
    mayUse(view) ?? style.dim("all"),
    count(view.requests),
    view.last_used_on === null
      ? style.dim("never")
      : daysAgo(utcDay(nowMs) - utcDay(Date.parse(view.last_used_on))),
    view.expires_at === null ? style.dim("never") : fromNow(Date.parse(view.expires_at), nowMs),
  ]);
  const columns = [
    { title: "KEY" },
    { title: "LABEL", elastic: true },
    ...(hasOwners ? ([{ title: "OWNER", elastic: true }] as const) : []),
    { title: "MODE" },
    { title: "STATUS" },
    { title: "LEFT", align: "right" },
    { title: "RPM", align: "right" },
    { title: "USES", elastic: true },
    { title: "REQUESTS", align: "right" },
    { title: "LAST USE" },
    { title: "EXPIRES" },
  ] as const;
  return table(columns, rows, terminal);
}

/** The provider and the models that the key is bound to; null if it may use everything. */
function mayUse({ scope, models }: KeySummary): string | null {
  const provider = scope === "all" ? null : scope;
  if (models === null) return provider;
  return provider === null ? models.join(", ") : `${provider}: ${models.join(", ")}`;
}

/** By the UTC calendar. */
function daysAgo(days: number): string {
  return days <= 0 ? "today" : `${count(days)}d ago`;
}

function left(view: KeySummary): string {
  if (view.credit !== null) return `${creditsShown(view.credit.balance)} cr`;
  if (view.budget === null || view.budget.remaining === null) return "unlimited";
  return `${count(view.budget.remaining)} tok`;
}
