/** Space set aside so that running requests can still be charged when the disk is full. */
export interface Reserve {
  /** While it is spent the journal is unhealthy, so that no new work begins. */
  readonly isSpent: boolean;
  /** Frees the space. False if there is none to free. */
  spend(): boolean;
}
