import type { NodeView } from "../../admin/system/schema.ts";
import { count } from "../../base/text/plural.ts";
import { list } from "../operations/operation-command.ts";
import { CommandError, fromNow, span, utcMinute } from "../terminal/terminal.ts";

const right = { align: "right" } as const;

export const nodesCommand = list<NodeView>({
  name: "nodes",
  summary: "List the gateways that share the database",
  call: "GET /nodes",
  examples: [
    ["sluice nodes --store postgres://sluice@db/sluice", "the gateways and their requests in progress"],
    ["sluice nodes --json", "as JSON"],
  ],
  columns(_, { terminal: { style } }) {
    const states = { live: style.good, late: style.warn, dead: style.bad };
    const nowMs = Date.now();
    return [
      { name: "node", title: "NODE", ...right },
      { name: "name", title: "NAME", elastic: true },
      { name: "state", title: "STATE", cell: ({ state }) => states[state](state) },
      { name: "version", title: "VERSION" },
      { name: "since", title: "SINCE (UTC)", cell: ({ since }) => utcMinute(Date.parse(since)) },
      { name: "in_flight", title: "IN FLIGHT", ...right, cell: (node) => count(node.in_flight) },
      { name: "holds", title: "HOLDS", ...right, cell: ({ holds }) => count(holds) },
      { name: "heartbeat_at", title: "HEARTBEAT", cell: (node) => ago(Date.parse(node.heartbeat_at), nowMs) },
    ];
  },
  nothing: "No gateway has joined.",
  rows(all, { client }) {
    if (!("data_folder" in client.place)) return all;
    throw new CommandError(
      "this data folder uses SQLite, which has a single gateway; nodes need PostgreSQL (--store)",
    );
  },
});

const minuteMs = 60_000;

function ago(ms: number, nowMs: number): string {
  const sinceMs = Math.max(0, nowMs - ms);
  return sinceMs < minuteMs ? `${span(sinceMs)} ago` : fromNow(ms, nowMs);
}
