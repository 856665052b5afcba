import type { IrBytes, IrContent, IrDocument, IrImage, IrSearchResult, IrText, IrUrl } from "../ir/ir.ts";

/** A document that is a file, not text in the request. */
export interface IrFile extends IrDocument {
  readonly source: IrBytes | IrUrl;
}

interface Heading {
  readonly title?: string | undefined;
  readonly context?: string | undefined;
}

/** Content that every dialect supports. */
export type PlainContent = IrText | IrImage | IrFile;

/**
 * Converts blocks that only Messages has, text documents and search results, to content that every dialect supports.
 * Other blocks stay unchanged. No text is lost.
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

/** The title of a file is its name, unless it is a URL. Details that the file part cannot hold go into a text before it. */
function fileHeading({ title, context, source }: IrDocument): readonly IrText[] {
  const details = { ...(source.kind === "url" ? { title } : {}), context };
  const text = heading(details).trimEnd();
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

/** OpenAI's dialects have no flag for a failed tool, so its text is prefixed, once. */
export function markError(content: readonly IrContent[]): readonly IrContent[] {
  const [first, ...rest] = content;
  if (first?.type !== "text") return [{ type: "text", text: marker.trim() }, ...content];
  return first.text.startsWith(marker) ? content : [{ ...first, text: marker + first.text }, ...rest];
}
