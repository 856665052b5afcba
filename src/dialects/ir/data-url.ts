import type { IrBytes } from "./ir.ts";

/** Media types can be in any case and have parameters (`data:image/PNG;charset=utf-8;base64,…`). */
const form = /^data:([^;,]*)(?:;[^,]*)?;base64,/i;

/** Null if the text is not a base64 data URL. */
export function parseDataUrl(url: string): IrBytes | null {
  const head = form.exec(url);
  if (head === null) return null;
  const mediaType = (head[1] ?? "").trim().toLowerCase();
  return { kind: "base64", mediaType, data: url.slice(head[0].length) };
}

export function dataUrl(bytes: IrBytes): string {
  return `data:${bytes.mediaType};base64,${bytes.data}`;
}
