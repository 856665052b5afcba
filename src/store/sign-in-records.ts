/** Why a sign-in has ended. */
export const signInEndReasons = [
  ...(["signed_out", "revoked", "reused", "replaced"] as const),
  ...(["no_role", "key_revoked", "unused", "too_old"] as const),
] as const;
export type SignInEndReason = (typeof signInEndReasons)[number];

export interface AccessToken {
  /** The SHA-256, in hex. */
  readonly hash: string;
  readonly endsAtMs: number;
}

/** A program that a person has signed in, such as a coding agent. It uses the key of that person. */
export interface SignIn {
  readonly id: string;
  readonly keyId: string;
  /** The name that the person's keys are bound to. */
  readonly person: string;
  /** The person, for display. */
  readonly name: string;
  /** The names that the program sent for itself and its machine. Neither is verified. */
  readonly client: string | null;
  readonly device: string | null;
  readonly address: string;
  readonly beganAtMs: number;
  /** When its refresh token was last used. */
  readonly usedAtMs: number;
  readonly endedAtMs: number | null;
  readonly endReason: SignInEndReason | null;
  /** Access tokens that are valid or have just expired. */
  readonly access: readonly AccessToken[];
}

/** The state for refreshing its tokens. */
export interface RefreshState {
  readonly refreshHash: string;
  /** The previous refresh token, and its response, encrypted; null before the first refresh. */
  readonly formerHash: string | null;
  readonly formerResponse: string | null;
}

export interface RefreshableSignIn extends SignIn, RefreshState {}

export interface NewSignIn extends Omit<SignIn, "endedAtMs" | "endReason"> {
  /** The hash of what all refresh tokens of this sign-in have in common. */
  readonly familyHash: string;
  readonly refreshHash: string;
}

export interface SignInTerms {
  /** Maximum number of a person's open sign-ins; the longest unused one ends. */
  readonly maxPerPerson: number;
  /** Deletes what has ended, or was last used, before. */
  readonly forgetBeforeMs: number;
}

/** Each change raises the store's revision, so that every gateway has it within a tenth of a second. */
export interface SignInRecords {
  /** Returns those that it has replaced. */
  begin(signIn: NewSignIn, terms: SignInTerms): Promise<readonly SignIn[]>;
  findByFamily(familyHash: string): Promise<RefreshableSignIn | null>;
  /** False if it has ended, or `refreshHash` is not its refresh token any more. */
  refresh(
    id: string,
    refreshHash: string,
    next: RefreshState & Pick<SignIn, "usedAtMs" | "access">,
  ): Promise<boolean>;
  /** Returns those that had not ended. */
  end(ids: readonly string[], reason: SignInEndReason, atMs: number): Promise<readonly SignIn[]>;
  /** The latest first; all of them, or only this person's. */
  list(person?: string): Promise<readonly SignIn[]>;
  /** Takes the person's key if they have none yet. Returns the key's id. */
  bindKey(bound: {
    readonly keyId: string;
    readonly person: string;
    readonly identity: string;
  }): Promise<string>;
  /** The key that the person's sign-ins use; null before the first. */
  findKeyId(person: string): Promise<string | null>;
}
