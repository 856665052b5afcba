/** The recorded content of one request. The caller packs the body and may encrypt it. */
export interface ContentRow {
  /** The request's id. */
  readonly id: string;
  /** When the request began. */
  readonly atMs: number;
  readonly keyId: string;
  /** The key's owner at that time; null if it had none. */
  readonly owner: string | null;
  readonly model: string;
  readonly outcome: string;
  readonly body: Uint8Array;
}

/** A row without its body. */
export interface ListedContent extends Omit<ContentRow, "body"> {
  readonly bytes: number;
}

/** All given conditions have to match. An absent one matches everything. */
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
  /** The end of the previous page. */
  readonly after?: ContentPlace | undefined;
}

/** Newest first; rows of the same time are ordered by id. */
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
 * Recorded content, separate from the ledger: losing it loses no money. SQLite's implementation is synchronous
 * underneath, so a gateway runs it on its own thread.
 */
export interface ContentStore {
  /** All or nothing. An id is written once. */
  write(rows: readonly ContentRow[]): Promise<void>;
  read(id: string): Promise<ContentRow | null>;
  list(page: ContentPage): Promise<ListedContent[]>;
  /** Rows with their bodies, in the same order. */
  page(page: ContentPage): Promise<ContentRow[]>;
  /** Returns how many rows matched. Deleted text does not remain in the files. */
  delete(filter: ContentFilter): Promise<number>;
  /** Deletes what is too old. While the total is too large, deletes the oldest rows of the keys that hold most. */
  prune(limits: ContentLimits): Promise<void>;
  sizes(): Promise<ContentSizes>;
  /** A small value stored with the rows; null if there is none. */
  readMark(): Promise<Uint8Array | null>;
  /** Replaces every body and then the mark, so that an interrupted rewrite can be repeated. */
  rewrite(
    repack: (row: ContentRow) => Uint8Array,
    mark: Uint8Array | null,
    onProgress: (done: number, all: number) => void,
  ): Promise<void>;
  close(): Promise<void>;
}
