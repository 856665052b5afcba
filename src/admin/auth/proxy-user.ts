import type { AdminSettings } from "../../config/settings.ts";
import type { Person } from "./person.ts";

/**
 * The person whom a trusted proxy has signed in; null if it names nobody. The caller has made sure that the request comes
 * from such a proxy. A header that came twice reaches us as a list, and who sent the first half of that is unknown: a list is nobody.
 */
export function proxyUser(request: Request, { userHeader, groupsHeader }: AdminSettings): Person | null {
  if (userHeader === null) return null;
  const user = request.headers.get(userHeader)?.trim() ?? "";
  if (user === "" || /[,;\s]/.test(user)) return null;
  const groups = groupsHeader === null ? "" : (request.headers.get(groupsHeader) ?? "");
  return { user, groups: groups.split(",").flatMap((group) => (group.trim() === "" ? [] : [group.trim()])) };
}
