import { isObject } from "../../base/json.ts";
import type { GatewayHello } from "../../base/system/command-socket.ts";
import { reachable } from "../serve/reachable.ts";
import { startProgress } from "../terminal/progress.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";

/** Sends an operation to where it is performed: a running gateway, this process, or a gateway elsewhere. */
export interface Transport {
  /** `onNote` is called with the progress of an operation that takes long. */
  send(call: OperationCall, onNote: (text: string) => void): Promise<Response>;
  close(): Promise<void>;
}

export interface OperationCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the base of the admin API, with its query. */
  readonly path: string;
  /** JSON; null without a body. */
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

/** The place of the data, as printed after a change. */
export type DataPlace =
  | { readonly data_folder: string }
  | { readonly store: string }
  | { readonly gateway: string };

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Calls operations. An operation that is rejected throws, with its message. */
export class OperationClient {
  readonly place: DataPlace;
  /** The gateway of this machine that performs the operations; null without one. */
  readonly gateway: GatewayHello | null;
  readonly #transport: Transport;
  readonly #terminal: Terminal;

  constructor(transport: Transport, terminal: Terminal, place: DataPlace, gateway: GatewayHello | null) {
    this.#transport = transport;
    this.#terminal = terminal;
    this.place = place;
    this.gateway = gateway;
  }

  /** Where clients reach the gateway that performs the operations; null without one. */
  get address(): string | null {
    if ("gateway" in this.place) return this.place.gateway;
    return this.gateway === null ? null : reachable(this.gateway.address);
  }

  /** Whether a gateway performs the operations, here or elsewhere. */
  get isRunning(): boolean {
    return this.address !== null;
  }

  /** The place in a few words. */
  get name(): string {
    return Object.values(this.place)[0] ?? "";
  }

  get<View>(path: string, query: Query = {}): Promise<View> {
    return this.perform("GET", path, query);
  }

  /** All rows of a paged list, or the first `limit` of them. */
  async list<Row>(path: string, query: object = {}, limit = Number.POSITIVE_INFINITY): Promise<Row[]> {
    const rows: Row[] = [];
    for (let cursor: string | undefined; ; ) {
      const size = Math.min(limit - rows.length, maxPage);
      const page = await this.page<PageOf<Row>>(path, { ...query, limit: size, cursor });
      rows.push(...page.data);
      if (page.next_cursor == null || rows.length >= limit) return rows;
      cursor = page.next_cursor;
    }
  }

  /** A page behind `cursor`. One that leads back to itself would be read without an end. */
  async page<Page extends PageOf<unknown>>(path: string, query: Query): Promise<Page> {
    const page = await this.get<Page>(path, query);
    const hasRows = Array.isArray(page.data) && page.data.every(isObject);
    if (hasRows && (page.next_cursor == null || page.next_cursor !== query["cursor"])) return page;
    return rejectUnreadable("GET");
  }

  post<View>(path: string, body: object = {}): Promise<View> {
    return this.perform("POST", path, body);
  }

  patch<View>(path: string, body: object): Promise<View> {
    return this.perform("PATCH", path, body);
  }

  remove<View>(path: string, query: Query = {}): Promise<View> {
    return this.perform("DELETE", path, query);
  }

  /** Performs an operation with its query or body. The caller knows the response's type, from its schema. */
  async perform<View>(method: OperationCall["method"], path: string, input: object): Promise<View> {
    const hasBody = method === "POST" || method === "PATCH";
    const answer = hasBody
      ? this.#answer(method, path, JSON.stringify(input))
      : this.#answer(method, path + queryText(input), null);
    const view: unknown = await (await answer).json().catch(() => null);
    // Every response body of Sluice is an object; only a different server sends something else.
    return isObject(view) ? (view as View) : rejectUnreadable(method);
  }

  /** Streams the operation's response in parts, as they are read. */
  async *stream(path: string, query: object = {}): AsyncGenerator<Uint8Array> {
    const { body } = await this.#answer("GET", path + queryText(query), null);
    try {
      if (body !== null) yield* body;
    } catch {
      throw new CommandError(
        "the gateway ended while it responded, so the export is incomplete; run it again",
      );
    }
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #answer(
    method: OperationCall["method"],
    path: string,
    body: OperationCall["body"],
  ): Promise<Response> {
    const progress = startProgress(this.#terminal);
    const response = await this.#transport
      .send({ method, path, body }, (text) => progress.show(text))
      .finally(() => progress.end());
    if (response.ok) return response;
    const message = await messageOf(response);
    const isOlder = "gateway" in this.place && response.status === 404 && message.startsWith("Unknown path ");
    throw new OperationRejected(
      isOlder
        ? `the gateway at ${this.place.gateway} does not have this operation; it may be older than this command`
        : message,
    );
  }
}

/** A call was sent, and its response did not arrive. A change can still take effect. */
export class Unanswered extends CommandError {
  /** What happened, without a word about the change. */
  readonly why: string;

  constructor(why: string, method: OperationCall["method"]) {
    super(method === "GET" ? why : `${why}; the change can still take effect: check before you repeat it`);
    this.why = why;
  }
}

function rejectUnreadable(method: OperationCall["method"]): never {
  throw new Unanswered("the gateway's response is incomplete, or not what this sluice expects", method);
}

interface PageOf<Row> {
  readonly data: readonly Row[];
  readonly next_cursor?: string | null;
}

const maxPage = 200;

/** The operation was not done, for the reason in the message. */
export class OperationRejected extends CommandError {}

/** A part of a path. */
export function segment(name: string): string {
  return `/${encodeURIComponent(name)}`;
}

function queryText(query: object): string {
  const set = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  return set.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(set))}`;
}

async function messageOf(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null);
  const error = isObject(body) ? body["error"] : null;
  if (isObject(error) && typeof error["message"] === "string") return error["message"];
  return `the gateway responded with status ${response.status}`;
}
