import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { modeOrigins } from "../../base/key-attributes.ts";
import { plural } from "../../base/text/plural.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import { hashSecret, hasKeyForm } from "../../keys/secret.ts";
import { unusableKeys } from "../../ledger/hold-errors.ts";
import type { RateVerdict } from "../../limits/bucket.ts";
import type { KeyRecord } from "../../store/store.ts";
import { AdmittedCall } from "../exchange/admitted-call.ts";
import { type ClientCall, type Route, urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { originReachedAt } from "./reached-at.ts";

/** Credential, key status, origin, and one token of the key's rate bucket, in this order. */
export async function admit(gateway: Gateway, exchange: Exchange): Promise<AdmittedCall> {
  const { keyId } = exchange.call;
  if (keyId !== undefined) return admitAgain(gateway, exchange, keyId);
  const key = await authenticate(gateway, exchange);
  assert(key !== null, "only the models are described without a key");
  enforceRateLimit(exchange, key, await gateway.rateLimits.take(key.id, key.rpmLimit));
  return new AdmittedCall(gateway, exchange, key);
}

/** A request that was admitted before, and whose key may have changed since. */
function admitAgain(gateway: Gateway, exchange: Exchange, keyId: string): AdmittedCall {
  const key = gateway.keys.byId(keyId);
  if (key === null) throw rejected("The API key has been deleted.");
  exchange.key = key;
  // What has run is charged to the hold that it has, whatever the key may do now.
  if (exchange.call.origin.earlier === null) checkKey(key, exchange.call, exchange);
  return new AdmittedCall(gateway, exchange, key);
}

/** Clients warm up once for a connection. */
const warmUpsPerMinute = 60;

/**
 * Admits a warm-up. It reaches no provider, so it takes no token of the key's rate bucket. It has a separate limit,
 * because it is read and checked.
 */
export async function admitWarmUp(gateway: Gateway, exchange: Exchange): Promise<AdmittedCall> {
  const key = await authenticate(gateway, exchange);
  assert(key !== null, "sockets need a key");
  const { allowed, retryAfterSeconds } = gateway.warmUps.take(key.id, warmUpsPerMinute);
  if (allowed) return new AdmittedCall(gateway, exchange, key);
  throw new GatewayError(
    "rate_limit_exceeded",
    `A key can send ${warmUpsPerMinute} requests with \`generate: false\` per minute. Retry in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
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

/** The key of a call, or null if none was sent and none is needed. Rejects otherwise; the exchange then has the key that was rejected. */
export async function authenticate(gateway: Gateway, exchange: Exchange): Promise<KeyRecord | null> {
  const { call, configured } = exchange;
  try {
    const presented = readCredential(call);
    if (presented === null) return null;
    const { secret, isTwice } = presented;
    const key = gateway.keys.find(secret) ?? (await findAfresh(gateway, exchange, secret));
    exchange.key = key;
    exchange.isSignIn = gateway.keys.signIns.use(key.id);
    if (isTwice && !exchange.isSignIn && configured.settings.server.sameKeyInBothHeaders !== "accept")
      throw sentTwice(call.route);
    checkKey(key, call, exchange);
    return key;
  } catch (error) {
    throw slowedDown(gateway, call, error);
  }
}

/**
 * Looks for a key in the store: another process may have created it a moment ago, or it is a secret of the playground,
 * which only the store knows. Anyone can make up a key of the right form, so an address that has failed too often
 * causes no lookup: gateways learn of a new key within a tenth of a second anyway.
 */
async function findAfresh(gateway: Gateway, exchange: Exchange, presented: string): Promise<KeyRecord> {
  const { keys } = gateway;
  const isPlausible = hasKeyForm(presented) && gateway.addressLimiter.wouldAllow(exchange.call.address);
  if (isPlausible) await gateway.catchUp();
  const key =
    keys.find(presented) ?? (isPlausible ? await findInPlayground(gateway, exchange, presented) : null);
  if (key !== null) return key;
  const token = keys.signIns.ofToken(presented);
  throw token === null ? rejected(unusableKeys.unknown_key[1]) : signInOver(token.problem ?? "ended");
}

/**
 * The key that a secret of the playground stands for. Such a secret can only send requests, and cannot reach what the
 * key has stored.
 */
async function findInPlayground(
  { keys, playground, clock }: Gateway,
  { call, taken }: Exchange,
  presented: string,
): Promise<KeyRecord | null> {
  const secret = await playground.find(hashSecret(presented), clock.wallMs());
  if (secret === null) return null;
  if (!call.route.isCharged) throw rejected("Playground keys cannot call this route.");
  taken.playground = { hash: secret.hash, taken: 0 };
  return keys.byId(secret.keyId);
}

/** Claude Code shows this after "Please run /login". */
export function signInOver(problem: "ended" | "expired" | "revoked" | "suspended"): GatewayError {
  const what = {
    ended: "Your sign-in has ended.",
    expired: "Your sign-in's access token has expired.",
    revoked: "The key of your sign-in has been revoked.",
    suspended: "The key of your sign-in is suspended.",
  };
  return rejected(
    `${what[problem]} Sign in again: \`/login\` in Claude Code, elsewhere \`sluice login URL --sign-in\`.`,
  );
}

/** Failed credentials are rate-limited by address. A valid key never is, even at a rate-limited address. */
function slowedDown(gateway: Gateway, call: ClientCall, error: unknown): unknown {
  if (!(error instanceof GatewayError && error.code === "invalid_credentials")) return error;
  const verdict = gateway.addressLimiter.take(call.address);
  if (verdict.allowed) return error;
  return new GatewayError(
    "rate_limit_exceeded",
    "Too many invalid credentials from this address. Wait, then retry.",
    {
      retryAfterSeconds: verdict.retryAfterSeconds,
    },
  );
}

interface Presented {
  readonly secret: string;
  /** In two places. */
  readonly isTwice: boolean;
}

/** The header for keys that clients may send to any route. */
const usualKeyHeader = "x-api-key";

function readCredential({ request, route }: ClientCall): Presented | null {
  const { keyHeader } = route;
  const authorization = request.headers.get("authorization");
  const inHeader = request.headers.get(keyHeader ?? usualKeyHeader);
  const inQuery = keysInQuery(request, route);
  const apiKey = inHeader ?? inQuery[0] ?? null;
  if (inQuery.some((other) => other !== apiKey))
    throw rejected("Two credentials were sent. Send one API key, once.");
  if (authorization !== null && apiKey !== null) {
    return { secret: onlyCredential(authorization, apiKey, route), isTwice: true };
  }
  if (apiKey !== null) {
    if (keyHeader !== null) return { secret: apiKey, isTwice: inQuery.length > (inHeader === null ? 1 : 0) };
    throw rejected(`This route does not accept \`${usualKeyHeader}\`. Send \`Authorization: Bearer <key>\`.`);
  }
  if (authorization !== null) return { secret: bearerToken(authorization), isTwice: false };
  if (!route.needsKey) return null;
  throw rejected(
    keyHeader === null
      ? "No API key was sent. Send `Authorization: Bearer <key>`."
      : `No API key was sent. Send \`Authorization: Bearer <key>\` or \`${keyHeader}: <key>\`.`,
  );
}

const choiceOf = ({ keyHeader }: Route) => `Send only one of \`Authorization: Bearer\` and \`${keyHeader}\``;

function keysInQuery(request: ClientCall["request"], { keyParameter }: Route): readonly string[] {
  return keyParameter === undefined ? none : urlOf({ request }).searchParams.getAll(keyParameter);
}

const none: readonly string[] = [];

/** The interface wants exactly one. Claude Code with `apiKeyHelper` sends the same key in both headers. */
function onlyCredential(authorization: string, apiKey: string, route: Route): string {
  if (route.keyHeader === null) {
    throw rejected("Two credentials were sent. Send only `Authorization: Bearer <key>`.");
  }
  if (bearerToken(authorization) !== apiKey) throw rejected(`Two credentials were sent. ${choiceOf(route)}.`);
  return apiKey;
}

function bearerToken(authorization: string): string {
  // The usual spelling first: it allocates nothing.
  if (!authorization.startsWith("Bearer ") && authorization.slice(0, 7).toLowerCase() !== "bearer ") {
    throw rejected("The Authorization header must be `Bearer <key>`.");
  }
  return authorization.slice(7).trim();
}

function checkKey(key: KeyRecord, { request, route }: ClientCall, { atMs, isSignIn }: Exchange): void {
  const status = effectiveStatus(key, atMs);
  if (isSignIn && (status === "revoked" || status === "suspended")) throw signInOver(status);
  if (status === "revoked" || status === "suspended") throw rejected(unusableKeys[status][1]);
  if (key.mode !== route.mode) throw rejected(wrongOrigin(key, originReachedAt(request)));
  if (status === "active") return;
  const [code, message] = unusableKeys[status];
  throw unusable(route, code, message);
}

function wrongOrigin({ mode }: KeyRecord, origin: string): string {
  const what = mode === "credit" ? "a credit key" : "a token-budget key";
  const base = `${origin}${modeOrigins[mode]}`;
  return `This is ${what}. Its base URL is ${base}/v1 (Anthropic and Google clients: ${base}).`;
}

/** The interface lists no 403 for the model list and the usage summary, so there it is a 401. */
function unusable(route: Route, code: "key_expired" | "key_disabled", message: string): GatewayError {
  return route.codes.includes(code) ? new GatewayError(code, message) : rejected(message);
}

function rejected(message: string): GatewayError {
  return new GatewayError("invalid_credentials", message);
}

const sentTwice = (route: Route) =>
  rejected(
    `The same key was sent twice. ${choiceOf(route)}. The gateway accepts both if its operator sets server.same_key_in_both_headers = "accept".`,
  );
