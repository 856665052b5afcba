import type { Json, JsonObject } from "../../base/json.ts";
import { spanWithin } from "../ir/blocks.ts";
import type { IrCitation, IrSpan } from "../ir/ir.ts";
import { numberOf, objectOf, objectsOf, stringOf } from "../json/json-fields.ts";

const urlCitation = "url_citation";

/** Reads `annotations`. Chat nests the fields in an object of their own, Responses has them next to the type. Files are not cited by URL. */
export function readCitations(annotations: Json | undefined): IrCitation[] {
  return objectsOf(annotations).flatMap((annotation) => {
    if (annotation["type"] !== urlCitation) return [];
    const cited = objectOf(annotation[urlCitation]) ?? annotation;
    const url = stringOf(cited["url"]);
    if (url === null) return [];
    return [{ url, title: stringOf(cited["title"]), citedText: null, span: readSpan(cited) }];
  });
}

function readSpan(cited: JsonObject): IrSpan | null {
  const start = numberOf(cited["start_index"]);
  const end = numberOf(cited["end_index"]);
  return start === null || end === null ? null : { start, end };
}

/** The cited text within the content of a message. */
export interface CitedText {
  readonly offset: number;
  readonly length: number;
}

export function chatAnnotations(citations: readonly IrCitation[], text: CitedText): JsonObject[] {
  return citations.map((citation) => ({ type: urlCitation, [urlCitation]: fieldsOf(citation, text) }));
}

export function responsesAnnotations(citations: readonly IrCitation[], length: number): JsonObject[] {
  return citations.map((citation) => ({ type: urlCitation, ...fieldsOf(citation, { offset: 0, length }) }));
}

function fieldsOf(citation: IrCitation, { offset, length }: CitedText): JsonObject {
  const { start, end } = spanWithin(citation, length);
  return {
    url: citation.url,
    title: citation.title ?? citation.url,
    start_index: offset + start,
    end_index: offset + end,
  };
}
