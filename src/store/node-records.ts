/** The nodes of a shared database, for operators. */
export interface NodeRecords {
  /** Nodes that have joined and not left, by number. Dead nodes stay listed for a day. */
  list(): Promise<readonly NodeRecord[]>;
}

/** A node as operators see it. */
export interface NodeRecord {
  readonly no: number;
  readonly name: string;
  readonly version: string;
  /** `late`: its lease is over, and no other node has taken it over yet. */
  readonly state: "live" | "late" | "dead";
  readonly startedAtMs: number;
  readonly lastBeatMs: number;
  readonly inFlight: number;
  readonly holds: number;
}
