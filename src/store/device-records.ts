/** A terminal that asks for a key of a person's own, until that person has decided about it on a page. */
export interface DeviceGrant {
  /** The SHA-256 of the device code, in hex. */
  readonly deviceHash: string;
  readonly userCode: string;
  /** Where the terminal asked from. */
  readonly address: string;
  /** What it calls itself; anybody could say that. */
  readonly device: string | null;
  readonly createdAtMs: number;
  readonly endsAtMs: number;
  /** `used`: its key was issued. */
  readonly state: "pending" | "approved" | "denied" | "used";
  /** Of the last poll; null before the first. */
  readonly polledAtMs: number | null;
  readonly intervalMs: number;
}

/** A key that ends with its owner's sign-in. */
export interface SignedInKey {
  readonly keyId: string;
  /** Who approved it, as JSON. */
  readonly identity: string;
}

export interface DeviceRecords {
  /** False if the user code is taken, or so many are open already. Forgets what ended before `forgetBeforeMs`. */
  begin(
    grant: Pick<DeviceGrant, "deviceHash" | "userCode" | "address" | "device" | "createdAtMs" | "endsAtMs">,
    terms: { readonly intervalMs: number; readonly max: number; readonly forgetBeforeMs: number },
  ): Promise<boolean>;
  findByDevice(deviceHash: string): Promise<DeviceGrant | null>;
  /** Only one that can still be decided about. */
  findPending(userCode: string, nowMs: number): Promise<DeviceGrant | null>;
  /** False if it was decided about before, or has ended. `identity` is who did, as JSON. */
  decide(
    userCode: string,
    decision: { readonly state: "approved" | "denied"; readonly identity: string; readonly nowMs: number },
  ): Promise<boolean>;
  recordPoll(deviceHash: string, polledAtMs: number, intervalMs: number): Promise<void>;
  /** Who approved it, for the one call that gets it; null for every other. */
  claim(deviceHash: string, nowMs: number): Promise<string | null>;
  bindKey(key: SignedInKey & { readonly person: string }): Promise<void>;
  /** What a person's sign-in says now takes the place of what it said when they approved. */
  updateIdentity(person: string, identity: string): Promise<void>;
  listBoundKeys(): Promise<readonly SignedInKey[]>;
  unbindKey(keyId: string): Promise<void>;
}
