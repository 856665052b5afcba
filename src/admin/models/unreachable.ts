import { systemCode } from "../../base/system/system-code.ts";
import { CredentialUnavailable } from "../../vendors/credentials/credential.ts";
import { certificateProblem } from "../../wire/certificate-problem.ts";

/** Why a provider did not respond, and what to do. */
export function unreachableText(error: unknown, timeoutMs: number): string {
  if (error instanceof CredentialUnavailable) return `no credential: ${error.message}`;
  if (error instanceof Error && error.name === "TimeoutError")
    return `no response within ${timeoutMs / 1000} s; check base_url and the network, then try again`;
  const certificate = certificateProblem(error);
  if (certificate !== null) return `its certificate ${certificate.message}`;
  const code = systemCode(error);
  return `cannot be reached${code === null ? "" : ` (${code})`}; check base_url and the network`;
}
