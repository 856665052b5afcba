import type { ContentFilter, ContentPage, ContentSizes, ListedContent } from "../store/content-store.ts";
import type { StoreLocation } from "../store/settings.ts";
import type { StoreErrorReason } from "../store/store-error.ts";
import type { ExportedPage, RecordedDocument } from "./archive.ts";
import type { SentLog } from "./frame-log.ts";
import type { WrittenRows } from "./row-writer.ts";
import type { TracedContent } from "./traced-content.ts";

/** How long content is stored, and its maximum size. */
export interface Retention {
  readonly keptMs: number;
  readonly maxBytes: number;
}

/** Calls that the thread performs on request. */
export interface ArchiveCalls {
  read(id: string): Promise<RecordedDocument | null>;
  list(page: ContentPage): Promise<ListedContent[]>;
  exportLines(page: ContentPage): Promise<ExportedPage>;
  delete(filter: ContentFilter): Promise<number>;
  sizes(): Promise<ContentSizes>;
  /** Cleans other JSON like recorded content: no data, no secrets, at most `maxBytes`. */
  clean(text: CleanedText): Promise<string>;
}

export interface CleanedText {
  readonly json: string;
  readonly maxBytes: number;
}

/** How and where content is stored. */
export interface ContentStorage {
  readonly location: StoreLocation;
  readonly key: Uint8Array | null;
  readonly retention: Retention;
}

export type ToContentThread =
  | { readonly type: "open"; readonly kept: ContentStorage | null }
  | { readonly type: "retention"; readonly retention: Retention }
  | { readonly type: "log"; readonly log: SentLog; readonly secrets: readonly string[] | null }
  | {
      readonly type: "call";
      readonly no: number;
      readonly name: keyof ArchiveCalls;
      readonly argument: unknown;
    }
  | { readonly type: "close" };

export type FromContentThread =
  | { readonly type: "opened" }
  | { readonly type: "progress"; readonly done: number; readonly all: number }
  | { readonly type: "refused"; readonly reason: StoreErrorReason | null; readonly message: string }
  /** A log has been processed. */
  | {
      readonly type: "read";
      /** Memory of open recordings and unwritten rows, in bytes. */
      readonly held: number;
      /** Number of recordings that could not be assembled. */
      readonly dropped: number;
      /** Content for the spans of requests that ended in the log. */
      readonly traced: readonly TracedContent[];
      /** The log's memory, for reuse. */
      readonly block: ArrayBuffer;
    }
  /** The result of a write. */
  | ({ readonly type: "written" } & WrittenRows)
  | { readonly type: "reply"; readonly no: number; readonly result: unknown }
  | { readonly type: "failed"; readonly no: number; readonly message: string }
  | { readonly type: "closed" };
