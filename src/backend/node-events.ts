import type { Log } from "../observe/log.ts";
import type { NodeEvent } from "../store/node.ts";

interface Line {
  readonly level: "info" | "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** What happens to a node, and what it does for others, in the words of the log. */
export function logNodeEvent(log: Log, event: NodeEvent): void {
  const { level, fields, message } = lineOf(event);
  log[level](fields, message);
}

function lineOf(event: NodeEvent): Line {
  switch (event.kind) {
    case "joined":
      return { level: "info", fields: { node: event.no }, message: "joined as a node" };
    case "fenced":
      return {
        level: "error",
        fields: { node: event.no },
        message:
          "another node has taken over this one, because it gave no sign of life for too long; " +
          "what ran here ends, and it joins anew",
      };
    case "took_over":
      return {
        level: "warn",
        fields: { nodes: event.nodes },
        message: "nodes gave no sign of life for too long and were taken over",
      };
    case "cleared":
      return {
        level: "warn",
        fields: { ended: event.ended, charged: event.charged },
        message: "the requests of dead nodes were ended; what they had produced is charged",
      };
    case "made_up":
      return {
        level: "warn",
        fields: { charges: event.charges },
        message: "charges that an earlier process could not make were made",
      };
    case "rejected":
      return {
        level: "error",
        fields: { exchange: event.exchangeId, err: event.error },
        message:
          "the database rejects a charge; it stays in the data folder and is tried again at the next start",
      };
    case "blocked":
      return {
        level: "warn",
        fields: { key: event.keyId },
        message:
          "another session keeps the account of this key locked; its requests are refused and its charges wait until it is given back",
      };
    case "unkept":
      return {
        level: "error",
        fields: { err: event.error },
        message:
          "charges cannot be kept in the data folder while the database is away: they would be lost with this process",
      };
    case "clock_differs":
      return {
        level: "warn",
        fields: { by_ms: event.byMs },
        message: "this machine's clock differs from the database's; budgets turn over by this one",
      };
  }
}
