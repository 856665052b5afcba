import type { DeviceRecords } from "./device-records.ts";

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

export interface AuditQuery {
  /** Only those with a lower id. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
  /** Only what was done in this time, its end not included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** A part of anything that it says, without case: who, from where, what was done, to what, and how. */
  readonly search?: string | undefined;
}

/** A token of the admin API that an operator made, beside the first one. */
export interface AdminTokenRecord {
  readonly id: string;
  readonly label: string;
  readonly role: "admin" | "viewer";
  /** The SHA-256 of the token, in hex. */
  readonly hash: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

export interface AdminRecords {
  appendAudit(record: Omit<AuditRecord, "id">): Promise<void>;
  /** Newest first. */
  listAudit(query: AuditQuery): Promise<readonly AuditRecord[]>;
  readAdminTokenHash(): Promise<string | null>;
  /** Keeps the first one: another gateway may have saved one meanwhile. Returns the one that is kept. */
  saveAdminTokenHash(hash: string): Promise<string>;
  /** Refused as `label_taken` if one that is not revoked has its label: tokens are revoked by that. */
  insertToken(token: AdminTokenRecord): Promise<void>;
  /** Oldest first, revoked ones too. There are few, so callers read them all. */
  listTokens(): Promise<readonly AdminTokenRecord[]>;
  revokeToken(id: string, atMs: number): Promise<void>;
  /** Null for a store with one gateway, which keeps its sessions in memory. */
  readonly sessions: SessionRecords | null;
  readonly devices: DeviceRecords;
}

export interface SessionRecord {
  readonly hash: string;
  readonly identity: string;
  readonly endsAtMs: number;
}

/** Sessions that any of several gateways may be asked about next, by the hash of their ids. */
export interface SessionRecords {
  /** At most so many are kept; those that end first go first. `identity` is who signed in, as JSON. */
  begin(session: SessionRecord, most: number): Promise<void>;
  /** Who signed in; null if there is no such session, or it is over. */
  find(hash: string, nowMs: number): Promise<string | null>;
  end(hash: string): Promise<void>;
  endAll(): Promise<void>;
}
