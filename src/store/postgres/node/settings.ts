import type { ClientOptions } from "../client.ts";

/** How a gateway joins a shared database. */
export interface NodeSettings {
  readonly connection: Pick<ClientOptions, "address" | "prepare">;
  /** For people. Several nodes may have the same. */
  readonly name: string;
  readonly version: string;
  /** The data folder: what is not acknowledged is kept there. */
  readonly dir: string;
  readonly timing?: NodeTiming;
  readonly report: (event: NodeEvent) => void;
}

export interface NodeTiming {
  /** How long a node counts as alive after its last sign of life. */
  readonly leaseMs: number;
  /** How long others wait beyond that before they take it over. */
  readonly graceMs: number;
  readonly beatMs: number;
}

export const usualTiming: NodeTiming = { leaseMs: 15_000, graceMs: 5_000, beatMs: 1_000 };

/** What operators should read in the log. */
export type NodeEvent =
  | { readonly kind: "joined"; readonly no: number }
  | { readonly kind: "fenced"; readonly no: number }
  | { readonly kind: "took_over"; readonly nodes: readonly number[] }
  | { readonly kind: "cleared"; readonly ended: number; readonly charged: number }
  /** Charges that an earlier process could not make. */
  | { readonly kind: "made_up"; readonly charges: number }
  | { readonly kind: "rejected"; readonly exchangeId: string; readonly error: unknown }
  /** The file for unacknowledged charges cannot be written. */
  | { readonly kind: "unkept"; readonly error: unknown }
  | { readonly kind: "clock_differs"; readonly byMs: number };
