import { asBuffer } from "../../../base/bytes.ts";
import type { JsonObject } from "../../../base/json.ts";
import { noUsage } from "../../../base/usage/usage.ts";
import { malformedResponse } from "../../errors/failure.ts";
import { objectOf } from "../../json/json-fields.ts";
import { countMembers, readOutline } from "../../provider-response/outline.ts";
import { inclusiveUsage, isTokenCount, partBesideText, withUnreported } from "../../usage/reported-usage.ts";
import { DoneReader } from "../done-reader.ts";
import {
  type MeteredDemand,
  type MeteredFigures,
  type MeteredModel,
  type MeteredReading,
  type MeteredResponse,
  type MeteredRoute,
  openAiFormat,
  type PricedNames,
  type RequestedForm,
  type RouteBody,
} from "../route.ts";
import {
  checkImages,
  imageEditRequest,
  imageRequest,
  imageResponse,
  imageUnit,
  maxImages,
  partialsOf,
  promptTokens,
  sentImages,
} from "./request.ts";

/** Tokens of an image at the highest quality and size, unless the model states another figure. */
const usualImageTokens = 6240;
/** https://platform.openai.com/docs/guides/image-generation#streaming */
const partialImageTokens = 100;
/** Maximum tokens of an image in the request. */
const sentImageTokens = 4800;

function demand(
  { truncated }: RouteBody,
  { priced, imageTokensMax, files, ...estimates }: MeteredModel,
): MeteredDemand {
  const count = maxImages(truncated);
  const perImage = (imageTokensMax ?? usualImageTokens) + partialsOf(truncated) * partialImageTokens;
  const isInTokens = !priced.has("images") && !priced.has("requests");
  const certain = { requests: 1 };
  return {
    input: isInTokens
      ? promptTokens(truncated, estimates) + sentImages(truncated, files) * sentImageTokens
      : 0,
    output: isInTokens ? count * perImage : 0,
    isInTokens,
    canBeCounted: false,
    maxExtras: {
      units: priced.has("images") ? { ...certain, [imageUnit(truncated, priced)]: count } : certain,
      imageInputTokens: 1,
      imageOutputTokens: 1,
    },
    certain,
  };
}

/** The images themselves are not parsed: they take megabytes. Images in another form are assumed to be as many as requested. */
function passImages({ bytes }: MeteredResponse, requested: RequestedForm): MeteredReading {
  const { data, usage } = readOutline(bytes, "data");
  if (!Array.isArray(data)) throw malformedResponse("it has no images");
  const images = data.length || countMembers(bytes, ["b64_json", "url"]);
  const hasOthers = images === 0 && !hasNoData(bytes);
  const imageCount = hasOthers ? maxImages(requested.body) : images;
  const held = { ...requested.held, output: outputHeldFor(imageCount, requested) };
  return { written: null, ...usageOf(objectOf(usage), imageCount, { ...requested, held }) };
}

/** The server can return fewer images than requested: it decides how long a series is. */
function outputHeldFor(images: number, { body, held }: RequestedForm): number {
  return Math.ceil(held.output * Math.min(1, images / maxImages(body)));
}

function hasNoData(bytes: Uint8Array): boolean {
  const text = asBuffer(bytes);
  const at = text.indexOf('"data"');
  return /^"data"\s*:\s*\[\s*\]/.test(text.toString("latin1", at, at + 100));
}

/** The usage and extras of a response. Token usage that the provider does not report is charged as held. */
function usageOf(
  usage: JsonObject | null,
  images: number,
  { body, files, held, priced }: RequestedForm,
): MeteredFigures {
  const hasSent = sentImages(body, files) > 0;
  const names = new Set(priced);
  const reported = usage === null ? null : inclusiveUsage(usage["input_tokens"], usage["output_tokens"]);
  if (names.has("images")) {
    const units = { [imageUnit(body, names)]: images };
    return { usage: reported ?? noUsage, extras: { units, ...imageTokensOf(usage ?? {}, names, hasSent) } };
  }
  const found = withUnreported(reported, held);
  const parts = {
    ...(found.isInputDoubtful === true ? { input_tokens_details: null } : {}),
    ...(found.isOutputDoubtful === true ? { output_tokens_details: null } : {}),
  };
  const { inputTokens: input_tokens, outputTokens: output_tokens } = found;
  const figures = { ...usage, ...parts, input_tokens, output_tokens };
  return { usage: found, extras: imageTokensOf(figures, names, hasSent) };
}

/** All output counts as images, unless the provider reports its parts and the others have a price. So does input if images were sent. */
function imageTokensOf(usage: JsonObject, priced: PricedNames, hasSent: boolean) {
  const { input_tokens: all, input_tokens_details: details } = usage;
  const isSent = hasSent && isTokenCount(all);
  const sent = isSent ? partBesideText(all, "image_tokens", details) : objectOf(details)?.["image_tokens"];
  const parts = priced.has("output") ? objectOf(usage["output_tokens_details"]) : null;
  const outputImageTokens = parts?.["image_tokens"] ?? usage["output_tokens"];
  return {
    ...(isTokenCount(sent) ? { imageInputTokens: sent } : {}),
    ...(isTokenCount(outputImageTokens) ? { imageOutputTokens: outputImageTokens } : {}),
  };
}

const sharedByBothRoutes = {
  switchedBy: "images",
  use: "images",
  tracedAs: "image_generation",
  prices: ["images", "image_output", "output", "requests"],
  sidePrices: ["input", "image_input"],
  ownFields: ["background"],
  check: checkImages,
  demand,
  outlivesClient: true,
  streams: {
    createReader(requested: RequestedForm) {
      const results = maxImages(requested.body);
      const heldFor = (images: number) => ({
        input: Math.ceil((requested.held.input * images) / results),
        output: outputHeldFor(images, requested),
      });
      return new DoneReader({
        done: ["image_generation.completed", "image_edit.completed"],
        results,
        read: (event) => usageOf(objectOf(event["usage"]), 1, { ...requested, held: heldFor(1) }),
        // The provider finishes and bills what it has begun.
        unfinished: (missing) => usageOf(null, missing, { ...requested, held: heldFor(missing) }),
      });
    },
  },
} as const;

/** Images from a text. https://platform.openai.com/docs/api-reference/images */
export const imageGenerations: MeteredRoute = {
  ...sharedByBothRoutes,
  paths: ["/v1/images/generations"],
  operation: {
    operationId: "createImage",
    summary: "Create images",
    request: "ImageRequest",
    response: "ImageResponse",
    events: "`image_generation.partial_image` and `image_generation.completed`.",
    schemas: { ImageRequest: imageRequest, ImageResponse: imageResponse },
  },
  requestSchema: imageRequest,
  formats: { openai: openAiFormat("images/generations", passImages) },
};

/** Images from images and a text: a form, or JSON with addresses. */
export const imageEdits: MeteredRoute = {
  ...sharedByBothRoutes,
  paths: ["/v1/images/edits"],
  operation: {
    operationId: "editImage",
    summary: "Edit images",
    request: "ImageEditRequest",
    formFile: "image",
    response: "ImageResponse",
    events: "`image_edit.partial_image` and `image_edit.completed`.",
    schemas: { ImageEditRequest: imageEditRequest, ImageResponse: imageResponse },
  },
  requestSchema: imageEditRequest,
  takesForms: { numbers: ["n", "partial_images"], texts: ["model", "prompt", "size", "quality"] },
  formats: { openai: openAiFormat("images/edits", passImages) },
};
