import type { ClaimedLine, OwnedLine } from "./batch-records.ts";
import type { HeldFor } from "./records.ts";

/** A hold of a process. */
export interface OwnedHold extends HeldFor {
  readonly holdId: string;
  readonly amount: number;
  readonly openedAtMs: number;
}

/** A hold that outlives its process: only the end of its line ends it. */
export interface ParkedHold extends OwnedHold {
  readonly accountNo: number;
}

/** Lines that a provider runs as a batch of its own. */
export interface ProviderBatch {
  /** With the number of a line, the line's id at the provider. */
  readonly id: string;
  readonly batchId: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** The id of the credential that it was sent with; the provider shows it to no other. */
  readonly credential: string;
  readonly lines: number;
  /** What its lines are charged by, as JSON; null if an earlier release has sent it. */
  readonly terms: string | null;
  /** Just before it was sent. */
  readonly createdAtMs: number;
  /** Its id at the provider; null while it is not known whether the provider has it. */
  readonly providerId: string | null;
  readonly isCancelled: boolean;
  /** How often it was looked at in vain. */
  readonly looks: number;
}

export interface LineAtProvider extends ClaimedLine {
  readonly holdId: string;
  /** Null if it has ended, and the line has not. */
  readonly hold: ParkedHold | null;
}

export interface ParkedAmount {
  readonly account: number;
  readonly own: number;
}

/** Lines that run at providers. Any process can settle them. */
export interface ProviderBatchRecords {
  /**
   * From now on the lines are the provider's, and their holds outlive this process. Call it before the batch is sent. False if this
   * process has lost the lines.
   */
  park(
    batch: Omit<ProviderBatch, "providerId" | "isCancelled" | "looks">,
    lines: readonly (OwnedLine & { readonly hold: OwnedHold })[],
    dueAtMs: number,
  ): Promise<boolean>;
  /** Notes that these lines only wait to be sent: a crash of this process is not theirs. */
  collected(batchId: string, lines: readonly number[], node: number): Promise<void>;
  /** What the open holds of lines at providers reserve in the account of a key, and how much of it is the key's own. */
  parkedAmount(keyId: string): Promise<ParkedAmount>;
  /** Notes the provider's id. False if the lines were given up meanwhile. */
  sent(id: string, providerId: string, dueAtMs: number): Promise<boolean>;
  /** The next one of these batches that is due, and not at these places (`provider/upstream_model`). No other process gets it before `untilMs`. */
  claimDue(
    batchIds: readonly string[],
    nowMs: number,
    untilMs: number,
    except: readonly string[],
  ): Promise<ProviderBatch | null>;
  /** When it is looked at again. `looks`: in vain so far. */
  postpone(id: string, dueAtMs: number, looks: number): Promise<void>;
  /** Lets all of a batch be looked at now: it was cancelled, or has expired. */
  hurry(batchId: string): Promise<void>;
  cancelled(id: string): Promise<void>;
  /** The ids among these that belong to a known batch. */
  known(providerIds: readonly string[]): Promise<readonly string[]>;
  /** Lines that wait for a result, after this one. */
  unsettled(id: string, afterNo: number, limit: number): Promise<readonly number[]>;
  /** Takes a line whose result has come; null if it has ended, or another process has it. */
  take(id: string, no: number, node: number): Promise<LineAtProvider | null>;
  /** The line waits for its result again. */
  giveBack(line: OwnedLine): Promise<void>;
  /** False while lines of it have not ended. */
  over(id: string): Promise<boolean>;
}
