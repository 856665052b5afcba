import type { Json, JsonObject } from "../../../base/json.ts";
import type { IrFunctionTool, IrRequest, IrToolChoice } from "../../ir/ir.ts";
import { objectOf } from "../../json/json-fields.ts";
import type { Target } from "../../provider-dialect.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";
import { takesJsonSchema } from "./model.ts";
import { openApiParameters, ReferenceRoom } from "./openapi-schema.ts";

/** One entry declares all functions. */
export function addTools(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const functions = request.tools.filter((tool) => tool.type === "function");
  if (functions.length === 0) return;
  const room = new ReferenceRoom();
  body["tools"] = [{ functionDeclarations: functions.map((tool) => declarationOf(tool, target, room)) }];
  const config = writeChoice(
    request.toolChoice,
    functions.some((tool) => tool.strict === true),
  );
  if (config !== null) body["toolConfig"] = { functionCallingConfig: config };
  if (request.parallelToolCalls === false) dropped.add(dropped.names.singleCall);
}

function declarationOf(
  { name, description, schema }: IrFunctionTool,
  target: Target,
  room: ReferenceRoom,
): JsonObject {
  const declaration: JsonObject = { name, description: description ?? "" };
  if (schema === null || takesNothing(schema)) return declaration;
  if (takesJsonSchema(target)) declaration["parametersJsonSchema"] = { type: "object", ...schema };
  else {
    const parameters = openApiParameters(schema, room);
    if (parameters !== null) declaration["parameters"] = parameters;
  }
  return declaration;
}

/** Google rejects an object without properties. */
function takesNothing(schema: JsonObject): boolean {
  const isOpen = ["anyOf", "oneOf", "allOf", "$ref", "patternProperties"].some(
    (keyword) => schema[keyword] !== undefined,
  );
  return !isOpen && isEmpty(schema["properties"]) && isEmpty(schema["additionalProperties"]);
}

function isEmpty(value: Json | undefined): boolean {
  const object = objectOf(value);
  return object === null || Object.keys(object).length === 0;
}

/** Null if the model decides by itself. `VALIDATED` holds the model to the schemas. */
function writeChoice(choice: IrToolChoice | null, isStrict: boolean): JsonObject | null {
  switch (choice?.type) {
    case "required":
      return { mode: "ANY" };
    case "none":
      return { mode: "NONE" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    default:
      if (isStrict) return { mode: "VALIDATED" };
      return choice === null ? null : { mode: "AUTO" };
  }
}
