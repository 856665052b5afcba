import { BlockList, isIP } from "node:net";
import type { Clock } from "../base/clock.ts";
import {
  type Bucket,
  fullBucket,
  hasTokens,
  type RateVerdict,
  resize,
  takeTokens,
  verdictOf,
} from "./bucket.ts";

/** Proxies whose `X-Forwarded-For` is trusted. */
export type TrustedProxies = BlockList;

/** Addresses and CIDR ranges. Invalid entries are skipped here and reported by the config check. */
export function trustedProxies(ranges: readonly string[]): TrustedProxies {
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return list;
}

/** The trusted proxies; rebuilt after a reload has replaced the ranges. */
export function currentProxies(ranges: () => readonly string[]): () => TrustedProxies {
  let known = ranges();
  let list = trustedProxies(known);
  return () => {
    const now = ranges();
    if (now !== known) {
      known = now;
      list = trustedProxies(now);
    }
    return list;
  };
}

function addRange(list: BlockList, range: string): void {
  const [address = "", length, ...rest] = range.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return;
  const most = version === 6 ? 128 : 32;
  const bits = length === undefined ? most : Number(length);
  if (bits > most || (length !== undefined && !/^\d{1,3}$/.test(length))) return;
  list.addSubnet(address, bits, version === 6 ? "ipv6" : "ipv4");
}

/**
 * The client's address. `X-Forwarded-For` grows to the right, one entry per proxy, and the client controls its left
 * part. So it is read from the right while the sender of an entry is trusted: the first address that is not a trusted
 * proxy is the client. An entry that is not an address stops the search at the proxy that sent it.
 */
export function clientAddress(peer: string, forwardedFor: string | null, trusted: TrustedProxies): string {
  let address = plainAddress(peer) ?? peer;
  if (forwardedFor === null || !isTrusted(address, trusted)) return address;
  const entries = forwardedFor.split(",");
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const entry = plainAddress((entries[index] ?? "").trim());
    if (entry === null) return address;
    address = entry;
    if (!isTrusted(address, trusted)) return address;
  }
  return address;
}

export function isTrusted(peer: string, trusted: TrustedProxies): boolean {
  const address = plainAddress(peer) ?? peer;
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80` and `::ffff:1.2.3.4` as a bare address; null for anything else. */
function plainAddress(text: string): string | null {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  const withPort = /^([\d.]+):\d+$/.exec(text)?.[1];
  const address = bracketed ?? withPort ?? text;
  if (isIP(address) === 0) return null;
  return mappedIPv4(address) ?? address.toLowerCase();
}

/** The IPv4 address in `::ffff:1.2.3.4` or `::ffff:102:304`; null for any other address. */
function mappedIPv4(address: string): string | null {
  const [, dotted, high = "", low = ""] =
    /^::ffff:(?:([\d.]+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i.exec(address) ?? [];
  if (dotted !== undefined) return dotted;
  if (high === "") return null;
  const [upper, lower] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 0xff, lower >> 8, lower & 0xff].join(".");
}

/**
 * What counts as one caller: a single IPv4 address, but a whole /64 of IPv6, because a household or a rented machine
 * is assigned that much and could otherwise rotate through it.
 */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(missing).fill("0"), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

const defaultMaxEntries = 10_000;

/**
 * For callers without a key: failed credentials and the public catalog. A caller may use many addresses, so memory
 * is bounded: the least recently seen address is evicted first.
 */
export class AddressLimiter {
  readonly #clock: Clock;
  /** May be changed at any time; buckets keep their fill in proportion. */
  rpm: number;
  readonly #maxEntries: number;
  /** Ordered by last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, rpm: number, maxEntries = defaultMaxEntries) {
    this.#clock = clock;
    this.rpm = rpm;
    this.#maxEntries = maxEntries;
  }

  take(address: string): RateVerdict {
    const nowMs = this.#clock.monotonicMs();
    const block = addressBlock(address);
    const bucket = this.#buckets.get(block) ?? fullBucket(this.rpm, nowMs);
    if (bucket.capacity !== this.rpm) resize(bucket, this.rpm);
    this.#buckets.delete(block);
    this.#buckets.set(block, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > this.#maxEntries && oldest !== undefined) this.#buckets.delete(oldest);
    return verdictOf(bucket, takeTokens(bucket, nowMs));
  }

  /** Whether `take` would be allowed now. Takes nothing. */
  wouldAllow(address: string): boolean {
    const bucket = this.#buckets.get(addressBlock(address));
    return bucket === undefined || hasTokens(bucket, this.#clock.monotonicMs());
  }

  get size(): number {
    return this.#buckets.size;
  }
}
