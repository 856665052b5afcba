import type { DialectName } from "../base/dialect.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { objectOf, objectsOf, stringOf } from "./json/json-fields.ts";

/** More than any honest answer shows. */
const maxIds = 1000;

const deepestLevel = 32;

/** The names under which ids of files and containers stand in what a tool has made. */
const idNames: ReadonlySet<string> = new Set(["file_id", "container_id"]);

/**
 * The ids in a provider's whole answer that a later request may name: of the response, its items, its conversation,
 * and the containers and files of its tools. What is told back of the request gives nothing.
 */
export function givenIds(dialect: DialectName, answer: JsonObject): readonly string[] {
  const ids = new IdCollector();
  switch (dialect) {
    case "responses":
      collectResponse(answer, ids);
      break;
    case "messages":
      ids.addId(answer["container"]);
      for (const block of objectsOf(answer["content"])) collectBlock(block, ids);
      break;
    case "chat":
      for (const choice of objectsOf(answer["choices"])) {
        ids.addId((objectOf(choice["message"]) ?? objectOf(choice["delta"]))?.["audio"]);
      }
      break;
  }
  return ids.all;
}

/** A response that is not stored can be named by nobody, nor can its items. */
function collectResponse(response: JsonObject, ids: IdCollector): void {
  const isStored = response["store"] !== false;
  if (isStored) ids.add(response["id"]);
  ids.addId(response["conversation"]);
  for (const item of objectsOf(response["output"])) {
    if (isStored) ids.add(item["id"]);
    ids.addWithin(item);
  }
}

/** Text and calls of the client's own tools, which are most of all blocks, have no ids to remember. */
function collectBlock(block: JsonObject, ids: IdCollector): void {
  if (stringOf(block["type"])?.endsWith("_tool_result") === true) ids.addWithin(block);
}

/** The same for the pieces of a messages stream. */
export function givenIdsOfEvent(event: JsonObject): readonly string[] {
  const ids = new IdCollector();
  ids.addId(objectOf(event["message"])?.["container"]);
  ids.addId(objectOf(event["delta"])?.["container"]);
  const block = objectOf(event["content_block"]);
  if (block !== null) collectBlock(block, ids);
  return ids.all;
}

class IdCollector {
  readonly all: string[] = [];

  add(id: Json | undefined): void {
    if (typeof id === "string" && id !== "" && this.all.length < maxIds) this.all.push(id);
  }

  addId(thing: Json | undefined): void {
    if (isObject(thing)) this.add(thing["id"]);
  }

  /** Below the deepest level that honest answers have, nothing is looked at: a provider may nest without end. */
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
