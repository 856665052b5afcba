import { isObject, type Json } from "../../base/json.ts";

/** More than any real response has. */
const maxIds = 1000;

const deepestLevel = 32;

/** The fields that hold ids of files and containers in a tool's output. */
const idNames: ReadonlySet<string> = new Set(["file_id", "container_id"]);

/**
 * Collects the ids in a provider's response that a later request can refer to: of the response, its items, its
 * conversation, and the containers and files of its tools. Ids in the part that only echoes the request do not count.
 */
export class IdCollector {
  readonly all: string[] = [];

  add(id: Json | undefined): void {
    if (typeof id === "string" && id !== "" && this.all.length < maxIds) this.all.push(id);
  }

  addId(thing: Json | undefined): void {
    if (isObject(thing)) this.add(thing["id"]);
  }

  /** Ignores values that are nested more deeply than in any real response. */
  addWithin(value: Json, levelsLeft = deepestLevel): void {
    if (levelsLeft === 0) return;
    if (Array.isArray(value)) {
      for (const item of value) {
        if (typeof item === "object" && item !== null) this.addWithin(item, levelsLeft - 1);
      }
    } else if (isObject(value)) {
      for (const name in value) {
        const inner = value[name];
        if (idNames.has(name)) this.add(inner);
        if (typeof inner === "object" && inner !== null) this.addWithin(inner, levelsLeft - 1);
      }
    }
  }
}
