import type { KeyView } from "../../admin/key-terms/schema.ts";

/** Its label, else its owner. */
export function nameOfKey({ label, owner, prefix }: Pick<KeyView, "label" | "owner" | "prefix">): string {
  return label ?? owner ?? `${prefix}…`;
}
