/**
 * Turns of conversations: responses that a client may read, continue or refer to. A turn has only what was new in it; the
 * conversation is the chain of its parents. One that a client has named is a turn too, with all its items. Its row is replaced
 * whenever it changes, and may keep the parts of the one before.
 */
export interface TurnRecord {
  readonly keyId: string;
  /** The response's id, as the client knows it. */
  readonly id: string;
  readonly parentId: string | null;
  readonly model: string;
  readonly provider: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** The size of its items. */
  readonly bytes: number;
  /** The keys for finding its items: their ids, or digests of long ones. */
  readonly items: readonly string[];
  /** The gateway's form of it, perhaps encrypted; with a `recording`, only the part that follows the parts written ahead. */
  readonly body: Uint8Array;
  /** The verbatim request, if the body is the verbatim response. */
  readonly request?: Uint8Array | undefined;
  readonly recording?: Recording;
  /** Maximum bytes of the key's turns; the oldest are deleted first. */
  readonly keyBytes: number;
  /** The number of the turn with the same id that it replaces. It is not stored if that one is gone. */
  readonly replaces?: number | undefined;
}

/** Room for a turn. The one that it replaces stays until then, and does not count. */
export type WantedRoom = Pick<TurnRecord, "keyId" | "bytes" | "keyBytes" | "replaces">;

/** The beginning of something long, written in parts before the rest. */
export interface Recording {
  readonly id: string;
  readonly parts: number;
  /** The size of all parts, for a response kept for retries. */
  readonly bytes?: number;
}

export interface StoredTurn extends Pick<TurnRecord, "id" | "parentId"> {
  /** Never used again. */
  readonly no: number;
  readonly bytes: number;
  readonly body: Uint8Array;
  readonly request: Uint8Array | null;
  /** Number of bytes of the body that are in the row, after the parts of the recording. */
  readonly endBytes: number;
  readonly recording: Recording | null;
}

/** Called with the size of what is about to be read. Waits until there is memory for it, or throws if there is none. */
export type ReserveMemory = (bytes: number) => Promise<void> | void;

/** Limits for reading several turns. If they are exceeded, nothing is read. */
export interface TurnBounds {
  readonly nowMs: number;
  readonly maxTurns: number;
  readonly maxBytes: number;
  /** Additional bytes of each turn, together at most `maxBytes` again. */
  readonly headBytes: number;
  readonly reserve: ReserveMemory;
}

export interface ChainQuery extends TurnBounds {
  readonly keyId: string;
  readonly id: string;
}

export interface ItemsQuery extends TurnBounds {
  readonly keyId: string;
  readonly items: readonly string[];
  /** Turns that are read in any case. */
  readonly turnIds: readonly string[];
}

/** `missing`: the turn or an earlier one does not exist. */
export type TurnChain =
  | { readonly kind: "found"; readonly turns: readonly StoredTurn[] }
  | { readonly kind: "missing" | "too_long" | "too_large" };

export type TurnsWithItems =
  | { readonly kind: "found"; readonly turns: readonly StoredTurn[] }
  | { readonly kind: "too_many" | "too_large" };

export interface TurnSums {
  /** Turns and conversations together. */
  readonly count: number;
  readonly conversations: number;
  readonly bytes: number;
  /** Null if there are none. */
  readonly oldestAtMs: number | null;
  readonly newestAtMs: number | null;
}

/** Expired turns are not found, even if they are not pruned yet. Turns are written with their charges. */
export interface TurnRecords {
  /** A turn and all before it, oldest first. */
  chain(query: ChainQuery): Promise<TurnChain>;
  find(keyId: string, id: string, nowMs: number, reserve?: ReserveMemory): Promise<StoredTurn | null>;
  /** The turn with only its row's content as its body, without parts written ahead. */
  end(keyId: string, id: string, nowMs: number): Promise<StoredTurn | null>;
  /** Whether the turn of this number is still there. */
  has(no: number): Promise<boolean>;
  /** Whether there is a turn for each of these ids, which are all different. */
  hasAll(keyId: string, ids: readonly string[], nowMs: number): Promise<boolean>;
  /** For each item, the newest unexpired turn that has it, and the turns of these ids. Oldest first, each once. */
  withItems(query: ItemsQuery): Promise<TurnsWithItems>;
  /** Deletes the key's oldest turns, a few at a time, until these bytes fit. A settle deletes no more than a few, because others wait for it. */
  makeRoom(wanted: WantedRoom): Promise<void>;
  /** False if there is none. */
  delete(keyId: string, id: string, nowMs: number): Promise<boolean>;
  /** Returns how many there were. */
  deleteAll(keyId: string): Promise<number>;
  sums(keyId: string, nowMs: number): Promise<TurnSums>;
  /** The secret that summaries are sealed with, the same for all gateways of a store: this one if there was none yet. */
  sealingSecret(candidate: Uint8Array): Promise<Uint8Array>;
  /** Deletes at most `limit` that have expired, or belong to a revoked key; fewer if they are long. Returns how many. */
  prune(nowMs: number, limit: number): Promise<number>;
}
