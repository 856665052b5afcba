import { assert } from "../../base/assert.ts";
import { type Credential, type CredentialHeaders, type CredentialUse, onlyCredential } from "./credential.ts";
import type { TokenSource } from "./token-source.ts";

/** A token that is sent as headers. */
export interface HeaderToken {
  readonly headers: CredentialHeaders;
}

/** A temporary credential. A request uses the current token, or one that it has waited for. */
export function issuedCredential<Token extends object>(
  source: TokenSource<Token>,
  using: (token: () => Token) => Pick<CredentialUse, "headers" | "sign">,
): Credential {
  const use = (): CredentialUse => {
    let token = source.current();
    const wait = async () => {
      token = await source.get();
    };
    const waitedFor = () => {
      assert(token !== null, "the token was waited for");
      return token;
    };
    return {
      ...using(waitedFor),
      prepare: () => (token === null ? wait() : null),
      accepted: () => void (token !== null && source.accepted(token)),
      expired: () => token !== null && source.expired(token),
    };
  };
  return { id: onlyCredential, use };
}

/** A credential whose headers are issued by a token host, and change every hour or so. */
export function tokenCredential(source: TokenSource<HeaderToken>): Credential {
  return issuedCredential(source, (token) => ({ headers: () => token().headers }));
}
