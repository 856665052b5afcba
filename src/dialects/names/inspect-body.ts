import { invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { cutText } from "../json/truncated-json.ts";
import { type ParsedBody, parseWhole } from "../schema/validate.ts";
import { findDuplicate } from "./duplicate-names.ts";
import { isGoverned, type Mention, notableName, type Place, placeUnder } from "./governed-names.ts";
import { pathOf } from "./name-path.ts";

/** A stored object that a request refers to by its provider's id. */
export interface Reference {
  readonly path: string;
  readonly id: string;
  /** Whether the provider adds what was said before to the request. It does not for a file or a container. */
  readonly isConversation: boolean;
}

/** Tools that a request offers, at the top level or inside the conversation. */
export interface ToolList {
  readonly path: string;
  readonly tools: readonly Json[];
  /** The path is that of the only tool. */
  readonly isSingle?: true;
}

/** What a request mentions that costs more than its tokens or belongs to one key. */
export interface Mentions {
  readonly references: readonly Reference[];
  readonly toolLists: readonly ToolList[];
  /** The path of the first audio part; null if there is none. */
  readonly audioInput: string | null;
}

/**
 * Checks every name of a body in one pass. Throws `invalid_request` for a name that another parser could read as a
 * governed one, and for a duplicate governed name. A parsed object has each name once, so a body whose bytes have more
 * members than its objects has a duplicate; only then are the bytes searched for it.
 */
export function inspectBody({ truncated, cutBytes, memberCount }: ParsedBody, bytes: Uint8Array): Mentions {
  const found = inspect(truncated);
  if (found.members !== memberCount) refuseDuplicate(bytes);
  const isCut = cutBytes > 0 && found.references.some(({ id }) => id === cutText);
  return isCut ? inspect(parseWhole(bytes)) : found;
}

function refuseDuplicate(bytes: Uint8Array): void {
  const path = findDuplicate(bytes);
  if (path !== null) throw invalidRequest(`\`${path}\` is given twice; send it once.`, path);
}

function inspect(body: JsonObject): BodyWalk {
  const walk = new BodyWalk();
  walk.object(body, "top");
  walk.implicitReferences(body["input"]);
  return walk;
}

const noReferences: readonly Reference[] = [];
const noTools: readonly ToolList[] = [];

class BodyWalk implements Mentions {
  members = 0;
  audioInput: string | null = null;
  /** Most bodies have neither, so the lists are only made for the first. */
  #references: Reference[] | null = null;
  #toolLists: ToolList[] | null = null;
  readonly #path: (string | number)[] = [];

  get references(): readonly Reference[] {
    return this.#references ?? noReferences;
  }

  get toolLists(): readonly ToolList[] {
    return this.#toolLists ?? noTools;
  }

  object(object: JsonObject, place: Place): void {
    for (const name in object) {
      this.members += 1;
      const value = object[name];
      if (place === "top" && this.#path.length > 0 && isGoverned("top", name)) throw this.#merged(name);
      const notable = notableName(place, name);
      if (notable !== null) {
        if (notable.lookalike !== null) throw this.#refusal(name, notable.lookalike);
        if (notable.mention !== null) this.#mention(notable.mention, name, value, object);
      }
      if (typeof value !== "object" || value === null) continue;
      this.#path.push(name);
      this.#nested(value, placeUnder(place, name, !Array.isArray(value)));
      this.#path.pop();
    }
  }

  #nested(value: Json, place: Place): void {
    if (isObject(value)) {
      this.object(value, place);
    } else if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        const item = value[index];
        if (typeof item !== "object" || item === null) continue;
        this.#path.push(index);
        this.#nested(item, place);
        this.#path.pop();
      }
    }
  }

  #mention(mention: Mention, name: string, value: Json | undefined, within: JsonObject): void {
    switch (mention) {
      case "type":
        this.#typed(value, within);
        break;
      case "conversation":
        this.#continue(value, name);
        break;
      case "id":
        this.#refer(false, value, name);
        break;
      case "holder":
        if (isObject(value)) this.#continue(value["id"], name, "id");
        break;
      case "thread":
        // Continues from the answer with this id, and with all that was said before it.
        if (isObject(value)) this.#continue(value["previous_message_id"], name, "previous_message_id");
        break;
      case "tools":
        // A tool choice lists tools but offers none.
        if (Array.isArray(value) && this.#path[0] !== "tool_choice") {
          this.#offer({ path: pathOf([...this.#path, name]), tools: value });
        }
        break;
      case "speech":
        if (value !== null) this.audioInput ??= pathOf(this.#path);
        break;
    }
  }

  #typed(type: Json | undefined, object: JsonObject): void {
    if (type === "item_reference") this.#continue(object["id"], "id");
    // A generated image is sent by its id alone, or with its data.
    if (type === "image_generation_call" && typeof object["result"] !== "string") {
      this.#continue(object["id"], "id");
    }
    // A tool that is defined inside the conversation.
    if (type === "tool_definition" && isObject(object["definition"])) {
      const path = pathOf([...this.#path, "definition"]);
      this.#offer({ path, tools: [object["definition"]], isSingle: true });
    }
    if (type === "input_audio" || type === "audio_url") this.audioInput ??= pathOf(this.#path);
  }

  /** Clients may omit the type: an item with an id and no role is a reference. */
  implicitReferences(input: Json | undefined): void {
    if (!Array.isArray(input)) return;
    input.forEach((item, index) => {
      if (isObject(item) && item["type"] == null && item["role"] == null) {
        this.#continue(item["id"], "input", index, "id");
      }
    });
  }

  #continue(value: Json | undefined, ...steps: readonly (string | number)[]): void {
    this.#refer(true, value, ...steps);
  }

  /** An id, or several, in whatever form a lenient provider might read them: in a list, in an object, as a number. */
  #refer(isConversation: boolean, value: Json | undefined, ...steps: readonly (string | number)[]): void {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#refer(isConversation, item, ...steps, index);
    } else if (isObject(value)) {
      this.#refer(isConversation, value["id"], ...steps, "id");
    } else if (typeof value === "string" || typeof value === "number") {
      this.#references ??= [];
      this.#references.push({ path: pathOf([...this.#path, ...steps]), id: String(value), isConversation });
    }
  }

  #offer(tools: ToolList): void {
    this.#toolLists ??= [];
    this.#toolLists.push(tools);
  }

  #merged(name: string): Error {
    const path = pathOf([...this.#path, name]);
    return invalidRequest(
      `Some providers would read \`${path}\` in place of \`${name}\`; send it as \`${name}\`.`,
      path,
    );
  }

  #refusal(name: string, lookalike: string): Error {
    const path = pathOf([...this.#path, name]);
    return invalidRequest(
      `Some providers would read \`${path}\` as \`${lookalike}\`; spell it \`${lookalike}\`, or leave it out.`,
      path,
    );
  }
}
