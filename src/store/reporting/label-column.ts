import { isLabelName, uncounted } from "../../base/requests/labels.ts";

/** The SQL value of a label: `other` if reports group the value under that, NULL without a label. */
export function countedLabel(name: string): string {
  return `CASE WHEN ${memberOf("labels", uncounted + name)} IS NULL THEN ${memberOf("labels", name)} ELSE 'other' END`;
}

/** The SQL value of a label exactly as the caller sent it. */
export function sentLabel(table: string, name: string): string {
  if (!isLabelName(name)) return "NULL";
  const [counted, other] = [name, uncounted + name].map((member) => memberOf(`${table}.labels`, member));
  return `coalesce(${counted}, ${other})`;
}

/** Label names need no escaping in a literal, but two colons would be read as a cast. */
function memberOf(column: string, name: string): string {
  return `${column}::json ->> ('${name.replaceAll(":", "' || ':' || '")}')`;
}
