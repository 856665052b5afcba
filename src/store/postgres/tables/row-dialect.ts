import type { RowDialect } from "../../account-row.ts";

export const rowDialect: RowDialect = {
  wide: (column) => `${column}::float8`,
  jsonOf: (fields, rows) => `(SELECT json_agg(json_build_object(${fields}))::text FROM ${rows})`,
};
