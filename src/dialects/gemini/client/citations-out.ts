import type { JsonObject } from "../../../base/json.ts";
import { spanWithin } from "../../ir/blocks.ts";
import type { IrCitation } from "../../ir/ir.ts";

/** Collects the pages that a response cites, each once, and the parts of its text that they support. */
export class Grounding {
  readonly #pages = new Map<string, { readonly index: number; readonly title: string | null }>();
  readonly #supports: JsonObject[] = [];
  /** Bytes of the texts before, because Google counts bytes of UTF-8 over the candidate. */
  #offset = 0;

  add(text: string, citations: readonly IrCitation[] = []): void {
    for (const citation of citations) this.#support(text, citation);
    this.#offset += Buffer.byteLength(text);
  }

  #support(text: string, citation: IrCitation): void {
    const { url, title } = citation;
    const { index } = this.#pages.getOrInsertComputed(url, () => ({ index: this.#pages.size, title }));
    const { start, end } = spanWithin(citation, text.length);
    const cited = text.slice(start, end);
    const startIndex = this.#offset + Buffer.byteLength(text.slice(0, start));
    this.#supports.push({
      segment: { startIndex, endIndex: startIndex + Buffer.byteLength(cited), text: cited },
      groundingChunkIndices: [index],
    });
  }

  /** Members of the candidate; none if nothing is cited. */
  write(): JsonObject {
    if (this.#pages.size === 0) return {};
    const groundingChunks = [...this.#pages].map(([uri, { title }]) => ({
      web: { uri, title: title ?? uri },
    }));
    return { groundingMetadata: { groundingChunks, groundingSupports: this.#supports } };
  }
}
