import { asCompared } from "../../config/admin.ts";
import type { AdminSettings } from "../../config/settings.ts";
import type { Role } from "./roles.ts";

/** Somebody whom an identity provider, or a proxy, vouches for. */
export interface Person {
  readonly user: string;
  readonly groups: readonly string[];
}

const groupMark = "group:";

/** Asked for every call, so that whoever is taken off a list is out at the reload. Null for whom no list has. */
export function roleOf({ user, groups }: Person, { people }: AdminSettings): Role | null {
  const name = asCompared(user);
  // People may choose what they are called, and must not be a group by that.
  if (name.startsWith(groupMark)) return null;
  const names = new Set([name, ...groups.map((group) => `${groupMark}${asCompared(group)}`)]);
  if (people.admins.some((name) => names.has(name))) return "admin";
  if (people.viewers.some((name) => names.has(name))) return "viewer";
  const isHolder = people.holders === "everyone" || people.holders.some((name) => names.has(name));
  return isHolder ? "holder" : null;
}
