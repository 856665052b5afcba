import type { Command } from "commander";
import type { NodeView } from "../../admin/system/schema.ts";
import { count } from "../../base/text/plural.ts";
import { type CsvOption, type DataOptions, newOperationCommand, withCsv } from "../help.ts";
import { withOperations } from "../operations/with-operations.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { CommandError, fromNow, moment, span, type Terminal } from "../terminal/terminal.ts";

export function nodesCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("nodes", "List the gateways that share the database"))
    .examples(
      ["sluice nodes --store postgres://sluice@db/sluice", "the gateways and their requests in progress"],
      ["sluice nodes --json", "as JSON"],
    )
    .action(async (options: DataOptions & CsvOption) => {
      await withOperations(terminal, options, {}, async (client) => {
        if ("data_folder" in client.place) throw new CommandError(inAFolder);
        const nodes = await client.list<NodeView>("/nodes");
        const columns = columnsOf(Date.now(), terminal);
        printList({ rows: nodes, columns, nothing: "No gateway has joined." }, options, terminal);
      });
    });
}

const inAFolder = "this data folder uses SQLite, which has a single gateway; nodes need PostgreSQL (--store)";

function columnsOf(nowMs: number, { style }: Terminal): readonly ListColumn<NodeView>[] {
  const states = { live: style.good, late: style.warn, dead: style.bad };
  const right = { align: "right" } as const;
  return [
    { name: "node", title: "NODE", ...right },
    { name: "name", title: "NAME", elastic: true },
    { name: "state", title: "STATE", cell: ({ state }) => states[state](state) },
    { name: "version", title: "VERSION" },
    { name: "since", title: "SINCE (UTC)", cell: ({ since }) => moment(Date.parse(since)) },
    { name: "in_flight", title: "IN FLIGHT", ...right, cell: (node) => count(node.in_flight) },
    { name: "holds", title: "HOLDS", ...right, cell: ({ holds }) => count(holds) },
    { name: "heartbeat_at", title: "HEARTBEAT", cell: (node) => ago(Date.parse(node.heartbeat_at), nowMs) },
  ];
}

const minuteMs = 60_000;

function ago(ms: number, nowMs: number): string {
  const sinceMs = Math.max(0, nowMs - ms);
  return sinceMs < minuteMs ? `${span(sinceMs)} ago` : fromNow(ms, nowMs);
}
