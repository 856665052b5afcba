import {
  type Credential,
  type CredentialHeaders,
  fixedCredential,
  onlyCredential,
  type UnsignedRequest,
} from "../credentials/credential.ts";
import { issuedCredential } from "../credentials/token-credential.ts";
import type { TokenSource } from "../credentials/token-source.ts";
import { type AwsKey, RequestSigner, type SignedScope } from "./signature.ts";

/** A signature is made for each request, so nothing of it is in the headers that are kept. */
const nothing: CredentialHeaders = Object.freeze({});

/** Keys that do not change, from the configuration. */
export function fixedAwsCredential(key: AwsKey, scope: SignedScope): Credential {
  const signer = new RequestSigner(key, scope);
  return fixedCredential(onlyCredential, {
    headers: () => nothing,
    sign: (request) => signed(signer, request),
  });
}

/** Temporary keys, as roles and machines have them. */
export function issuedAwsCredential(source: TokenSource<AwsKey>, scope: SignedScope): Credential {
  const signers = new WeakMap<AwsKey, RequestSigner>();
  const signerOf = (key: AwsKey) => signers.getOrInsertComputed(key, () => new RequestSigner(key, scope));
  return issuedCredential(source, (key) => ({
    headers: () => nothing,
    sign: (request) => signed(signerOf(key()), request),
  }));
}

/** Only what AWS wants covered: proxies may change the others. */
function signed(signer: RequestSigner, request: UnsignedRequest): CredentialHeaders {
  const { method = "POST", host, target, headers, body } = request;
  const content = method === "GET" ? {} : { "content-type": headers["content-type"] ?? "application/json" };
  return signer.sign({ method, target, headers: { host, ...content }, body }, Date.now());
}
