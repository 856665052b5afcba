import type { StoredResponse } from "./response-records.ts";
import type { Recording, TurnRecord } from "./turn-records.ts";

/** `queued`: no provider has started it yet, so it can be run again. */
export type BackgroundState = "queued" | "in_progress" | "ended";

/** A response that outlives its connection. What clients read of it is its turn. */
export interface BackgroundRecord {
  readonly id: string;
  readonly keyId: string;
  /** The request that created it. */
  readonly exchangeId: string;
  /** The process that runs it. */
  readonly node: number;
  /** Whether its events are kept. */
  readonly isStreamed: boolean;
  readonly createdAtMs: number;
  /** The data for running it again; with a `recording`, the part that follows the parts written ahead. */
  readonly call: Uint8Array;
  readonly recording?: Recording;
}

export interface StoredBackground extends Omit<BackgroundRecord, "call" | "exchangeId" | "recording"> {
  readonly state: BackgroundState;
  readonly isCancelled: boolean;
  /** Number of processes that have started it. */
  readonly runs: number;
}

/** Successive events of a response. */
export interface EventPart {
  /** The place of the first one. */
  readonly first: number;
  readonly count: number;
  readonly body: Uint8Array;
}

/** Which response, and the process that runs it. What a process does that has lost it to another has no effect. */
export type OwnedBackground = Pick<BackgroundRecord, "id" | "node">;

/** The end of a response, stored in one transaction. */
export interface BackgroundEnd {
  readonly owned: OwnedBackground;
  readonly atMs: number;
  /** The response; null if its charge has stored it. */
  readonly turn: TurnRecord | null;
  /** Its last event; null if none are stored. */
  readonly last: EventPart | null;
}

/** State of responses while they run and, if their events are stored, for some time after. */
export interface BackgroundRecords {
  /** Writes its turn, and what a retry of the request gets, in the same transaction. */
  begin(begun: BackgroundRecord, turn: TurnRecord, response: StoredResponse | null): Promise<void>;
  /** A provider has started to respond, so it is not run again. False if another process has taken it over. */
  progress(owned: OwnedBackground): Promise<boolean>;
  /** False if it was lost to another process. */
  addEvents(owned: OwnedBackground, part: EventPart): Promise<boolean>;
  /** Stores the end. Without events, nothing more is stored of it. */
  end(ended: BackgroundEnd): Promise<void>;

  find(keyId: string, id: string): Promise<StoredBackground | null>;
  /** Null if it is not to be run again. */
  readCall(id: string): Promise<Uint8Array | null>;
  /** The part with the event at this position; null if it is not stored yet. */
  eventsFrom(id: string, position: number): Promise<EventPart | null>;
  /** Number of events. */
  countEvents(id: string): Promise<number>;
  /** Number of the key's responses that other processes run. */
  countElsewhere(keyId: string, node: number): Promise<number>;

  /** Notifies the process that runs it. */
  cancel(keyId: string, id: string): Promise<void>;
  /** Responses that this process runs and is to cancel. */
  cancelledOn(node: number): Promise<readonly string[]>;
  /**
   * Takes over responses that nothing runs: this process's own, and those whose process is gone, once its charges are
   * written.
   */
  adopt(node: number, running: readonly string[]): Promise<readonly StoredBackground[]>;
  delete(keyId: string, id: string): Promise<void>;
  /** Deletes those that ended before this time, or belong to a revoked key. */
  prune(endedBeforeMs: number): Promise<void>;
}
