import { readRefusal } from "../../dialects/errors/refusal.ts";
import type { RefusedAnswer, VendorRefusal } from "../provider.ts";
import { retryAfterMs } from "./retry-after.ts";

/** The errors of most vendors: one of the known envelopes, and Retry-After as a header. */
export function readDefaultRefusal({ head, text, receivedAtMs }: RefusedAnswer): VendorRefusal {
  const refusal = readRefusal(head.status, head.get("content-type"), text);
  return {
    ...refusal,
    ...(head.status === 400 && refusal.refusesProofs === true ? { about: "proofs" } : {}),
    retryAfterMs: retryAfterMs(head, receivedAtMs),
  };
}
