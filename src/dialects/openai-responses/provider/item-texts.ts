import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { numberOf, objectOf, stringOf } from "../../json/json-fields.ts";
import { streamedText, writtenText } from "../../provider-response/produced.ts";

type TextSource = "added" | "delta" | "whole" | "item" | "response";

/**
 * The texts of a stream's items. Some servers number all events, others only some of them or none, and the same is true
 * of ids.
 */
export class ItemTexts {
  readonly #byIndex = new Map<number, ItemText>();
  readonly #byId = new Map<string, ItemText>();
  /** The last event's item, unless the event ended it. */
  #open: ItemText | null = null;
  /** The item of events with neither number nor id. */
  #unnamed: ItemText | null = null;

  /** The new text of an event. */
  writtenIn(type: string, event: JsonObject): string {
    const { delta } = event;
    if (type.endsWith(".delta") && typeof delta === "string") return this.of(event).add("delta", delta);
    if (type === "response.output_item.added") return this.of(event).addItem("added", event["item"]);
    if (type === "response.output_item.done") return this.of(event).addItem("item", event["item"]);
    return type.endsWith(".done") ? this.#wholeText(event) : streamedText(event);
  }

  /** The text in the items of a response that has ended, as far as it has not been streamed. */
  missingIn(output: readonly Json[]): string {
    return output.map((item, index) => this.at(index, item).addItem("response", item)).join("");
  }

  /** Some servers send complete texts without deltas. */
  #wholeText(event: JsonObject): string {
    const { text, refusal, arguments: args, input, code, command, diff, transcript } = event;
    const whole = text ?? refusal ?? args ?? input ?? code ?? command ?? diff ?? transcript;
    return typeof whole === "string" ? this.of(event).add("whole", whole) : "";
  }

  /** An event without an index or an id belongs to the same item as the one before. */
  of(event: JsonObject): ItemText {
    const { type, output_index, item_id, item } = event;
    const index = numberOf(output_index);
    const id = stringOf(item_id) ?? idOf(item);
    const isUnnamed = index === null && id === null && type !== "response.output_item.added";
    const text = this.#find(index, id) ?? (isUnnamed ? this.#open : null) ?? new ItemText();
    if (index !== null) this.#byIndex.set(index, text);
    if (id !== null) this.#byId.set(id, text);
    if (index === null && id === null) this.#unnamed = text;
    this.#open = type === "response.output_item.done" ? null : text;
    return text;
  }

  /** The text of an item in the final response. If its id and index are new, it may be the item whose events had neither. */
  at(index: number, item: Json): ItemText {
    return this.#find(index, idOf(item)) ?? this.#unnamed ?? new ItemText();
  }

  /** By index first, because some providers change an item's id during the stream. */
  #find(index: number | null, id: string | null): ItemText | null {
    const numbered = index === null ? undefined : this.#byIndex.get(index);
    return numbered ?? (id === null ? undefined : this.#byId.get(id)) ?? null;
  }
}

function idOf(item: Json | undefined): string | null {
  return stringOf(objectOf(item)?.["id"]);
}

/** An item's text arrives in up to five places, in some perhaps only in part. The longest one counts. */
class ItemText {
  readonly #chars = { added: 0, delta: 0, whole: 0, item: 0, response: 0 };
  readonly #names = new Set<string>();
  #known = 0;

  /** Returns what is new. */
  add(source: TextSource, text: string): string {
    return text.slice(text.length - this.addChars(source, text.length));
  }

  /** Returns how many of the characters are new. */
  addChars(source: TextSource, chars: number): number {
    this.#chars[source] += chars;
    const added = Math.max(0, this.#chars[source] - this.#known);
    this.#known += added;
    return added;
  }

  /** Adds all text of an item. */
  addItem(source: TextSource, item: Json | undefined): string {
    return isObject(item) ? this.#addName(item) + this.add(source, writtenText({ ...item, name: null })) : "";
  }

  /** Adds an item's name, once. */
  #addName(item: Json | undefined): string {
    const name = objectOf(item)?.["name"];
    if (typeof name !== "string" || this.#names.has(name)) return "";
    this.#names.add(name);
    return name;
  }
}

/** Whether nothing is missing that is read of an item, although its event was cut. */
export function isReadable(item: Json): item is JsonObject {
  if (!isObject(item)) return false;
  const { content = [], summary = [] } = item;
  return [content, summary].every((parts) => Array.isArray(parts) && parts.every(isObject));
}

/** Measures reasoning that only OpenAI can read. An item may have some of it when it is announced, and all when it is done. */
export class EncryptedReasoning {
  /** Characters so far, by the item's index. */
  readonly #charsByItem = new Map<Json | undefined, number>();

  /** Number of characters that an event adds. */
  charsIn({ item, output_index: index }: JsonObject): number {
    if (!isObject(item)) return 0;
    const chars = stringOf(item["encrypted_content"])?.length ?? 0;
    const known = this.#charsByItem.get(index) ?? 0;
    if (chars <= known) return 0;
    this.#charsByItem.set(index, chars);
    return chars - known;
  }
}
