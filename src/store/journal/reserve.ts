/** Space set aside so that running requests can still be charged when the disk is full. */
export interface Reserve {
  /** While the reserve is spent, the journal is unhealthy and the gateway accepts no requests. */
  readonly isSpent: boolean;
  /** Frees the space. False if there is none to free. */
  spend(): boolean;
}
