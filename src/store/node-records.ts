/** The nodes of a shared database, for operators. */
export interface NodeRecords {
  /** Nodes that have joined and not left, by number. Dead nodes stay listed for a day. Counts the holds of all nodes. */
  list(): Promise<readonly NodeRecord[]>;
  /** Lists those nodes for checks that every gateway repeats: reads no holds. */
  states(): Promise<readonly NodeState[]>;
}

/** Whether a node is alive. */
export interface NodeState {
  readonly no: number;
  readonly name: string;
  /** `late`: its lease has expired, and no other node has taken it over yet. */
  readonly state: "live" | "late" | "dead";
  readonly startedAtMs: number;
  readonly lastBeatMs: number;
}

/** A node as operators see it. */
export interface NodeRecord extends NodeState {
  readonly version: string;
  readonly inFlight: number;
  readonly holds: number;
}
