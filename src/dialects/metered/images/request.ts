import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import { wholeFromDigits } from "../../../base/text/typed-number.ts";
import { objectOf } from "../../json/json-fields.ts";
import { cutText } from "../../json/parse-body.ts";
import { imageCountNames, imageSizeNames } from "../../names/governed-names.ts";
import { anyObject, modelName, optional, streamFlag } from "../../schema/fields.ts";
import type { FormFile, MeteredModel, PricedNames } from "../route.ts";

const fields = {
  model: modelName,
  prompt: Type.String(),
  n: optional(Type.Integer({ minimum: 1, maximum: 10 })),
  size: optional(Type.String()),
  quality: optional(Type.String()),
  stream: optional(streamFlag),
  partial_images: optional(Type.Integer({ minimum: 0, maximum: 3 })),
};

export const imageRequest = Type.Object(fields);

/** As JSON with the images' addresses; as a form with the images themselves. */
export const imageEditRequest = Type.Object({ ...fields, images: optional(Type.Array(anyObject)) });

export const imageResponse = Type.Object({
  created: Type.Integer(),
  data: Type.Array(anyObject),
  usage: Type.Optional(anyObject),
});

function countOf({ n }: JsonObject): number {
  return typeof n === "number" ? n : 1;
}

/** Maximum images that ByteDance draws if it decides the number itself. */
const maxSeriesLength = 15;
/** More than any server draws at once; a hold for a slip of the keyboard would be without bounds. */
const maxAtOnce = 100;

/** Maximum number of images that can be returned, by any of the servers' names for it. Throws if the number is invalid. */
export function maxImages(body: JsonObject): number {
  const { sequential_image_generation: series, sequential_image_generation_options: options } = body;
  const isSeries = series != null && series !== "disabled";
  const inSeries = isSeries ? (objectOf(options)?.["max_images"] ?? maxSeriesLength) : 1;
  const named = imageCountNames.map((name) => wholeOf(body[name] ?? 1, name));
  return Math.max(countOf(body), wholeOf(inSeries, "sequential_image_generation_options"), ...named);
}

/** Forms have it as text. */
function wholeOf(value: Json, name: string): number {
  const whole = typeof value === "string" ? wholeFromDigits(value) : value;
  if (typeof whole === "number" && Number.isInteger(whole) && whole > 0 && whole <= maxAtOnce) return whole;
  throw invalidRequest(`\`${name}\` must be a whole number from 1 to ${maxAtOnce}.`, name);
}

/** Tokens of only the prompt. The estimate covers the whole body, in which images are not text. */
export function promptTokens(
  { prompt }: JsonObject,
  { estimatedInput, estimateText }: Pick<MeteredModel, "estimatedInput" | "estimateText">,
): number {
  if (typeof prompt !== "string" || prompt === cutText) return estimatedInput;
  return Math.min(estimatedInput, estimateText(prompt));
}

/** JSON fields that stand for a form's files: a URL, an object with one, or a list of either. */
const imageFields = ["image", "images", "image_url", "image_urls", "input_image", "mask"];

export function sentImages(body: JsonObject, files: readonly FormFile[]): number {
  return imageFields.reduce((sum, name) => {
    const { [name]: sent } = body;
    return sum + (sent == null ? 0 : Array.isArray(sent) ? sent.length : 1);
  }, files.length);
}

/** The number of partial images. Each costs output in addition to the image itself. */
export function partialsOf({ partial_images: partials }: JsonObject): number {
  return typeof partials === "number" ? partials : 0;
}

/**
 * The unit for charging an image of this quality and size. If it has no row, it costs the highest row that it may
 * match: the rows of its quality with any size, and `*`. The provider chooses an `auto` quality, so every row matches.
 */
export function imageUnit(body: JsonObject, priced: PricedNames): string {
  const own = ownUnit(body);
  if (priced.has(own)) return own;
  const quality = wordOf(body["quality"]);
  const fitting = quality === "auto" ? "images." : `images.${quality}/`;
  for (const name of priced) {
    if (name === everyOther) break;
    if (name.startsWith(fitting)) return name;
  }
  return "images";
}

const everyOther = "images.*";

function ownUnit({ quality, size }: JsonObject): string {
  return `images.${wordOf(quality)}/${wordOf(size)}`;
}

/** The value as lenient servers read it. */
function wordOf(value: Json | undefined): string {
  return String(value ?? "auto")
    .trim()
    .toLowerCase();
}

/** Qualities and sizes that providers have, with or without a price. */
const isQuality = /^(?:auto|low|medium|high|max|standard|hd)$/;
const isSize = /^(?:auto|[1-9]\d*x[1-9]\d*)$/;

/** Throws for a drawing by a second model, a quality and size without a price, or a size under another name if prices depend on size. */
export function checkImages(body: JsonObject, priced: PricedNames): void {
  const { svg } = body;
  if (objectOf(svg)?.["model"] != null || (typeof svg === "string" && svg.trim() !== "")) {
    throw invalidRequest("`svg.model` is not supported. Remove it.", "svg.model");
  }
  const hasVariants = [...priced].some((name) => name.startsWith("images.") && name !== everyOther);
  const otherSize = hasVariants ? imageSizeNames.find((name) => body[name] != null) : undefined;
  if (otherSize !== undefined) {
    const message = `\`${otherSize}\` can change the price of an image, and model prices here depend on \`quality\` and \`size\`. Remove it.`;
    throw invalidRequest(message, otherSize);
  }
  if (!priced.has("images") || priced.has(ownUnit(body))) return;
  const [quality, size] = [wordOf(body["quality"]), wordOf(body["size"])];
  const isKnown = isQuality.test(quality) && isSize.test(size);
  // A word that is not known may be a provider's own for the most expensive.
  if (priced.has(everyOther) && (isKnown || !hasVariants)) return;
  throw invalidRequest(
    `No price for quality "${quality}" and size "${size}". Choose another, or ask the operator to set \`price.images."${quality}/${size}"\`.`,
    isQuality.test(quality) ? "size" : "quality",
  );
}
