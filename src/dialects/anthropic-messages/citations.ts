import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { IrCitation } from "../ir/ir.ts";
import { objectsOf, stringOf } from "../json/json-fields.ts";
import { envelopeMark, isForeignReasoning } from "../reasoning/reasoning-envelope.ts";

const webPage = "web_search_result_location";

/** Reads a text block's `citations`. Documents are cited too, but no other dialect supports them. */
export function readCitations(citations: Json | undefined): IrCitation[] {
  return objectsOf(citations).flatMap((citation) => {
    const url = stringOf(citation["url"]);
    if (citation["type"] !== webPage || url === null) return [];
    return [
      { url, title: stringOf(citation["title"]), citedText: stringOf(citation["cited_text"]), span: null },
    ];
  });
}

/** Only Anthropic can make a real `encrypted_index`; the envelope's mark identifies ours. */
export function writeCitation({ url, title, citedText }: IrCitation): JsonObject {
  return { type: webPage, url, title, cited_text: citedText ?? "", encrypted_index: envelopeMark };
}

/** Removes citations of other providers, whose index Anthropic would reject. Returns the same block if it has none. */
export function stripForeignCitations(block: Json): Json {
  const citations = isObject(block) ? block["citations"] : null;
  if (!isObject(block) || !Array.isArray(citations)) return block;
  const own = citations.filter((citation) => !isForeignReasoning(citation, webPage, "encrypted_index"));
  if (own.length === citations.length) return block;
  const { citations: _, ...uncited } = block;
  return own.length === 0 ? uncited : { ...block, citations: own };
}
