/** What operators see of the nodes of a shared database. */
export interface NodeRecords {
  /** Those that have joined and not left, by their numbers; the dead for a day. */
  list(): Promise<readonly NodeRecord[]>;
}

/** A node as operators see it. */
export interface NodeRecord {
  readonly no: number;
  readonly name: string;
  readonly version: string;
  /** `late`: its lease is over, and nobody has taken it over yet. */
  readonly state: "live" | "late" | "dead";
  readonly startedAtMs: number;
  readonly lastBeatMs: number;
  readonly inFlight: number;
  readonly holds: number;
}
