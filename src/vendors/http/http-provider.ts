import { assert } from "../../base/assert.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { providerDialect } from "../../dialects/registry.ts";
import { FetchTransfer } from "../../wire/fetch-transfer.ts";
import { HttpClient, serverAddressOf } from "../../wire/http-client.ts";
import { isBehindProxy } from "../../wire/local-address.ts";
import type { Receiver, Transfer } from "../../wire/transfer.ts";
import {
  type Credential,
  type CredentialUse,
  type KeyScheme,
  keyCredential,
} from "../credentials/credential.ts";
import type {
  ErrorResponse,
  PreparedRequest,
  Provider,
  ProviderError,
  ProviderSettings,
} from "../provider.ts";
import type { Vendor, VendorContext } from "../vendor.ts";
import { readDefaultError } from "./default-error.ts";
import { DeferredTransfer } from "./deferred-transfer.ts";

/** The differences between vendors that are called over HTTP. */
export interface HttpVendorOptions {
  /** Default: the configured one. */
  readonly baseUrl?: string;
  /** Appended to the base URL, which is written as the vendor's SDK takes it. */
  readonly pathPrefix?: string;
  /** The scheme for the configuration's API keys. */
  readonly credential: KeyScheme;
  /** Credentials in place of API keys. */
  readonly credentials?: readonly Credential[] | undefined;
  /** The request's target below the base URL, if it is not the dialect's default. */
  target?(prepared: PreparedRequest): string;
  /** The headers that the vendor understands, if it does not understand all of the dialect's. */
  adaptHeaders?(headers: ForwardedHeaders, prepared: PreparedRequest): ForwardedHeaders;
  /** Turns the vendor's framing into server-sent events, if it uses another one. */
  receive?(receiver: Receiver): FramedReceiver;
  /** Reads the vendor's errors, if it does not use the usual formats. */
  readProviderError?(answer: ErrorResponse): ProviderError;
  /** Advice for the operator about an error, by the vendor's own codes. */
  advise?(answer: ErrorResponse, model: string): string | null;
}

/** Sits between a transfer and its receiver. May cancel the transfer, which it gets once the request is in flight. */
export interface FramedReceiver extends Receiver {
  started(transfer: Transfer): void;
}

/**
 * Turns off what `fetch` does by default: deadlines, decompression and redirects are handled elsewhere, and its
 * connection pool would be shared by all callers.
 */
const fetchOptions = { timeout: false, decompress: false, redirect: "manual", keepalive: false } as const;

/** Creates the providers of a vendor that is called over HTTP. */
export function overHttp(
  optionsFor: (settings: ProviderSettings, context: VendorContext) => HttpVendorOptions,
): Vendor["create"] {
  return (settings, context) => new HttpProvider(settings, optionsFor(settings, context), context);
}

export class HttpProvider implements Provider {
  readonly settings: ProviderSettings;
  readonly credentials: readonly Credential[];
  readonly #base: { readonly origin: string; readonly host: string; readonly path: string };
  /** Null behind a proxy, which only `fetch` supports. */
  readonly #client: HttpClient | null;
  readonly #options: HttpVendorOptions;
  /** From the configuration. */
  readonly #ownHeaders: Readonly<Record<string, string>>;

  constructor(settings: ProviderSettings, options: HttpVendorOptions, { dial }: Partial<VendorContext> = {}) {
    this.settings = settings;
    this.credentials =
      options.credentials ?? settings.apiKeys.map((key) => keyCredential(options.credential(key)));
    this.#options = options;
    this.#ownHeaders = lowerCased(settings.headers);
    const url = new URL((options.baseUrl ?? settings.baseUrl) + (options.pathPrefix ?? ""));
    this.#base = { origin: url.origin, host: url.host, path: url.pathname.replace(/\/$/, "") };
    this.#client = isBehindProxy(url)
      ? null
      : new HttpClient(serverAddressOf(url), dial === undefined ? {} : { dial });
  }

  url(prepared: PreparedRequest): string {
    return this.#base.origin + this.#path(this.#target(prepared));
  }

