import type { Log } from "../observe/log.ts";
import type { NodeEvent } from "../store/node.ts";

/** What happens to a node, and what it does for others, in the words of the log. */
export function logNodeEvent(log: Log, { kind, ...fields }: NodeEvent): void {
  const [level, message] = lines[kind];
  log[level](fields, message);
}

type Line = readonly [level: "info" | "warn" | "error", message: string];

const lines: Readonly<Record<NodeEvent["kind"], Line>> = {
  joined: ["info", "joined as a node"],
  fenced: [
    "error",
    "another node has taken over this one, because it gave no sign of life for too long; " +
      "what ran here ends, and it joins anew",
  ],
  took_over: ["warn", "nodes gave no sign of life for too long and were taken over"],
  cleared: ["warn", "the requests of dead nodes were ended; what they had produced is charged"],
  made_up: ["warn", "charges that an earlier process could not make were made"],
  rejected: [
    "error",
    "the database rejects a charge; it stays in the data folder and is tried again at the next start",
  ],
  blocked: [
    "warn",
    "another session keeps the account of this key locked; its requests are refused and its charges wait until it is given back",
  ],
  unkept: [
    "error",
    "charges cannot be kept in the data folder while the database is away: they would be lost with this process",
  ],
  clock_differs: [
    "warn",
    "this machine's clock differs from the database's, which decides about periods and days",
  ],
};
