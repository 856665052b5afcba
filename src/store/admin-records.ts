import type { DeviceRecords } from "./device-records.ts";
import type { PlaygroundRecords } from "./playground-records.ts";
import type { SignInRecords } from "./sign-in-records.ts";

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
  /** Only records with a lower id. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
  /** The time range; `untilMs` is exclusive. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Part of any field, ignoring case: actor, address, action, target or detail. */
  readonly search?: string | undefined;
}

/** The admin token that a gateway generated at its first start. */
export interface FirstAdminToken {
  /** The SHA-256 of the token, in hex. */
  readonly hash: string;
  /** Generated while only the demo was served. */
  readonly isTrial: boolean;
}

/** An admin API token that an operator created, in addition to the first one. */
export interface AdminTokenRecord {
  readonly id: string;
  readonly label: string;
  readonly role: "admin" | "viewer";
  /** The SHA-256 of the token, in hex. */
  readonly hash: string;
  /** Who created it, named as in the audit log. */
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
  /** The person who signed in for it, as JSON: it can do no more than they can now. Null for a token that was created. */
  readonly identity: string | null;
}

export interface PricesRecord {
  /** Unique, so that a gateway sees whether it runs with these. */
  readonly version: string;
  /** As JSON. */
  readonly content: string;
}

export interface AdminRecords {
  appendAudit(record: Omit<AuditRecord, "id">): Promise<void>;
  /** Newest first. */
  listAudit(query: AuditQuery): Promise<readonly AuditRecord[]>;
  readAdminToken(): Promise<FirstAdminToken | null>;
  /**
   * Keeps the first hash, which another gateway may have saved meanwhile. Only the hash of a trial is replaced, by one
   * that is not. Returns the hash that is stored.
   */
  saveAdminToken(token: FirstAdminToken): Promise<string>;
  addTrialKey(keyId: string): Promise<void>;
  /** The ids of keys that were created in a trial, with any status. */
  listTrialKeys(): Promise<readonly string[]>;
  /** Fails with `label_taken` if a token in use has this label: tokens are revoked by label. */
  insertToken(token: AdminTokenRecord): Promise<void>;
  /** Oldest first, revoked tokens included. There are few, so callers read them all. */
  /** Finds a token that is not revoked. */
  tokenByHash(hash: string): Promise<AdminTokenRecord | null>;
  listTokens(): Promise<readonly AdminTokenRecord[]>;
  updateTokenIdentity(id: string, identity: string): Promise<void>;
  revokeToken(id: string, atMs: number): Promise<void>;
  /** The prices that operators put above the built-in catalog; null for none. */
  readPrices(): Promise<PricesRecord | null>;
  /** Which prices are stored, without reading them; null for none. */
  pricesVersion(): Promise<string | null>;
  /** Replaces the stored prices, or removes them. Fails with `changed` if they are not of the version that was read. */
  savePrices(prices: PricesRecord | null, readVersion: string | null): Promise<void>;
  /** Null for a store with one gateway, which keeps its sessions in memory. */
  readonly sessions: SessionRecords | null;
  readonly devices: DeviceRecords;
  readonly signIns: SignInRecords;
  readonly playground: PlaygroundRecords;
}

export interface SessionRecord {
  readonly hash: string;
  /** The signed-in person and the address, as JSON. */
  readonly content: string;
  readonly endsAtMs: number;
}

/** Sessions shared by several gateways, stored under the hash of their ids. */
export interface SessionRecords {
  /** Keeps at most this many sessions and drops those that end first. */
  begin(session: SessionRecord, limit: number): Promise<void>;
  /** The content; null if the session does not exist or is over. */
  find(hash: string, nowMs: number): Promise<string | null>;
  /** The sessions that are not over. */
  list(nowMs: number): Promise<readonly SessionRecord[]>;
  end(hash: string): Promise<void>;
  endAll(): Promise<void>;
  /** Notes a logout token until `untilMs`. False if it was noted before. */
  spend(hash: string, untilMs: number, nowMs: number): Promise<boolean>;
}
