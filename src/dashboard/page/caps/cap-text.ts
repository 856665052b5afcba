import type { ListedCapView } from "../../../admin/caps/schema.ts";

type Whom = Pick<ListedCapView, "each" | "owner" | "user" | "tag">;

/** `Each owner`, `Owner ada@example.com`, `Tag project=atlas`. */
export function whomText({ each, owner, user, tag }: Whom): string {
  if (each !== null) return each === "user" ? "Each end user" : `Each ${each.replace("tag:", "")}`;
  if (owner !== null) return `Owner ${owner}`;
  return user === null ? `Tag ${tag}` : `End user ${user}`;
}
