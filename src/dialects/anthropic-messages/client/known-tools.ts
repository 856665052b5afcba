import type { JsonObject } from "../../../base/json.ts";
import type { IrFunctionTool } from "../../ir/ir.ts";
import { functionTool } from "../../tools/schema.ts";

/**
 * Tools that Anthropic defines and the client runs. Claude knows their schemas; other models need them.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use
 */
interface KnownTool {
  readonly family: RegExp;
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

const path = { type: "string", description: "Absolute path of the file or directory." };
const line = { type: "integer" };

const knownTools: readonly KnownTool[] = [
  {
    family: /^bash_/,
    name: "bash",
    description: "Runs a command in a persistent bash session and returns its output.",
    schema: {
      type: "object",
      properties: {
        command: { type: "string", description: "The command to run." },
        restart: { type: "boolean", description: "Restarts the session instead." },
      },
    },
  },
  {
    family: /^text_editor_/,
    name: "str_replace_based_edit_tool",
    description: "Views, creates and edits text files.",
    schema: {
      type: "object",
      properties: {
        command: { type: "string", enum: ["view", "create", "str_replace", "insert"] },
        path,
        view_range: { type: "array", items: line, description: "First and last line to view." },
        file_text: { type: "string", description: "For create: the whole content." },
        old_str: { type: "string", description: "For str_replace: the text to replace." },
        new_str: { type: "string", description: "For str_replace: the new text." },
        insert_line: { ...line, description: "For insert: the line after which to insert." },
        insert_text: { type: "string", description: "For insert: the text." },
      },
      required: ["command", "path"],
    },
  },
  {
    family: /^memory_/,
    name: "memory",
    description: "Keeps notes in files under /memories.",
    schema: {
      type: "object",
      properties: {
        command: { type: "string", enum: ["view", "create", "str_replace", "insert", "delete", "rename"] },
        path,
        view_range: { type: "array", items: line },
        file_text: { type: "string" },
        old_str: { type: "string" },
        new_str: { type: "string" },
        insert_line: line,
        insert_text: { type: "string" },
        old_path: { type: "string" },
        new_path: { type: "string" },
      },
      required: ["command"],
    },
  },
];

/** Null for a tool that Anthropic runs, or that is unknown. */
export function knownTool(type: string, name: string | null): IrFunctionTool | null {
  const known = knownTools.find((tool) => tool.family.test(type));
  return known === undefined ? null : functionTool(name ?? known.name, known.description, known.schema);
}
