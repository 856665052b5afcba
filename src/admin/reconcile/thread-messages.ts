import type { AttemptSums } from "../../store/store.ts";
import type { FetchedDays } from "./fetch-report.ts";
import type { LedgerSide } from "./reconciliation.ts";

/** Sent in this order: the request's body, the ledger's totals page by page, then `compare`. */
export type ReconcileMessage =
  | { readonly type: "read"; readonly body: Uint8Array }
  | { readonly type: "attempts"; readonly attempts: readonly AttemptSums[] }
  | ({ readonly type: "compare" } & Omit<LedgerSide, "attempts">);

/** The comparison that the body requests. */
export interface RequestedReconciliation extends FetchedDays {
  readonly provider: string;
  readonly from: string;
  readonly to: string;
}

export interface ComparisonResult {
  /** A `ReconciliationView` as JSON. */
  readonly json: Uint8Array<ArrayBuffer>;
  readonly rows: number;
  readonly differing: number;
}

/** An expected error, which crosses threads as plain data. */
export interface FailedReconciliation {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | undefined;
}

export type ReconcileReply =
  | { readonly type: "request"; readonly request: RequestedReconciliation }
  | { readonly type: "taken" }
  | { readonly type: "compared"; readonly compared: ComparisonResult }
  | { readonly type: "rejected"; readonly rejected: FailedReconciliation };
