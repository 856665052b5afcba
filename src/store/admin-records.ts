/** One change that an operator made, through the admin API or at the command line. */
export interface AuditRecord {
  readonly id: number;
  readonly atMs: number;
  readonly actor: string;
  readonly address: string;
  readonly action: string;
  readonly target: string | null;
  readonly detail: string | null;
}

export interface AdminRecords {
  appendAudit(record: Omit<AuditRecord, "id">): Promise<void>;
  /** Newest first, before the given id. */
  listAudit(query: {
    readonly beforeId?: number | undefined;
    readonly limit: number;
  }): Promise<readonly AuditRecord[]>;
  readAdminTokenHash(): Promise<string | null>;
  /** Keeps the first one: another gateway may have saved one meanwhile. Returns the one that is kept. */
  saveAdminTokenHash(hash: string): Promise<string>;
  /** Null for a store with one gateway, which keeps its sessions in memory. */
  readonly sessions: SessionRecords | null;
}

/** Sessions that any of several gateways may be asked about next, by the hash of their ids. */
export interface SessionRecords {
  /** At most so many are kept; those that end first go first. */
  begin(hash: string, endsAtMs: number, most: number): Promise<void>;
  isOpen(hash: string, nowMs: number): Promise<boolean>;
  end(hash: string): Promise<void>;
  endAll(): Promise<void>;
}
