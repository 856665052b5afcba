/** What is kept of one request's content. The body is packed, and may be encrypted, by whoever hands it over. */
export interface ContentRow {
  /** The request's. */
  readonly id: string;
  /** When the request began. */
  readonly atMs: number;
  readonly keyId: string;
  /** The key's at that time; null if it had none. */
  readonly owner: string | null;
  readonly model: string;
  readonly outcome: string;
  readonly body: Uint8Array;
}

/** A row without its body. */
export interface ListedContent extends Omit<ContentRow, "body"> {
  readonly bytes: number;
}

/** Absent conditions match everything; all of the others have to match. */
export interface ContentFilter {
  readonly ids?: readonly string[] | undefined;
  readonly keyIds?: readonly string[] | undefined;
  readonly owner?: string | undefined;
  readonly model?: string | undefined;
  readonly outcome?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly beforeMs?: number | undefined;
}

export interface ContentPage extends ContentFilter {
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: ContentPlace | undefined;
}

/** The newest come first, and one of the same time by its id. */
export interface ContentPlace {
  readonly atMs: number;
  readonly id: string;
}

export interface ContentLimits {
  readonly beforeMs: number;
  readonly maxBytes: number;
}

export interface ContentSizes {
  readonly rows: number;
  /** On disk. */
  readonly bytes: number;
}

/**
 * Content of requests, apart from the ledger: losing it loses no money. SQLite's side is synchronous underneath, so a gateway uses it on
 * a thread of its own.
 */
export interface ContentStore {
  /** All or nothing. An id is written once. */
  write(rows: readonly ContentRow[]): Promise<void>;
  read(id: string): Promise<ContentRow | null>;
  list(page: ContentPage): Promise<ListedContent[]>;
  /** Rows with their bodies, in the same order. */
  page(page: ContentPage): Promise<ContentRow[]>;
  /** Returns how many there were. What is deleted is not left in the files. */
  delete(filter: ContentFilter): Promise<number>;
  /** Deletes what is too old, and then the oldest while all of it takes too much. */
  prune(limits: ContentLimits): Promise<void>;
  sizes(): Promise<ContentSizes>;
  /** A small value that is kept with the rows; null if there is none. */
  readMark(): Promise<Uint8Array | null>;
  /** Replaces every body, and then the mark, so that an interrupted one can be repeated. */
  rewrite(
    repack: (row: ContentRow) => Uint8Array,
    mark: Uint8Array | null,
    onProgress: (done: number, all: number) => void,
  ): Promise<void>;
  close(): Promise<void>;
}
