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
  saveAdminTokenHash(hash: string): Promise<void>;
}
