import { type Credential, type CredentialHeaders, type CredentialUse, onlyCredential } from "./credential.ts";
import type { TokenSource } from "./token-source.ts";
import { TokenUse } from "./token-use.ts";

/** A token that is sent as headers. */
export interface HeaderToken {
  readonly headers: CredentialHeaders;
}

/** A credential whose headers are issued by a token host, and change every hour or so. */
export class TokenCredential implements Credential {
  readonly id = onlyCredential;
  readonly #source: TokenSource<HeaderToken>;

  constructor(source: TokenSource<HeaderToken>) {
    this.#source = source;
  }

  use(): CredentialUse {
    return new HeaderTokenUse(this.#source);
  }
}

class HeaderTokenUse extends TokenUse<HeaderToken> {
  headers(): CredentialHeaders {
    return this.token.headers;
  }
}