  headers(prepared: PreparedRequest, credential: CredentialUse | null): Record<string, string> {
    const headers = {
      ...this.#dialectHeaders(prepared),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "user-agent": "sluice",
      ...credential?.headers(),
      ...this.#ownHeaders,
    };
    if (credential?.sign === undefined) return headers;
    const { host } = this.#base;
    const target = this.#path(this.#target(prepared));
    return { ...headers, ...credential.sign({ host, target, headers, body: prepared.body }) };
  }

  send(
    prepared: PreparedRequest,
    credential: CredentialUse | null,
    receiver: Receiver,
    caller: string,
  ): Transfer {
    const framed = this.#options.receive?.(receiver);
    if (framed === undefined) return this.#sendWhenReady(prepared, credential, receiver, caller);
    const transfer = this.#sendWhenReady(prepared, credential, framed, caller);
    framed.started(transfer);
    return transfer;
  }

  readProviderError(answer: ErrorResponse): ProviderError {
    return this.#options.readProviderError?.(answer) ?? readDefaultError(answer);
  }

  advise(answer: ErrorResponse, model: string): string | null {
    return this.#options.advise?.(answer, model) ?? null;
  }

  #sendWhenReady(
    prepared: PreparedRequest,
    credential: CredentialUse | null,
    receiver: Receiver,
    caller: string,
  ): Transfer {
    const waiting = credential?.prepare() ?? null;
    if (waiting === null) return this.#send(prepared, credential, receiver, caller);
    return new DeferredTransfer(waiting, () => this.#send(prepared, credential, receiver, caller), receiver);
  }

  #send(
    prepared: PreparedRequest,
    credential: CredentialUse | null,
    receiver: Receiver,
    caller: string,
  ): Transfer {
    if (this.#client === null || prepared.file !== undefined) {
      return this.#sendByFetch(prepared, credential, receiver);
    }
    // A signature does not cover the trace.
    const head = this.#head(prepared, credential);
    const { trace } = prepared;
    const traced = trace === undefined || trace === null ? head : head + linesOf(trace);
    return this.#client.send(traced, prepared.body, receiver, caller);
  }

  /** Through a proxy, or from a file, which it reads as the server takes it. */
  #sendByFetch(prepared: PreparedRequest, credential: CredentialUse | null, receiver: Receiver): Transfer {
    const { file, trace } = prepared;
    const type = file === undefined ? {} : { "content-type": file.contentType };
    const headers = { ...this.headers(prepared, credential), ...trace, ...type };
    const body = file === undefined ? prepared.body : Bun.file(file.path);
    const init = { method: "POST", headers, body, ...fetchOptions };
    return new FetchTransfer((signal) => fetch(this.url(prepared), { ...init, signal }), receiver);
  }

  #target(prepared: PreparedRequest): string {
    return this.#options.target?.(prepared) ?? dialectPath(prepared);
  }

  #path(target: string): string {
    return this.#base.path + target;
  }

  #dialectHeaders(prepared: PreparedRequest): ForwardedHeaders {
    const headers = providerDialect(prepared.dialect).requestHeaders(prepared.headers);
    return this.#options.adaptHeaders?.(headers, prepared) ?? headers;
  }

  #head(prepared: PreparedRequest, credential: CredentialUse | null): string {
    const start = `POST ${this.#path(this.#target(prepared))} HTTP/1.1\r\nhost: ${this.#base.host}\r\n`;
    return start + linesOf(this.headers(prepared, credential));
  }
}

function linesOf(headers: ForwardedHeaders): string {
  let lines = "";
  for (const name in headers) lines += headerLine(name, headers[name] ?? "");
  return lines;
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Prevents header injection: by a line end, or by a character beyond Latin-1, of which only the lower byte is sent. */
const unsendable = /[\0\r\n\u0100-\uffff]/;

function headerLine(name: string, value: string): string {
  if (unsendable.test(name + value))
    throw new TypeError(`The header ${name} has characters that cannot be sent.`);
  return `${name}: ${value}\r\n`;
}

/** The path by dialect. A request to count tokens never goes to a path that generates, and bills, a response. */
export function dialectPath(prepared: PreparedRequest): string {
  const { dialect, purpose } = prepared;
  const path = providerDialect(dialect).paths[purpose];
  assert(path != null, "the dialect has no path for this request", purpose);
  return typeof path === "string" ? path : path(prepared);
}
