import { isIP } from "node:net";
import type { ProviderSettings } from "../config/settings.ts";
import type { ForwardedHeaders, Operation, Provider } from "./provider.ts";

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

/** The version that is asked for when the client names none, and when the request is a translation. */
const defaultAnthropicVersion = "2023-06-01";

/** Servers close idle connections after a minute or so; one that leaves earlier meets fewer of those ends. */
const idleConnectionSeconds = 30;

export class HttpProvider implements Provider {
  readonly settings: ProviderSettings;
  readonly #urls: Readonly<Record<Operation, string>>;
  readonly #session: Bun.FetchSession;
  readonly #vendor: Vendor;
  /** The part of the headers that does not depend on the call, by API key. */
  readonly #fixedHeaders = new Map<string | null, Record<string, string>>();

  constructor(settings: ProviderSettings, vendor: Vendor) {
    this.settings = settings;
    this.#vendor = vendor;
    const base = settings.baseUrl + vendor.pathPrefix;
    this.#urls = {
      chat: base + paths.chat,
      responses: base + paths.responses,
      messages: base + paths.messages,
      count_tokens: base + paths.count_tokens,
    };
    this.#session = new Bun.FetchSession({
      keepAlive: { idleTimeout: idleConnectionSeconds },
      // A proxy from the environment is for the world outside; Bun would use it for 127.0.0.1 as well.
      ...(isLoopback(settings.baseUrl) ? { proxy: false } : {}),
    });
  }

  url(operation: Operation): string {
    return this.#urls[operation];
  }

  headers(operation: Operation, apiKey: string | null, forwarded: ForwardedHeaders): Record<string, string> {
    const fixed = this.#fixed(apiKey);
    if (operation === "chat" || operation === "responses")
      return { ...ofFamily("openai", forwarded), ...fixed };
    return { "anthropic-version": defaultAnthropicVersion, ...ofFamily("anthropic", forwarded), ...fixed };
  }

  send(url: string, init: BunFetchRequestInit & { signal: AbortSignal }): Promise<Response> {
    init.session = this.#session;
    return fetch(url, init);
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

/** A request that was translated carries nothing that only the client's own dialect understands. */
function ofFamily(family: "openai" | "anthropic", forwarded: ForwardedHeaders): ForwardedHeaders {
  let kept: Record<string, string> | undefined;
  for (const name in forwarded) {
    const value = forwarded[name];
    if (value === undefined || name.startsWith("anthropic-") !== (family === "anthropic")) continue;
    kept ??= {};
    kept[name] = value;
  }
  return kept ?? {};
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function isLoopback(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}
