import { asCompared } from "../../config/admin.ts";
import type { AdminSettings } from "../../config/settings.ts";
import type { Role } from "./roles.ts";

export interface Person {
  readonly user: string;
  readonly groups: readonly string[];
}

const groupMark = "group:";

/**
 * The person's roles; empty if no list has them. Evaluated on every call, so that removing someone from a list takes
 * effect at the reload.
 */
export function rolesOf(
  { user, groups }: Person,
  { admins, viewers, members }: AdminSettings,
): ReadonlySet<Role> {
  const name = asCompared(user);
  // People can choose their name, and must not become a group by that.
  if (name.startsWith(groupMark)) return new Set();
  const names = new Set([name, ...groups.map((group) => `${groupMark}${asCompared(group)}`)]);
  const isListed = (list: readonly string[]) => list.some((each) => names.has(each));
  const held = new Set<Role>();
  if (isListed(admins)) held.add("admin");
  if (isListed(viewers)) held.add("viewer");
  if (members === "everyone" || isListed(members)) held.add("member");
  return held;
}
