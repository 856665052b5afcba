import type { KeyMode, StoredKeyStatus } from "./records.ts";

/** A terminal that requests a key or a sign-in, until a person decides on a page. */
export interface DeviceGrant {
  /** The SHA-256 of the device code, in hex. */
  readonly deviceHash: string;
  readonly userCode: string;
  /** The terminal's address. */
  readonly address: string;
  readonly purpose: "key" | "sign_in" | "operator";
  /** The name that the requesting program sent; not verified. */
  readonly client: string | null;
  /** The mode of the requested origin: each mode has its own. */
  readonly mode: KeyMode;
  /** The name it gave itself, unverified. */
  readonly device: string | null;
  readonly createdAtMs: number;
  readonly endsAtMs: number;
  /** `used`: its key was issued. */
  readonly state: "pending" | "approved" | "denied" | "used";
  /** The time of the last poll; null before the first. */
  readonly polledAtMs: number | null;
  readonly intervalMs: number;
}

/** A key that is valid as long as its owner can sign in. */
export interface SignedInKey {
  readonly keyId: string;
  /** The person who approved it, as JSON. */
  readonly identity: string;
  /** The status that the key had when its owner could no longer sign in; null while they can. */
  readonly statusBefore: StoredKeyStatus | null;
  /** Whether all sign-ins of that person use it. */
  readonly isForSignIns: boolean;
}

/** Includes the state of the key itself. */
export interface BoundKey extends SignedInKey {
  readonly prefix: string;
  readonly status: StoredKeyStatus;
}

export interface NewDeviceGrant extends Omit<DeviceGrant, "state" | "polledAtMs" | "intervalMs"> {
  /** The block of addresses that is limited together. */
  readonly addressBlock: string;
}

export interface DeviceGrantTerms {
  readonly intervalMs: number;
  /** Maximum number of requests that wait for a decision, in total and for one block of addresses. */
  readonly max: number;
  readonly maxPerBlock: number;
  /** Deletes what ended before. */
  readonly forgetBeforeMs: number;
}

export interface DeviceRecords {
  /** False if the user code is taken or too many requests are open. */
  begin(grant: NewDeviceGrant, terms: DeviceGrantTerms): Promise<boolean>;
  findByDevice(deviceHash: string): Promise<DeviceGrant | null>;
  /** Only a request that can still be decided. */
  findPending(userCode: string, nowMs: number): Promise<DeviceGrant | null>;
  /** False if it was already decided or has ended. `identity` is the person who decided, as JSON. */
  decide(
    userCode: string,
    decision: { readonly state: "approved" | "denied"; readonly identity: string; readonly nowMs: number },
  ): Promise<boolean>;
  recordPoll(deviceHash: string, polledAtMs: number, intervalMs: number): Promise<void>;
  /** The person who approved it, for the first call; null for every later one. */
  claim(deviceHash: string, nowMs: number): Promise<string | null>;
  bindKey(key: Pick<SignedInKey, "keyId" | "identity"> & { readonly person: string }): Promise<void>;
  /** Replaces the identity from the approval by the person's current one. */
  updateIdentity(person: string, identity: string): Promise<void>;
  /** All of them, or only this person's. */
  listBoundKeys(person?: string): Promise<readonly BoundKey[]>;
  /** Records that the owner can no longer sign in. Keeps the first status and time until `recordSignIn`. */
  recordLostSignIn(keyId: string, statusBefore: StoredKeyStatus, atMs: number): Promise<void>;
  /** Replaces the status that `recordLostSignIn` has recorded. False if nothing was recorded, or this status already. */
  replaceStatusBefore(keyId: string, status: StoredKeyStatus): Promise<boolean>;
  /** Records that the owner can sign in again. */
  recordSignIn(keyId: string): Promise<void>;
  /** Which of these keys end with a sign-in. */
  findBoundKeys(keyIds: readonly string[]): Promise<readonly SignedInKey[]>;
  unbindKey(keyId: string): Promise<void>;
}
