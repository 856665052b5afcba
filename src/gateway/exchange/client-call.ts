import type { ErrorCode } from "../../base/errors.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import type { RouteSwitch } from "../../base/requests/route-switches.ts";
import type { ClientOperation, ClientRoute } from "../../dialects/contract/client-dialect.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";
import type { ClientDialectName } from "../../dialects/registry.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import type { KeyMode } from "../../store/store.ts";
import type { Origin } from "./origin.ts";

/**
 * One of the interface's operations as data, before it is mounted on an origin. All differences between operations are
 * members of it: no other module compares their names or paths.
 */
export interface Operation extends ClientRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** The switch in `[routes]` that turns it off. Only operations beyond the interface have one. */
  readonly switchedBy?: RouteSwitch;
  readonly errors: ErrorFormat;
  /** The dialect that it generates in; null if it does not generate. */
  readonly dialect: ClientDialectName | null;
  /** The dialect of its events, if it does not generate in one; absent if no dialect has such events. */
  readonly eventDialect?: ClientDialectName;
  /** The use that a model has to serve for it; absent if it needs none. */
  readonly use?: ModelUse;
  /** False if it serves callers without a key too. */
  readonly needsKey: boolean;
  /** Whether a call is charged, and kept once it has completed. */
  readonly isCharged: boolean;
  /** Its name in the GenAI conventions; null if it is not traced. */
  readonly tracedAs: string | null;
  /** The errors that the interface lists for it. */
  readonly codes: readonly ErrorCode[];
  /** Response headers of this operation, in addition to the common ones. */
  readonly headers: readonly string[];
  readonly description: ClientOperation;
  /** Requested only by the handshake of a WebSocket. */
  readonly isUpgrade?: true;
}

/** An operation on one of the two origins; `path` includes the origin, such as `/token/v1/messages`. */
export interface Route extends Operation {
  /** The mode whose keys this origin takes. */
  readonly mode: KeyMode;
}

/** The parts of a request that are read. A request on a WebSocket is not a `Request`, because creating one takes 2 µs. */
export type ReadableRequest = Pick<Request, "url" | "headers" | "signal" | "body" | "bytes">;

/** Output for the client: bytes that pass through, or text that was written here. */
export type Piece = Uint8Array | string;

const encoder = new TextEncoder();

export function bytesOf(piece: Piece): Uint8Array {
  return typeof piece === "string" ? encoder.encode(piece) : piece;
}

/** Bun's direct stream: data that is written is sent at once, and for a full socket `write` returns a promise. */
export interface DirectController {
  write(piece: Piece): number | Promise<number>;
  end(): void;
}

/** Writes a stream to a controller. */
export interface StreamSource {
  /** Resolves when all of it is written. */
  pull(controller: DirectController): Promise<void>;
  /** The client disconnected. */
  cancel(): void;
}

/** A stream, and the head of its response. */
export interface FramedStream {
  readonly source: StreamSource;
  readonly head: ResponseInit;
}

/** A request as the edge hands it over, with what only the server knows of its connection. */
export interface ClientCall {
  readonly request: ReadableRequest;
  readonly route: Route;
  /** Where it comes from: a client on its connection, or something that has it run. */
  readonly origin: Origin;
  /** The client's address, proxies taken into account. */
  readonly address: string;
  /** Whether a proxy, trusted or not, declares that it forwarded the request. */
  readonly isForwarded: boolean;
  /** Turns the idle timeout off: generation may wait long for a provider. */
  keepWaiting(): void;
  /** Closes a connection whose reader has stalled, or once it has stalled for this long. */
  disconnect(stalledMs?: number): void;
  /** Upgrades the connection to a WebSocket of this key; false if the request is not a valid handshake. */
  upgrade?(keyId: string, slot: BodyReservation): boolean;
  /** Takes a stream that would else be the body of a response. */
  takeStream?(source: StreamSource): void;
  /** Sends a stream in another form than its dialect's. */
  reframe?(stream: FramedStream): FramedStream;
  /** The body, if it arrived in one piece. The request object then has none. */
  readonly body?: Uint8Array;
  /** Its key, if that is known without a credential because the request was admitted before. */
  readonly keyId?: string;
}

/** The URL without the client's host, which may be missing or invalid. */
export function urlOf({ request }: { readonly request: Pick<Request, "url"> }): URL {
  return new URL(`http://localhost${request.url.replace(/^https?:\/\/[^/?#]*/, "")}`);
}
