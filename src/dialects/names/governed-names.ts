import type { Mention } from "../contract/body-names.ts";
import { clientDialects } from "../registry.ts";
import {
  type BilledField,
  billedField,
  billedFields,
  type FieldVendor,
  googleField,
  googleOptions,
} from "./billed-fields.ts";

/**
 * The names that the gateway reads, prices, changes or rejects. Providers differ in how they match names: those written
 * in Go ignore case and use the last match, so `{"model":"a","Model":"b"}` would be checked here as one model and run
 * there as another. A name that only looks like a governed one is rejected if such a provider may get it.
 */

/** LiteLLM, as a provider, puts the members of this one in the place of the body's own. */
export const mergedMember = "extra_body";

/** Names for the size of an image, in addition to `size`, on servers with OpenAI's API. */
export const imageSizeNames: readonly string[] = [
  ...["resolution", "image_size", "image_config", "aspect_ratio", "width", "height"],
];

/** Names for the number of images, in addition to `n`. */
export const imageCountNames: readonly string[] = [
  ...["batch_size", "num_images", "num_outputs", "num_images_per_prompt", "number_of_images", "samples"],
];

const dialects = clientDialects.map(({ bodyNames }) => bodyNames);

/** Members of the body itself, of any request. */
const topLevelNames: readonly string[] = [
  ...dialects.flatMap(({ top }) => top),
  ...["n_predict", "n_cmpl", "best_of"],
  ...["input", "quality", "size", "partial_images", "svg"],
  ...["query", "documents", "max_tokens_per_doc", "input_audio", "voice"],
  ...["url", "file_url", "audio_url", "previous_image_id"],
  ...imageSizeNames,
  ...imageCountNames,
  ...["sequential_image_generation", "sequential_image_generation_options"],
  ...["file_id", "file_ids", "vector_store_ids", mergedMember],
  ...billedFields.map(({ name }) => name),
];

/** Members of nested objects whose names a dialect defines. */
const nestedNames: readonly string[] = dialects.flatMap(({ nested }) => nested);

/**
 * Who defines the names of an object. `top`: the body itself. `dialect`: the dialect. `options`: the dialect or the
 * provider, which may have options that cost. `google`: Google, all of whose options may cost. `labels`: the caller,
 * but the values are again the dialect's. `caller`: the caller, at all deeper levels too, such as a tool's JSON schema,
 * where `Type` and `ID` are ordinary names.
 */
export type Place = "top" | "dialect" | "options" | "google" | "labels" | "caller";

/** A template may have what a conversation has. */
const definedMembers: ReadonlySet<string> = new Set([
  ...dialects.flatMap(({ defined }) => defined),
  "prompt",
]);

/** Some are named by the schema that they are within, or by documents to be ranked. */
const callersObjects: ReadonlySet<string> = new Set([
  ...dialects.flatMap(({ callers }) => callers),
  ...["properties", "documents"],
]);

/** The place of a member's value. `input` is the conversation in the body, and a tool's arguments elsewhere. */
export function placeUnder(place: Place, name: string, isObject: boolean): Place {
  if (place === "caller" || callersObjects.has(name)) return "caller";
  if (place === "top" && name === mergedMember) return "top";
  if (place === "top" && definedMembers.has(name)) return "dialect";
  if (place === "labels") return "dialect";
  if (name === "input" && isObject && place !== "top") return "caller";
  if (place !== "dialect") return name.toLowerCase() === googleOptions ? "google" : "options";
  return name === "variables" ? "labels" : "dialect";
}

const governed = { top: new Set(topLevelNames), dialect: new Set(nestedNames) } as const;

export function isGoverned(place: Place, name: string): boolean {
  if (place === "labels" || place === "caller") return false;
  return governed[place === "top" ? "top" : "dialect"].has(name);
}

/** Whether some provider may read a member of the body as one that is governed. */
export function isReadAsGoverned(name: string): boolean {
  return governed.top.has(name) || lookalikeAmong(governed.top, name) !== null;
}

export function isGovernedAnywhere(name: string): boolean {
  return governed.top.has(name) || governed.dialect.has(name);
}

/** Fields with ids of objects that a single vendor stores per account. */
const vendorIds: ReadonlyMap<string, readonly FieldVendor[]> = new Map([
  ["collection_ids", ["xAI"]],
  ["library_ids", ["Mistral"]],
  ["knowledge_id", ["Zhipu"]],
  ["knowledge_ids", ["Zhipu"]],
]);

