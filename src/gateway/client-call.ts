import type { ClientRoute } from "../dialects/client-dialect.ts";
import type { ErrorFormat } from "../dialects/errors/envelope.ts";
import type { ClientDialectName } from "../dialects/registry.ts";
import type { KeyMode } from "../store/store.ts";

/** One of the interface's endpoints, before it is mounted on an origin. */
export type Endpoint = GenerationEndpoint | PlainEndpoint | ModelsEndpoint;

interface EndpointBase extends ClientRoute {
  readonly method: "GET" | "POST";
  readonly errors: ErrorFormat;
}

interface GenerationEndpoint extends EndpointBase {
  readonly operation: "generate";
  readonly dialect: ClientDialectName;
}

interface PlainEndpoint extends EndpointBase {
  readonly operation: "usage" | "count_tokens";
}

/** Serves callers without a key too. */
interface ModelsEndpoint extends EndpointBase {
  readonly operation: "models" | "model";
}

/** An endpoint on one of the two origins; `path` includes the origin, such as `/token/v1/messages`. */
export type Route = Endpoint & {
  /** The mode whose keys this origin takes. */
  readonly mode: KeyMode;
};

/** Whether the route describes models, which needs no key. */
export function describesModels({ operation }: Route): boolean {
  return operation === "models" || operation === "model";
}

/** A request as the edge hands it over, with what only the server knows of its connection. */
export interface ClientCall {
  readonly request: Request;
  readonly route: Route;
  /** The client's address, proxies taken into account. */
  readonly address: string;
  /** Whether a proxy says that it has passed the request on, trusted or not. */
  readonly isForwarded: boolean;
  /** Turns the idle timeout off: generation may wait long for a provider. */
  keepWaiting(): void;
  /** Closes a connection whose reader has stalled. */
  disconnect(): void;
}
