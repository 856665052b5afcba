/** A value of a column, as a row's text has it. */
export type Field = string | number | boolean | null;

/** Texts that mean nothing to PostgreSQL but themselves: ids, names of models, routes. */
const plain = /^[\w./:-]+$/;

/**
 * Rows of a composite type as the text of an array of them: `{"(req_1,key_1,100)","(req_2,key_1,50)"}`. PostgreSQL reads it in a
 * third of the time that JSON takes. Null for no rows.
 */
export function rowsText<Item>(
  items: readonly Item[],
  fieldsOf: (item: Item) => readonly Field[],
): string | null {
  if (items.length === 0) return null;
  let text = "{";
  for (const item of items) {
    text += text === "{" ? '"(' : ',"(';
    let separator = "";
    for (const field of fieldsOf(item)) {
      text += separator;
      separator = ",";
      // Nothing at all is NULL.
      if (field !== null) text += typeof field === "string" ? quoted(field) : field;
    }
    text += ')"';
  }
  return `${text}}`;
}

/** Quoted for the row, and the quotes and backslashes of that once more for the array. */
function quoted(text: string): string {
  if (plain.test(text)) return text;
  return `\\"${text.replaceAll("\\", "\\\\\\\\").replaceAll('"', '\\\\\\"')}\\"`;
}
