/** Requests to the checkpoint thread, one at a time. */
export type ToThread =
  | { readonly kind: "open"; readonly file: string }
  /** Copies the log into the database. Others may write meanwhile. */
  | { readonly kind: "copy" }
  /** Copies what was written meanwhile and restarts the log. Nothing else should write. */
  | { readonly kind: "restart" }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "done"; readonly log: LogState }
  /** The SQLite result code; empty for other errors. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** In frames: one page each. */
export interface LogState {
  readonly frames: number;
  readonly copied: number;
}
