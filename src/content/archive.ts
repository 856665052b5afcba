import type {
  ContentFilter,
  ContentPage,
  ContentPlace,
  ContentRow,
  ContentStore,
  ListedContent,
} from "../store/content-store.ts";
import { openContentStore } from "../store/open-content.ts";
import type { StoreLocation } from "../store/settings.ts";
import { StoreError } from "../store/store-error.ts";
import type { ContentDocument } from "./document.ts";
import { pack, repack, unpack } from "./pack.ts";
import { type RecordedTurn, turnIn } from "./recorded-turn.ts";

export interface ArchiveOptions {
  readonly location: StoreLocation;
  readonly key: Uint8Array | null;
  /** If present, plain content is encrypted on opening, and this reports progress. Only a gateway passes it, at its start. */
  readonly onEncrypting?: ((done: number, all: number) => void) | undefined;
}

/** The recorded content of one request. */
export interface RecordedDocument {
  /** A JSON object, to be sent unchanged. */
  readonly json: Uint8Array;
  readonly keyId: string;
  /** Null if the request continued no conversation. */
  readonly turn: RecordedTurn | null;
}

/** A page of JSON lines, how many there are, and where it ended; null at the end of all. */
export interface ExportedPage {
  readonly lines: Uint8Array;
  readonly count: number;
  readonly next: ContentPlace | null;
}

/** Stored encrypted, to recognize a wrong key. */
const mark = { text: "sluice content", id: "mark" };

/** Recorded content: documents in a store, encrypted or not. */
export class ContentArchive {
  readonly store: ContentStore;
  #key: Uint8Array | null;

  private constructor(store: ContentStore, key: Uint8Array | null) {
    this.store = store;
    this.#key = key;
  }

  /** Throws a refusal if the key is missing or wrong. */
  static async open({ location, key, onEncrypting }: ArchiveOptions): Promise<ContentArchive> {
    const store = await openContentStore(location);
    try {
      await unlock(store, key, onEncrypting);
      return new ContentArchive(store, key);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Opens the rows without the key: only to list, count and delete. */
  static async openRows(location: StoreLocation): Promise<ContentArchive> {
    return new ContentArchive(await openContentStore(location), null);
  }

  async read(id: string): Promise<RecordedDocument | null> {
    const row = await this.store.read(id);
    if (row === null) return null;
    const json = this.#json(row);
    return { json, keyId: row.keyId, turn: turnIn(json) };
  }

  list(page: ContentPage): Promise<ListedContent[]> {
    return this.store.list(page);
  }

  /** For evaluations and fine-tuning: bodies, model, key and labels only. */
  async exportLines(page: ContentPage): Promise<ExportedPage> {
    const rows = await this.store.page(page);
    const last = rows.length < page.limit ? undefined : rows.at(-1);
    return {
      lines: Buffer.concat(rows.map((row) => exportedLine(this.#json(row)))),
      count: rows.length,
      next: last === undefined ? null : { atMs: last.atMs, id: last.id },
    };
  }

  delete(filter: ContentFilter): Promise<number> {
    return this.store.delete(filter);
  }

  /** Encrypts all content with another key. Every gateway needs that key from then on. */
  async rekey(key: Uint8Array, onProgress: (done: number, all: number) => void): Promise<void> {
    await encryptAll(this.store, this.#key, key, onProgress);
    this.#key = key;
  }

  close(): Promise<void> {
    return this.store.close();
  }

  #json({ id, body }: ContentRow): Uint8Array {
    const json = unpack(body, id, this.#key);
    if (json !== null) return json;
    const why = `The content of ${id} cannot be read: it is damaged, or encrypted with a different key.`;
    throw new StoreError("corrupt", why);
  }
}

function exportedLine(json: Uint8Array): Uint8Array {
  const document = JSON.parse(Buffer.from(json).toString()) as ContentDocument;
  const { id, time, model, key, labels, request, response } = document;
  return Buffer.from(`${JSON.stringify({ id, time, model, key, labels, request, response })}\n`);
}

async function unlock(
  store: ContentStore,
  key: Uint8Array | null,
  onEncrypting: ArchiveOptions["onEncrypting"],
): Promise<void> {
  const found = await store.readMark();
  if (found === null) {
    if (key !== null && onEncrypting !== undefined) await encryptAll(store, null, key, onEncrypting);
    return;
  }
  if (key === null)
    throw new StoreError(
      "locked",
      "The recorded content is encrypted, and content.key is not set. Set it to the key that encrypted it.",
    );
  if (unpack(found, mark.id, key) === null)
    throw new StoreError(
      "locked",
      "The recorded content is encrypted with a different key than content.key. Set that key, or change it with `sluice content rekey`.",
    );
}

function encryptAll(
  store: ContentStore,
  from: Uint8Array | null,
  to: Uint8Array,
  onProgress: (done: number, all: number) => void,
): Promise<void> {
  const marked = pack(Buffer.from(` ${mark.text}`), mark.id, to);
  return store.rewrite(({ id, body }) => repack(body, id, from, to), marked, onProgress);
}
