import type { ProviderSettings } from "../config/settings.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import { providerDialect } from "../dialects/registry.ts";
import { FetchTransfer } from "../wire/fetch-transfer.ts";
import { type Dial, HttpClient, type Target } from "../wire/http-client.ts";
import { isBehindProxy } from "../wire/proxy.ts";
import type { Receiver, Transfer } from "../wire/transfer.ts";
import type { Operation, Prepared, Provider } from "./provider.ts";

/** In what vendors differ when they are called over HTTP. */
export interface Vendor {
  /** What the base URL, as the vendor's own SDK takes it, still lacks. */
  readonly pathPrefix: string;
  credential(apiKey: string): Record<string, string>;
}

const paths: Readonly<Record<Operation, string>> = {
  chat: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
  count_tokens: "/messages/count_tokens",
};

/**
 * Nothing that `fetch` would do of its own accord: deadlines, decompression and redirects are decided elsewhere, and
 * the connections that it keeps would be shared by all callers.
 */
const likeTheWire = { timeout: false, decompress: false, redirect: "manual", keepalive: false } as const;

/** Clients forward the same few values again and again, and may forward whatever they like. */
const mostHeads = 32;

/** Where one operation is asked for. */
interface Address {
  readonly url: string;
  /** The beginning of every request to it. */
  readonly requestLine: string;
}

export class HttpProvider implements Provider {
  readonly settings: ProviderSettings;
  readonly #addresses: Readonly<Record<Operation, Address>>;
  /** Null where the way leads through a proxy, which `fetch` knows how to talk to. */
  readonly #client: HttpClient | null;
  readonly #vendor: Vendor;
  /** The part of the headers that does not depend on the call, by API key. */
  readonly #fixedHeaders = new Map<string | null, Record<string, string>>();
  /** Whole heads, by operation, API key and what is forwarded of the client's. */
  readonly #heads: Readonly<Record<Operation, Map<string | null, Map<string, string>>>> = {
    chat: new Map(),
    responses: new Map(),
    messages: new Map(),
    count_tokens: new Map(),
  };

  constructor(settings: ProviderSettings, vendor: Vendor, dial?: Dial) {
    this.settings = settings;
    this.#vendor = vendor;
    const base = new URL(settings.baseUrl + vendor.pathPrefix);
    const addressOf = (operation: Operation): Address => {
      const path = base.pathname.replace(/\/$/, "") + paths[operation];
      return { url: base.origin + path, requestLine: `POST ${path} HTTP/1.1\r\nhost: ${base.host}\r\n` };
    };
    this.#addresses = {
      chat: addressOf("chat"),
      responses: addressOf("responses"),
      messages: addressOf("messages"),
      count_tokens: addressOf("count_tokens"),
    };
    this.#client = isBehindProxy(base)
      ? null
      : new HttpClient(targetOf(base), dial === undefined ? {} : { dial });
  }

  url(operation: Operation): string {
    return this.#addresses[operation].url;
  }

  headers(operation: Operation, apiKey: string | null, forwarded: ForwardedHeaders): Record<string, string> {
    const fixed = this.#fixed(apiKey);
    const dialect = providerDialect(operation === "count_tokens" ? "messages" : operation);
    return { ...dialect.requestHeaders(forwarded), ...fixed };
  }

  send(prepared: Prepared, apiKey: string | null, receiver: Receiver, caller: string): Transfer {
    const { operation, headers, body } = prepared;
    if (this.#client === null) return this.#sendByProxy(prepared, apiKey, receiver);
    return this.#client.send(this.#head(operation, apiKey, headers), body, receiver, caller);
  }

  #sendByProxy({ operation, headers, body }: Prepared, apiKey: string | null, receiver: Receiver): Transfer {
    const init = { method: "POST", headers: this.headers(operation, apiKey, headers), body, ...likeTheWire };
    return new FetchTransfer((signal) => fetch(this.url(operation), { ...init, signal }), receiver);
  }

  #head(operation: Operation, apiKey: string | null, forwarded: ForwardedHeaders): string {
    let heads = this.#heads[operation].get(apiKey);
    if (heads === undefined) {
      heads = new Map();
      this.#heads[operation].set(apiKey, heads);
    }
    const key = linesOf(forwarded);
    let head = heads.get(key);
    if (head === undefined) {
      head = this.#composeHead(operation, apiKey, forwarded);
      if (heads.size >= mostHeads) heads.clear();
      heads.set(key, head);
    }
    return head;
  }

  #composeHead(operation: Operation, apiKey: string | null, forwarded: ForwardedHeaders): string {
    let head = this.#addresses[operation].requestLine;
    const headers = this.headers(operation, apiKey, forwarded);
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
        ...(apiKey === null ? {} : this.#vendor.credential(apiKey)),
        ...lowerCased(this.settings.headers),
      };
      this.#fixedHeaders.set(apiKey, fixed);
    }
    return fixed;
  }
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
 * A line end would make headers, or a request, of whatever follows it; so may a letter beyond Latin-1, of which
 * only the lower byte is sent.
 */
const unsendable = /[\0\r\n\u0100-\uffff]/;

function headerLine(name: string, value: string): string {
  if (unsendable.test(name + value)) throw new TypeError(`The header ${name} cannot be sent as it is.`);
  return `${name}: ${value}\r\n`;
}

function targetOf({ protocol, hostname, port }: URL): Target {
  const isSecure = protocol === "https:";
  return {
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  };
}
