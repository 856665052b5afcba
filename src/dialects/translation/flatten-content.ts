import type { IrBytes, IrContent, IrDocument, IrImage, IrSearchResult, IrText, IrUrl } from "../ir/ir.ts";

/** A document that is a file of its own, not words in the request. */
export interface IrFile extends IrDocument {
  readonly source: IrBytes | IrUrl;
}

interface Heading {
  readonly title?: string | undefined;
  readonly context?: string | undefined;
}

/** What every dialect has. */
export type PlainContent = IrText | IrImage | IrFile;

/**
 * What only Messages has as a block of its own, in words that every dialect can say: a document given as
 * text, a search result. Whatever else comes back as it is. Nothing of it is lost but the block itself.
 */
export function flattenContent(block: IrContent): readonly PlainContent[] {
  if (block.type === "search_result") return [searchResult(block)];
  if (block.type !== "document") return [block];
  const { source } = block;
  if (source.kind === "text") return [withCache({ type: "text", text: heading(block) + source.text }, block)];
  if (source.kind !== "parts") return [...fileHeading(block), { ...block, source }];
  const head = heading(block).trimEnd();
  const parts = source.parts.flatMap(flattenContent);
  return head === "" ? parts : [{ type: "text", text: head }, ...parts];
}

/** A file has a name, which is its title, unless it is only an address; what else is said of it goes before it. */
function fileHeading({ title, context, source }: IrDocument): readonly IrText[] {
  const unsaid = { ...(source.kind === "url" ? { title } : {}), context };
  const text = heading(unsaid).trimEnd();
  return text === "" ? [] : [{ type: "text", text }];
}

function heading({ title, context }: Heading): string {
  const lines = [
    ...(title === undefined ? [] : [`Title: ${title}`]),
    ...(context === undefined ? [] : [`Context: ${context}`]),
  ];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}

function searchResult(result: IrSearchResult): IrText {
  const body = result.content.map((block) => block.text).join("\n\n");
  return withCache({ type: "text", text: `${result.title}\n${result.source}\n\n${body}` }, result);
}

function withCache(text: IrText, from: IrContent): IrText {
  return from.cache === undefined ? text : { ...text, cache: from.cache };
}

const marker = "Error: ";

/** The dialects of OpenAI cannot flag a failed tool, so its text says so, once. */
export function markError(content: readonly IrContent[]): readonly IrContent[] {
  const [first, ...rest] = content;
  if (first?.type !== "text") return [{ type: "text", text: marker.trim() }, ...content];
  return first.text.startsWith(marker) ? content : [{ ...first, text: marker + first.text }, ...rest];
}
