import type { NodeView } from "../../admin/system/schema.ts";
import { list } from "../operations/operation-command.ts";
import { countColumn, timeColumn } from "../terminal/list.ts";
import { CommandError, fromNow, span } from "../terminal/terminal.ts";

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
      { name: "node", title: "NODE", align: "right" },
      { name: "name", title: "NAME", elastic: true },
      { name: "state", title: "STATE", cell: ({ state }) => states[state](state) },
      { name: "version", title: "VERSION" },
      timeColumn("since", "SINCE (UTC)"),
      countColumn("in_flight", "IN FLIGHT"),
      countColumn("holds", "HOLDS"),
      timeColumn("heartbeat_at", "HEARTBEAT", (at) => ago(Date.parse(at), nowMs)),
    ];
  },
  nothing: "No gateway has joined.",
  rows(all, { client }) {
    // A running gateway is on its own list, unless its store has none.
    const isAlone = "data_folder" in client.place || ("gateway" in client.place && all.length === 0);
    if (!isAlone) return all;
    throw new CommandError(`${client.name} uses SQLite, which has a single gateway; nodes need PostgreSQL`);
  },
});

const minuteMs = 60_000;

function ago(ms: number, nowMs: number): string {
  const sinceMs = Math.max(0, nowMs - ms);
  return sinceMs < minuteMs ? `${span(sinceMs)} ago` : fromNow(ms, nowMs);
}
