import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { HostedToolName } from "../../base/usage/hosted-tools.ts";
import { listOf, objectOf } from "../json/json-fields.ts";
import type { ValuePath } from "../json/remove-values.ts";
import type { ToolList } from "./tool-list.ts";

/** A part of a request that has no meaning, or is rejected, without a tool that the provider runs. */
export interface ToolDependent {
  readonly path: ValuePath;
  /** Its name in `x-sluice-dropped`. */
  readonly name: string;
  readonly needs: HostedToolName;
}

/** OpenAI's name for running code that calls other tools. */
const programmaticCalls = "programmatic_tool_calling";

/** The features that a tool provides to the other parts of a request. */
export function providedBy(type: string, name: HostedToolName | null): HostedToolName | null {
  return type === programmaticCalls ? "code_execution" : name;
}

/**
 * The parts of a request that need a hosted tool: tools that the model finds only by a search, tools that only code can call, and
 * skills, which are run as code.
 */
export function toolDependents(body: JsonObject, toolLists: readonly ToolList[]): readonly ToolDependent[] {
  const dependents: ToolDependent[] = [];
  for (const { path, tools, isSingle = false } of toolLists) {
    for (const [index, tool] of tools.entries()) {
      if (isObject(tool)) dependents.push(...dependentsOf(tool, isSingle ? path : [...path, index]));
    }
  }
  const container = objectOf(body["container"]) ?? {};
  if (listOf(container["skills"]).length > 0) {
    const path = Object.keys(container).length === 1 ? ["container"] : ["container", "skills"];
    dependents.push({ path, name: "container.skills", needs: "code_execution" });
  }
  return dependents;
}

function dependentsOf(tool: JsonObject, path: ValuePath): readonly ToolDependent[] {
  const deferred = deferredPaths(tool).map((within) => searched([...path, ...within]));
  if (listOf(tool["allowed_callers"]).every((caller) => caller === "direct")) return deferred;
  const called = { path: [...path, "allowed_callers"], name: "tools.allowed_callers" } as const;
  return [...deferred, { ...called, needs: "code_execution" }];
}

function searched(path: ValuePath): ToolDependent {
  return { path, name: "tools.defer_loading", needs: "tool_search" };
}

/** A server's tools are deferred all at once, or each by its name. */
function deferredPaths(tool: JsonObject): readonly ValuePath[] {
  const configs = Object.entries(objectOf(tool["configs"]) ?? {});
  const within: readonly (readonly [ValuePath, Json | undefined])[] = [
    [[], tool],
    [["default_config"], tool["default_config"]],
    ...configs.map(([name, config]) => [["configs", name], config] as const),
  ];
  return within.flatMap(([path, value]) =>
    objectOf(value)?.["defer_loading"] === true ? [[...path, "defer_loading"]] : [],
  );
}
