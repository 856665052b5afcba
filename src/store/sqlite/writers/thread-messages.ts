import type { FailureReason } from "../../journal/batch-writer.ts";
import type { JournalItem } from "../../records.ts";

/** Messages between the journal and its writer thread. */
export type ToThread =
  | { readonly kind: "open"; readonly file: string }
  | { readonly kind: "write"; readonly items: PackedItems; readonly rollUp: boolean }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "done"; readonly commitMs: number }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly message: string };

/** Most batches contain only numbers and strings, which are faster to pass as one JSON text. */
export type PackedItems = string | readonly JournalItem[];

export function pack(items: readonly JournalItem[]): PackedItems {
  return items.some(hasBytes) ? items : JSON.stringify(items);
}

export function unpack(items: PackedItems): readonly JournalItem[] {
  return typeof items === "string" ? (JSON.parse(items) as readonly JournalItem[]) : items;
}

function hasBytes(item: JournalItem): boolean {
  if (item.kind === "settle") return item.response !== null || item.turns !== undefined;
  return item.kind === "part" || item.kind === "turn";
}
