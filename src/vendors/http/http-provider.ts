import { assert } from "../../base/assert.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import { FetchTransfer } from "../../wire/fetch-transfer.ts";
import { type Dial, HttpClient, type ServerAddress } from "../../wire/http-client.ts";
import { isBehindProxy } from "../../wire/proxy.ts";
import type { Receiver, Transfer } from "../../wire/transfer.ts";
import type { StaticCredential } from "../credentials/static-header.ts";
import type { Prepared, Provider, RefusedAnswer, VendorRefusal } from "../provider.ts";
import type { ProviderSettings } from "../settings.ts";
import { readDefaultRefusal } from "./default-refusal.ts";

/** What differs between vendors that are called over HTTP. */
export interface HttpVendorOptions {
  /** Appended to the base URL, which is written as the vendor's SDK takes it. */
  readonly pathPrefix: string;
  readonly credential: StaticCredential;
  /** The request's target below the base URL, if it is not the dialect's default. */
  target?(prepared: Prepared): string;
  /** Reads the vendor's errors, if it does not use the usual formats. */
  readRefusal?(answer: RefusedAnswer): VendorRefusal;
}

/**
 * Turns off what `fetch` does by default: deadlines, decompression and redirects are handled elsewhere, and its
 * connection pool would be shared by all callers.
 */
const fetchOptions = { timeout: false, decompress: false, redirect: "manual", keepalive: false } as const;

/** Clients mostly send the same few header values, but may send arbitrary ones. */
const maxCachedHeads = 32;

type HeadsByKey = Map<string | null, Map<string, string>>;

export class HttpProvider implements Provider {
  readonly settings: ProviderSettings;
  readonly #base: URL;
  /** Null behind a proxy, which only `fetch` supports. */
  readonly #client: HttpClient | null;
  readonly #options: HttpVendorOptions;
  /** The headers that do not depend on the request, by API key. */
  readonly #fixedHeaders = new Map<string | null, Record<string, string>>();
  /** Request heads by dialect and target, API key, and forwarded headers; there are as many targets as the configuration has. */
  readonly #heads = new Map<ProviderDialectName, Map<string, HeadsByKey>>();

  constructor(settings: ProviderSettings, options: HttpVendorOptions, dial?: Dial) {
    this.settings = settings;
    this.#options = options;
    this.#base = new URL(settings.baseUrl + options.pathPrefix);
    this.#client = isBehindProxy(this.#base)
      ? null
      : new HttpClient(addressOf(this.#base), dial === undefined ? {} : { dial });
  }

  url(prepared: Prepared): string {
    return this.#base.origin + this.#path(this.#target(prepared));
  }

  headers(prepared: Prepared, apiKey: string | null): Record<string, string> {
    return { ...providerDialect(prepared.dialect).requestHeaders(prepared.headers), ...this.#fixed(apiKey) };
  }

  send(prepared: Prepared, apiKey: string | null, receiver: Receiver, caller: string): Transfer {
    if (this.#client === null) return this.#sendByProxy(prepared, apiKey, receiver);
    return this.#client.send(this.#head(prepared, apiKey), prepared.body, receiver, caller);
  }

  readRefusal(answer: RefusedAnswer): VendorRefusal {
    return this.#options.readRefusal?.(answer) ?? readDefaultRefusal(answer);
  }

  #sendByProxy(prepared: Prepared, apiKey: string | null, receiver: Receiver): Transfer {
    const { body } = prepared;
    const init = { method: "POST", headers: this.headers(prepared, apiKey), body, ...fetchOptions };
    return new FetchTransfer((signal) => fetch(this.url(prepared), { ...init, signal }), receiver);
  }

  #target(prepared: Prepared): string {
    return this.#options.target?.(prepared) ?? defaultTarget(prepared);
  }

  #path(target: string): string {
    return this.#base.pathname.replace(/\/$/, "") + target;
  }

  #head(prepared: Prepared, apiKey: string | null): string {
    const target = this.#target(prepared);
    const heads = this.#headsOf(prepared.dialect, target, apiKey);
    const key = linesOf(prepared.headers);
    let head = heads.get(key);
    if (head === undefined) {
      head = this.#composeHead(target, prepared, apiKey);
      if (heads.size >= maxCachedHeads) heads.clear();
      heads.set(key, head);
    }
    return head;
  }

  #headsOf(dialect: ProviderDialectName, target: string, apiKey: string | null): Map<string, string> {
    let byTarget = this.#heads.get(dialect);
    if (byTarget === undefined) {
      byTarget = new Map();
      this.#heads.set(dialect, byTarget);
    }
    let byKey = byTarget.get(target);
    if (byKey === undefined) {
      byKey = new Map();
      byTarget.set(target, byKey);
    }
    let heads = byKey.get(apiKey);
    if (heads === undefined) {
      heads = new Map();
      byKey.set(apiKey, heads);
    }
    return heads;
  }

  #composeHead(target: string, prepared: Prepared, apiKey: string | null): string {
    let head = `POST ${this.#path(target)} HTTP/1.1\r\nhost: ${this.#base.host}\r\n`;
    const headers = this.headers(prepared, apiKey);
    for (const name in headers) head += headerLine(name, headers[name] ?? "");
    return head;
  }

  #fixed(apiKey: string | null): Record<string, string> {
    let fixed = this.#fixedHeaders.get(apiKey);
    if (fixed === undefined) {
      fixed = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "accept-encoding": "identity",
        "user-agent": "sluice",
        ...(apiKey === null ? {} : this.#options.credential(apiKey)),
        ...lowerCased(this.settings.headers),
      };
      this.#fixedHeaders.set(apiKey, fixed);
    }
    return fixed;
  }
}

function defaultTarget({ dialect, purpose }: Prepared): string {
  const { paths } = providerDialect(dialect);
  if (purpose === "generate") return paths.generate;
  assert(paths.countTokens !== null, `${dialect} has no request that counts tokens`);
  return paths.countTokens;
}

function linesOf(headers: ForwardedHeaders): string {
  let lines = "";
  for (const name in headers) lines += `${name}: ${headers[name]}\n`;
  return lines;
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/**
 * Prevents header injection: by a line end, or by a character beyond Latin-1, of which only the lower byte is sent.
 */
const unsendable = /[\0\r\n\u0100-\uffff]/;

function headerLine(name: string, value: string): string {
  if (unsendable.test(name + value)) throw new TypeError(`The header ${name} cannot be sent as it is.`);
  return `${name}: ${value}\r\n`;
}

function addressOf({ protocol, hostname, port }: URL): ServerAddress {
  const isSecure = protocol === "https:";
  return {
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  };
}
