import { isLabelName, uncounted } from "../../base/requests/labels.ts";

/** The value of a label in SQL, `other` if reports do not tell it apart; NULL without one. */
export function countedLabel(name: string): string {
  return `CASE WHEN ${memberOf("labels", uncounted + name)} IS NULL THEN ${memberOf("labels", name)} ELSE 'other' END`;
}

/** The same, but always as the caller has sent it. */
export function sentLabel(table: string, name: string): string {
  if (!isLabelName(name)) return "NULL";
  const [counted, other] = [name, uncounted + name].map((member) => memberOf(`${table}.labels`, member));
  return `coalesce(${counted}, ${other})`;
}

/** Names have no character that means something in a literal, but two colons would be taken for a cast. */
function memberOf(column: string, name: string): string {
  return `${column}::json ->> ('${name.replaceAll(":", "' || ':' || '")}')`;
}