/** The vendors that act on a field with ids; null if a dialect defines it. */
export function vendorsOfId(name: string): readonly FieldVendor[] | null {
  return vendorIds.get(name) ?? null;
}

/** Vendors have many names for the URL of an image or a file. All end like this. */
const addressName = /ur[il]$/i;

const storedThings = [...dialects.flatMap(({ stored }) => stored), ...vendorIds.keys()].map(
  (name) => [name, "id"] as const,
);

const mentions = {
  top: new Map<string, Mention>([
    ...storedThings,
    ...dialects.flatMap((names) => names.mentions.top),
    ["voice", "voice"],
  ]),
  dialect: new Map<string, Mention>([...storedThings, ...dialects.flatMap((names) => names.mentions.nested)]),
} as const;

/** Why a name is checked: it looks like a governed one but is not, it mentions something, or it may cost something. */
export interface Notable {
  readonly lookalike: string | null;
  readonly mention: Mention | null;
  readonly billed: BilledField | null;
}

/** Longer names match no governed name in any parser. */
const maxNameLength = 64;
const maxRemembered = 4096;
/** A cache: nearly all requests consist of the same few names. */
const remembered = {
  top: new Map<string, Notable | null>(),
  dialect: new Map<string, Notable | null>(),
  options: new Map<string, Notable | null>(),
  google: new Map<string, Notable | null>(),
} as const;

/** Null for most names. */
export function notableName(place: Place, name: string): Notable | null {
  if (place === "labels" || place === "caller") return null;
  const known = remembered[place].get(name);
  if (known !== undefined) return known;
  const table = place === "top" ? "top" : "dialect";
  const mention = mentions[table].get(name) ?? (addressName.test(name) ? "address" : null);
  const lookalike = governed[table].has(name) ? null : lookalikeAmong(governed[table], name);
  const billed = billedAt(place, name);
  const isPlain = mention === null && lookalike === null && billed === null;
  const notable = isPlain ? null : { lookalike, mention, billed };
  if (remembered[place].size >= maxRemembered) remembered[place].clear();
  remembered[place].set(name, notable);
  return notable;
}

function billedAt(place: Place, name: string): BilledField | null {
  if (name.length > maxNameLength || place === "dialect") return null;
  return place === "google" ? googleField(name) : billedField(name, place === "top");
}

/** Form lists are named `field[]`. Some servers read the last item of one as `field`. */
const inBrackets = /\[[^\]]*\]$/;
const listName = "include[]";

function lookalikeAmong(names: ReadonlySet<string>, name: string): string | null {
  if (name === listName) return null;
  const folded = name.length > maxNameLength ? null : foldToAscii(name.replace(inBrackets, ""));
  return folded !== null && names.has(folded) ? folded : null;
}

const maxGovernedLength = Math.max(...[...topLevelNames, ...nestedNames].map(({ length }) => length));

/**
 * Null if the name cannot be a governed one, which is clear at the first character that does not fold to a plain
 * letter, and when it is longer than the longest of them. A client may send 100,000 names that are costly to fold
 * completely.
 */
function foldToAscii(name: string): string | null {
  let folded = "";
  for (const character of name.replace(invisible, "")) {
    const plain = character < firstBeyondAscii ? character : foldedCharacter(character);
    if (plain === null || folded.length + plain.length > maxGovernedLength) return null;
    folded += plain;
  }
  return folded.toLowerCase();
}

const firstBeyondAscii = "\u0080";
const invisible = /[\u0307\p{Default_Ignorable_Code_Point}]+/gu;
const foldedCharacters = new Map<string, string | null>();

/** Null if it does not become a plain letter. */
function foldedCharacter(character: string): string | null {
  const known = foldedCharacters.get(character);
  if (known !== undefined) return known;
  const folded = fold(character);
  const plain = folded < firstBeyondAscii ? folded : null;
  if (foldedCharacters.size >= maxRemembered) foldedCharacters.clear();
  foldedCharacters.set(character, plain);
  return plain;
}

/**
 * Folds more than Unicode's case folding does, because parsers differ: compatibility forms (Kelvin sign, long s,
 * ligatures, full-width letters) become plain letters, upper case turns sharp s into `ss` and dotless i into `i`, and
 * invisible characters are removed.
 */
function fold(character: string): string {
  return character.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase().replace(invisible, "");
}
