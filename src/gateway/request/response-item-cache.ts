import type { Clock } from "../../base/clock.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { dialectOf } from "../../dialects/schema/validate.ts";
import { ClientRequest, checkRequest, type Expected } from "./request.ts";

const lifetimeMs = 60 * 60_000;
const mostBytes = 32 * 1024 * 1024;
const largestBytes = 1024 * 1024;

interface CachedItem {
  readonly json: string;
  readonly atMs: number;
}

/**
 * The items of translated Responses answers. Clients that leave `store` at its default, such as the AI SDK, refer to an
 * earlier item by its id instead of sending it again. A provider of another dialect stores no items, so the gateway caches
 * them in memory for an hour: long enough for an agent's loop. With `store: false` nothing is cached.
 */
export class ResponseItemCache {
  readonly #clock: Clock;
  /** By key and id, oldest first. */
  readonly #items = new Map<string, CachedItem>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(keyId: string, items: readonly string[]): void {
    const atMs = this.#clock.monotonicMs();
    for (const json of items) {
      const id = json.length > largestBytes ? null : idOf(json);
      if (id === null) continue;
      const name = nameOf(keyId, id);
      this.#forget(name);
      this.#items.set(name, { json, atMs });
      this.#bytes += json.length;
    }
    this.#makeRoom(atMs);
  }

  find(keyId: string, id: string): JsonObject | null {
    const kept = this.#items.get(nameOf(keyId, id));
    if (kept === undefined || kept.atMs < this.#clock.monotonicMs() - lifetimeMs) return null;
    return JSON.parse(kept.json);
  }

  #makeRoom(atMs: number): void {
    for (const [name, kept] of this.#items) {
      if (this.#bytes <= mostBytes && kept.atMs >= atMs - lifetimeMs) return;
      this.#forget(name);
    }
  }

  #forget(name: string): void {
    this.#bytes -= this.#items.get(name)?.json.length ?? 0;
    this.#items.delete(name);
  }
}

function nameOf(keyId: string, id: string): string {
  return `${keyId} ${id}`;
}

/** The gateway writes an item's id before its text, which may be long. Matching it avoids parsing the text. */
const leadingId = /^\{(?:"(?:type|status|role)":"\w+",)*"id":"([^"\\]+)"/;

function idOf(json: string): string | null {
  const leading = leadingId.exec(json)?.[1];
  if (leading !== undefined) return leading;
  const item: Json = JSON.parse(json);
  return isObject(item) && typeof item["id"] === "string" ? item["id"] : null;
}

/** The request with references replaced by the cached items; the same object if nothing was replaced. */
export function withCachedItems(
  request: ClientRequest,
  expected: Expected,
  cache: ResponseItemCache,
  keyId: string,
): ClientRequest {
  if (request.mentions.references.length === 0) return request;
  const { resolveReferences } = clientDialect(dialectOf(expected.kind));
  if (resolveReferences === undefined) return request;
  const resolved = resolveReferences(request.body, (id) => cache.find(keyId, id));
  if (resolved === request.body) return request;
  const bytes = Buffer.from(JSON.stringify(resolved));
  return new ClientRequest(bytes, checkRequest(bytes, expected));
}
