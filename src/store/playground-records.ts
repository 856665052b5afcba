/** A secret of the playground. It stands for a key until it expires or has spent its amount. */
export interface PlaygroundSecret {
  /** The SHA-256, in hex. */
  readonly hash: string;
  readonly keyId: string;
  readonly endsAtMs: number;
  /** The remaining amount: nano-credits for credit keys, tokens for token-budget keys. */
  readonly amountLeft: number;
}

/** All gateways of a store decide about the same amount, so that it is never spent twice. */
export interface PlaygroundRecords {
  /** Deletes those that have ended. */
  begin(secret: PlaygroundSecret, nowMs: number): Promise<void>;
  /** Null if there is none, or it has ended. */
  find(hash: string, nowMs: number): Promise<PlaygroundSecret | null>;
  /** Null if so much is left, and is now taken. Otherwise what is left. */
  take(hash: string, amount: number): Promise<number | null>;
  giveBack(hash: string, amount: number): Promise<void>;
}
