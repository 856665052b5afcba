import type { Json } from "../base/json.ts";
import type { Tags } from "../base/requests/labels.ts";

/** The recorded content of a request, as the admin API and the command line show it. */
export interface ContentDocument {
  readonly id: string;
  readonly time: string;
  readonly model: string | null;
  /** The key's prefix. */
  readonly key: string;
  readonly labels: ContentLabels;
  readonly route: string;
  readonly status: number;
  readonly outcome: string;
  /** The client's request; a string if it was not JSON, null if there was no body. */
  readonly request: Json;
  /** The client's response, a stream joined; null if it got none. */
  readonly response: Json;
  /** The request to the provider and its response, if they are recorded and the request was translated. */
  readonly upstream: { readonly request: Json; readonly response: Json } | null;
  /** Fields of the request that the provider was not sent. */
  readonly dropped: readonly string[];
  /** Number of bytes that were cut. */
  readonly request_cut: number;
  readonly response_cut: number;
}

export interface ContentLabels {
  readonly session: string | null;
  readonly user: string | null;
  readonly tags: Tags;
}

/** Replaces data that is not text. */
export interface DataDigest {
  readonly type: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The form of a recorded body: one JSON text, server-sent events of a format, or bytes of a type. */
export type BodyForm =
  | { readonly kind: "json"; readonly isValid: boolean }
  | { readonly kind: "events"; readonly format: string }
  | { readonly kind: "bytes"; readonly type: string };

/** Facts that are known when recording begins. */
export interface RecordingStart {
  /** Whether the request is known to be JSON. */
  readonly isRequestValid: boolean;
  readonly response: BodyForm;
  /** Null if what the provider was sent is not recorded. */
  readonly upstream: { readonly response: BodyForm } | null;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
}

/** Facts that are known when the request has ended. */
export interface RecordingEnd {
  readonly id: string;
  /** When the request began. */
  readonly atMs: number;
  /** Usage in the client's format, for a joined stream that was sent without it; null if the stream has it, or it is unknown. */
  readonly usage: Json;
  readonly facts: EndFacts;
}

/** Often the same for many requests of a client, so its JSON is cached. */
export interface EndFacts
  extends Pick<ContentDocument, "model" | "key" | "labels" | "route" | "status" | "outcome" | "dropped"> {
  /** For the store only, not part of the document. */
  readonly row: {
    readonly keyId: string;
    readonly owner: string | null;
    readonly isKept: boolean;
    readonly isTraced: boolean;
  };
}
