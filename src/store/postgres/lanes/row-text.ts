/** A column's value in the text of a row. */
export type Field = string | number | boolean | null;

/** Text that needs no quoting: ids, model names, routes. */
const plain = /^[\w./:-]+$/;

/**
 * Rows of a composite type as the text of an array: `{"(req_1,key_1,100)","(req_2,key_1,50)"}`. PostgreSQL reads it
 * in a third of the time of JSON. Null for no rows.
 */
export function rowsText<Item>(items: readonly Item[], rowOf: (item: Item) => string): string | null {
  return items.length === 0 ? null : `{"${items.map(rowOf).join('","')}"}`;
}

/** A row of a composite type. Null has no text at all. */
export function rowText(fields: readonly Field[]): string {
  return `(${(fields.every(isPlain) ? fields : fields.map(quoted)).join(",")})`;
}

function isPlain(field: Field): boolean {
  return typeof field !== "string" || plain.test(field);
}

/** Text is quoted for the row, with the quotes and backslashes escaped again for the array. */
function quoted(field: Field): Field {
  if (typeof field !== "string" || plain.test(field)) return field;
  return `\\"${field.replaceAll("\\", "\\\\\\\\").replaceAll('"', '\\\\\\"')}\\"`;
}
