/** Identifies a background response. */
export interface BackgroundPlan {
  /** The response's id, which its client gets before a provider responds. */
  readonly id: string;
  /** The client reads its events, now or later. */
  readonly isStreamed: boolean;
}

/** A request for one. */
export interface BackgroundRequest extends BackgroundPlan {
  /** The body as the client sent it. */
  readonly sent: Uint8Array;
}
