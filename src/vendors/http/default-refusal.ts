import { type Refusal, readRefusal } from "../../dialects/errors/refusal.ts";
import type { RefusedAnswer, VendorRefusal } from "../provider.ts";
import { retryAfterMs } from "./retry-after.ts";

/** The errors of most vendors: one of the known envelopes, and Retry-After as a header. */
export function readDefaultRefusal({ head, text, receivedAtMs }: RefusedAnswer): VendorRefusal {
  const refusal = readRefusal(head.status, head.get("content-type"), text);
  return {
    ...refusal,
    ...(head.status === 400 && isAboutProofs(refusal) ? { about: "proofs" } : {}),
    retryAfterMs: retryAfterMs(head, receivedAtMs),
  };
}

/** Google's, Anthropic's and OpenAI's words for reasoning that they do not recognise. */
const refusedProof =
  /(?:invalid|corrupt\w*) thought.?signature|thought.?signature (?:is )?(?:invalid|not valid|corrupt)|invalid `?signature`? in `?thinking/i;

function isAboutProofs({ message, code }: Refusal): boolean {
  return code === "invalid_encrypted_content" || refusedProof.test(message);
}
