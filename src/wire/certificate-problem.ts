import { systemCode } from "../base/system/system-code.ts";

const notTrusted =
  "is from an authority that this machine does not trust; to trust it, set NODE_EXTRA_CA_CERTS to its certificate file";
const selfSigned = "is self-signed; to trust it, set NODE_EXTRA_CA_CERTS to its file";

/** By the code with which OpenSSL's verification ends. */
const problems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired; renew it, or correct this machine's clock",
  CERT_NOT_YET_VALID: "is not valid yet; check this machine's clock",
  CERT_REVOKED: "has been revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for a different host",
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: selfSigned,
  UNABLE_TO_GET_ISSUER_CERT: notTrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: notTrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: notTrusted,
};

export interface CertificateProblem {
  readonly isExpired: boolean;
  /** The end of a sentence that begins with the certificate. */
  readonly message: string;
}

/** The problem with a server's certificate, if a connection failed because of it; null if that was not the cause. */
export function certificateProblem(error: unknown): CertificateProblem | null {
  const code = systemCode(error) ?? "";
  const message = problems[code];
  return message === undefined ? null : { isExpired: code === "CERT_HAS_EXPIRED", message };
}
