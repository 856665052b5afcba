import type { Cell } from "./cells.ts";
import type { ContentFigures } from "./content.ts";
import type { ContinuedFigures } from "./continued.ts";
import type { GatewayName } from "./gateways.ts";
import type { GrowthFigures } from "./growth.ts";
import type { JournalFigures } from "./journal.ts";
import type { PacedFigures } from "./paced.ts";
import type { Pacing } from "./payloads.ts";
import type { MedianMetrics } from "./rounds.ts";
import type { SocketFigures } from "./socket.ts";

/** Everything that one run found out. */
export interface Results {
  readonly machine: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly cells: readonly CellResult[];
  readonly paced: readonly PacedResult[];
  readonly memory: MemoryFigures;
  readonly journal: JournalFigures;
  readonly growth: GrowthFigures | null;
  readonly continued: ContinuedFigures | null;
  readonly socket: SocketFigures | null;
  readonly content: ContentFigures | null;
  /** What was left out and why, and what makes a figure doubtful. */
  readonly notes: readonly string[];
}

export interface PacedResult {
  readonly pacing: Pacing;
  readonly sluice: PacedFigures;
  readonly bare: PacedFigures;
  readonly other: PacedFigures | null;
}

export interface CellResult {
  readonly cell: Cell;
  readonly figures: Readonly<Partial<Record<GatewayName, MedianMetrics>>>;
}

export interface MemoryFigures {
  readonly idleMegabytes: number;
  readonly loadedMegabytes: number;
  readonly afterwardsMegabytes: number;
}
