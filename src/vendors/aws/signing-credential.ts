import {
  type Credential,
  type CredentialHeaders,
  type CredentialUse,
  onlyCredential,
  type UnsignedRequest,
} from "../credentials/credential.ts";
import type { TokenSource } from "../credentials/token-source.ts";
import { TokenUse } from "../credentials/token-use.ts";
import { type AwsKey, RequestSigner, type SignedScope } from "./signature.ts";

/** A signature is made for each request, so nothing of it is in the headers that are kept. */
const nothing: CredentialHeaders = Object.freeze({});

/** Keys that do not change, from the configuration. */
export class StaticAwsCredential implements Credential, CredentialUse {
  readonly id = onlyCredential;
  readonly #signer: RequestSigner;

  constructor(key: AwsKey, scope: SignedScope) {
    this.#signer = new RequestSigner(key, scope);
  }

  use(): CredentialUse {
    return this;
  }

  prepare(): null {
    return null;
  }

  headers(): CredentialHeaders {
    return nothing;
  }

  sign(request: UnsignedRequest): CredentialHeaders {
    return signed(this.#signer, request);
  }

  accepted(): void {}

  expired(): boolean {
    return false;
  }
}

/** Temporary keys, as roles and machines have them. */
export class IssuedAwsCredential implements Credential {
  readonly id = onlyCredential;
  readonly #source: TokenSource<AwsKey>;
  readonly #scope: SignedScope;
  readonly #signers = new WeakMap<AwsKey, RequestSigner>();

  constructor(source: TokenSource<AwsKey>, scope: SignedScope) {
    this.#source = source;
    this.#scope = scope;
  }

  use(): CredentialUse {
    return new IssuedUse(this.#source, (key) => this.#signerOf(key));
  }

  #signerOf(key: AwsKey): RequestSigner {
    let signer = this.#signers.get(key);
    if (signer === undefined) {
      signer = new RequestSigner(key, this.#scope);
      this.#signers.set(key, signer);
    }
    return signer;
  }
}

class IssuedUse extends TokenUse<AwsKey> {
  readonly #signerOf: (key: AwsKey) => RequestSigner;

  constructor(source: TokenSource<AwsKey>, signerOf: (key: AwsKey) => RequestSigner) {
    super(source);
    this.#signerOf = signerOf;
  }

  headers(): CredentialHeaders {
    return nothing;
  }

  sign(request: UnsignedRequest): CredentialHeaders {
    return signed(this.#signerOf(this.token), request);
  }
}

/** Only what AWS wants covered: proxies may change the others. */
function signed(signer: RequestSigner, { host, target, headers, body }: UnsignedRequest): CredentialHeaders {
  const covered = { host, "content-type": headers["content-type"] ?? "application/json" };
  return signer.sign({ method: "POST", target, headers: covered, body }, Date.now());
}
