import type { RowDialect } from "../../account-row.ts";

export const rowDialect: RowDialect = {
  wide: (column) => column,
  jsonOf: (fields, rows) => `(SELECT json_group_array(json_object(${fields})) FROM ${rows})`,
};
