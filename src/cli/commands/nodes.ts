import type { Command } from "commander";
import type { NodeView } from "../../admin/views.ts";
import { Refused } from "../failure.ts";
import { type DataOptions, examples, newDataCommand } from "../help.ts";
import { withStore } from "../open-store.ts";
import { count, fromNow, moment, span } from "../terminal/format.ts";
import { table } from "../terminal/table.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";

export function nodesCommand(terminal: Terminal): Command {
  return newDataCommand("nodes", "List the gateways that share the database")
    .addHelpText(
      "after",
      examples(
        ["sluice nodes --store postgres://sluice@db/sluice", "who is joined, and what each has in flight"],
        ["sluice nodes --json", "the same for programs"],
      ),
    )
    .action(async (options: DataOptions) => {
      const { listNodes } = await import("../../admin/operations/list-nodes.ts");
      await withStore(terminal, options, {}, async ({ store, clock }) => {
        if (store.nodes === null) throw new Refused(inAFolder);
        const nodes = await listNodes(store);
        if (options.json) printJson(nodes, terminal);
        else if (nodes.length === 0) terminal.print("No gateway has joined.");
        else terminal.print(asTable(nodes, clock.wallMs(), terminal));
      });
    });
}

const inAFolder =
  "the data is in a folder, which one gateway uses at a time; nodes are the gateways of a PostgreSQL database (--store)";

function asTable(nodes: readonly NodeView[], nowMs: number, terminal: Terminal): string {
  const { style } = terminal;
  const states = { live: style.good, late: style.warn, dead: style.bad };
  const rows = nodes.map((node) => [
    String(node.node),
    node.name,
    states[node.state](node.state),
    node.version,
    moment(Date.parse(node.since)),
    count(node.in_flight),
    count(node.holds),
    ago(Date.parse(node.last_beat), nowMs),
  ]);
  const right = { align: "right" } as const;
  return table(
    [
      { title: "NODE", ...right },
      { title: "NAME", elastic: true },
      { title: "STATE" },
      { title: "VERSION" },
      { title: "SINCE (UTC)" },
      { title: "IN FLIGHT", ...right },
      { title: "HOLDS", ...right },
      { title: "LAST BEAT" },
    ],
    rows,
    terminal,
  );
}

const aMinuteMs = 60_000;

function ago(ms: number, nowMs: number): string {
  const sinceMs = Math.max(0, nowMs - ms);
  return sinceMs < aMinuteMs ? `${span(sinceMs)} ago` : fromNow(ms, nowMs);
}
