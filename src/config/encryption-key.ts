import type { LoadContext } from "./problems.ts";
import { readSecret } from "./secrets.ts";

const keyBytes = 32;

/** A problem also if it is not set: without it, what should be encrypted would not be. */
export function encryptionKeyAt(path: string, reference: string, context: LoadContext): Uint8Array | null {
  const found = readSecret(reference, context);
  const key = found.kind === "value" ? Buffer.from(found.value, "base64") : null;
  if (key?.length === keyBytes) return new Uint8Array(key);
  const expectation = "must be 32 bytes in base64, such as `openssl rand -base64 32` prints";
  if (found.kind === "unset") context.problems.addMissingSecret(path, found.reason);
  else context.problems.add(path, found.kind === "problem" ? found.message : expectation);
  return null;
}
