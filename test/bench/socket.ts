import type { Cell } from "./cells.ts";
import type { Gateway } from "./gateways.ts";
import type { LoadProcess } from "./load-process.ts";
import { type MedianMetrics, measureInTurns, type Pace } from "./rounds.ts";

/** The same streamed response by both ways, of the same gateway. */
export interface SocketFigures {
  readonly http: MedianMetrics;
  readonly socket: MedianMetrics;
}

export const socketName = "a turn over WebSocket";

const cell: Cell = { route: "responses", size: "1 KB", stream: true, concurrency: 16 };

/** A tenth is little next to a machine's noise, and sockets have not been served before. */
const pace: Pace = { rounds: 13, windowMs: 500, mostWarmupMs: 10_000 };

export async function measureSocket(load: LoadProcess, sluice: Gateway): Promise<SocketFigures> {
  const bySocket: Gateway = {
    ...sluice,
    target: (of) => {
      const { body, ...target } = sluice.target(of);
      return { ...target, body: `{"type":"response.create",${body.slice(1)}`, isSocket: true };
    },
  };
  const [http, socket] = await measureInTurns(load, cell, [sluice, bySocket], pace);
  if (http === undefined || socket === undefined) throw new Error("a gateway has no figures");
  return { http, socket };
}
