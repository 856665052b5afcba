import type { JsonObject } from "../../../base/json.ts";
import type { IrRequest } from "../../ir/ir.ts";

/** Claude's effort and the schema of its answer, if the request has one of them. */
export function addOutputConfig(body: JsonObject, { format }: IrRequest, effort: string | undefined): void {
  const schema = format?.type === "json_schema" ? format.schema : null;
  if (effort === undefined && schema === null) return;
  body["output_config"] = {
    ...(effort === undefined ? {} : { effort }),
    ...(schema === null ? {} : { format: { type: "json_schema", schema } }),
  };
}
