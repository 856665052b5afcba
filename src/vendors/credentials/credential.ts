/** Authentication headers, names in lower case. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** A request before its credential is added: everything that a signature may cover. */
export interface UnsignedRequest {
  /** Default: POST. */
  readonly method?: "GET" | undefined;
  /** Host and port as in the `host` header. */
  readonly host: string;
  /** Path and query of the request. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

/** Something that a provider accepts: a key, a token, a pair of keys to sign with. Several share the conversations. */
export interface Credential {
  /** Unique within the provider and stable across restarts: a digest, never the secret itself. */
  readonly id: string;
  /** Begins its use by one request. */
  use(): CredentialUse;
}

/** The id of a credential that is the only one of its provider. */
export const onlyCredential = "only";

/** One request's use of a credential. */
export interface CredentialUse {
  /**
   * Null if the credential is available. Otherwise a promise to wait for before any other call, which rejects with a
   * `CredentialUnavailable`.
   */
  prepare(): Promise<void> | null;
  /** Returns one object as long as the headers do not change: composed heads are cached by it. */
  headers(): CredentialHeaders;
  /** Only for credentials that sign each request. Works synchronously, and its headers are added to the others. */
  sign?(request: UnsignedRequest): CredentialHeaders;
  /** The provider answered. */
  accepted(): void;
  /** The provider rejected it as expired. Returns true if a new one can be issued, so that the request can be retried. */
  expired(): boolean;
}

/** A credential that never changes, and that all requests use in the same way. */
export function fixedCredential(id: string, use: Pick<CredentialUse, "headers" | "sign">): Credential {
  const fixed: CredentialUse = { ...use, prepare: () => null, accepted: () => {}, expired: () => false };
  return { id, use: () => fixed };
}

/**
 * There is no credential at the moment, e.g. because the host that issues tokens is down. The message is a phrase for
 * the operator, and never quotes that host's response.
 */
export class CredentialUnavailable extends Error {
  override readonly name = "CredentialUnavailable";
}

/** A vendor's scheme for an API key: one header, the same for every request. */
export type KeyScheme = (apiKey: string) => CredentialHeaders;

export const bearer: KeyScheme = (apiKey) => ({ authorization: `Bearer ${apiKey}` });

/** By the names in the configuration's `auth`. */
export const keySchemes = {
  bearer,
  "x-api-key": (apiKey) => ({ "x-api-key": apiKey }),
  "api-key": (apiKey) => ({ "api-key": apiKey }),
} as const satisfies Readonly<Record<string, KeyScheme>>;

/** An API key as a credential. */
export function keyCredential(headers: CredentialHeaders): Credential {
  const id = Bun.SHA256.hash(Object.values(headers).join("\n"), "hex").slice(0, 16);
  return fixedCredential(id, { headers: () => headers });
}
