/** A request to the checkpoint thread, which replies with the current state of the log. */
export type CheckpointStep =
  | { readonly kind: "open"; readonly file: string }
  /** Copies the log into the database. Others may write meanwhile. */
  | { readonly kind: "copy" }
  /** Copies what was written meanwhile and restarts the log. Nothing else should write. */
  | { readonly kind: "restart" }
  | { readonly kind: "close" };

/** In frames: one page each. */
export interface LogState {
  readonly frames: number;
  readonly copied: number;
}
