import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { plural } from "../../base/text/plural.ts";
import type { RateVerdict } from "../../limits/verdict.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { AdmittedCall } from "../stages.ts";
import { authenticate } from "./authenticate.ts";

/** Credential, key status, origin, and one token of the key's rate bucket, in this order. */
export async function admit(gateway: Gateway, exchange: Exchange): Promise<AdmittedCall> {
  const key = await authenticate(gateway, exchange);
  assert(key !== null, "only the models are described without a key");
  enforceRateLimit(exchange, key, await gateway.rateLimits.take(key.id, key.rpmLimit));
  return new AdmittedCall(gateway, exchange, key);
}

/** For the routes that also serve callers without a key. */
export async function admitOptional(gateway: Gateway, exchange: Exchange): Promise<KeyRecord | null> {
  const key = await authenticate(gateway, exchange);
  if (key === null) takeAddressToken(gateway, exchange.call.address);
  else enforceRateLimit(exchange, key, await gateway.rateLimits.take(key.id, key.rpmLimit));
  return key;
}

function enforceRateLimit(exchange: Exchange, { rpmLimit }: KeyRecord, verdict: RateVerdict): void {
  exchange.rate = verdict;
  if (verdict.allowed) return;
  throw new GatewayError(
    "rate_limit_exceeded",
    `The key's limit of ${plural(rpmLimit ?? 0, "request", "requests", String)} per minute is exceeded. Retry in ${verdict.retryAfterSeconds} s.`,
    { retryAfterSeconds: verdict.retryAfterSeconds },
  );
}

function takeAddressToken(gateway: Gateway, address: string): void {
  const verdict = gateway.addressLimiter.take(address);
  if (verdict.allowed) return;
  throw new GatewayError(
    "rate_limit_exceeded",
    "Too many requests without a key from this address. Retry later, or send an API key.",
    {
      retryAfterSeconds: verdict.retryAfterSeconds,
    },
  );
}
