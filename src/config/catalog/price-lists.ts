import alibaba from "../../../config/catalog/alibaba.jsonl" with { type: "text" };
import anthropic from "../../../config/catalog/anthropic.jsonl" with { type: "text" };
import azure from "../../../config/catalog/azure.jsonl" with { type: "text" };
import baseten from "../../../config/catalog/baseten.jsonl" with { type: "text" };
import bedrock from "../../../config/catalog/bedrock.jsonl" with { type: "text" };
import cerebras from "../../../config/catalog/cerebras.jsonl" with { type: "text" };
import cloudflare from "../../../config/catalog/cloudflare.jsonl" with { type: "text" };
import cohere from "../../../config/catalog/cohere.jsonl" with { type: "text" };
import databricks from "../../../config/catalog/databricks.jsonl" with { type: "text" };
import deepinfra from "../../../config/catalog/deepinfra.jsonl" with { type: "text" };
import fireworks from "../../../config/catalog/fireworks.jsonl" with { type: "text" };
import gemini from "../../../config/catalog/gemini.jsonl" with { type: "text" };
import groq from "../../../config/catalog/groq.jsonl" with { type: "text" };
import minimax from "../../../config/catalog/minimax.jsonl" with { type: "text" };
import mistral from "../../../config/catalog/mistral.jsonl" with { type: "text" };
import moonshot from "../../../config/catalog/moonshot.jsonl" with { type: "text" };
import nebius from "../../../config/catalog/nebius.jsonl" with { type: "text" };
import novita from "../../../config/catalog/novita.jsonl" with { type: "text" };
import nscale from "../../../config/catalog/nscale.jsonl" with { type: "text" };
import openai from "../../../config/catalog/openai.jsonl" with { type: "text" };
import ovhcloud from "../../../config/catalog/ovhcloud.jsonl" with { type: "text" };
import perplexity from "../../../config/catalog/perplexity.jsonl" with { type: "text" };
import sambanova from "../../../config/catalog/sambanova.jsonl" with { type: "text" };
import scaleway from "../../../config/catalog/scaleway.jsonl" with { type: "text" };
import snowflake from "../../../config/catalog/snowflake.jsonl" with { type: "text" };
import together from "../../../config/catalog/together.jsonl" with { type: "text" };
import vercel from "../../../config/catalog/vercel.jsonl" with { type: "text" };
import vertex from "../../../config/catalog/vertex.jsonl" with { type: "text" };
import voyage from "../../../config/catalog/voyage.jsonl" with { type: "text" };
import xai from "../../../config/catalog/xai.jsonl" with { type: "text" };
import zai from "../../../config/catalog/zai.jsonl" with { type: "text" };
import type { ModelConfig } from "../schema.ts";

/** Facts in a line of `config/catalog` in addition to the settings of a model. */
interface CatalogFacts {
  /** The public lists that have this price, or this vendor. */
  readonly source: string;
  /** Why the entry differs from its source, or what is left out. */
  readonly note?: string;
  /** The only regions with this price. The line without regions has the usual one. */
  readonly regions?: readonly string[];
}

export type CatalogLine = ModelConfig & CatalogFacts;

/** One model per line. A vendor's lines are parsed only if one of its models may be served. */
const texts: Readonly<Record<string, string>> = {
  alibaba,
  anthropic,
  azure,
  baseten,
  bedrock,
  cerebras,
  cloudflare,
  cohere,
  databricks,
  deepinfra,
  fireworks,
  gemini,
  groq,
  minimax,
  mistral,
  moonshot,
  nebius,
  novita,
  nscale,
  openai,
  ovhcloud,
  perplexity,
  sambanova,
  scaleway,
  snowflake,
  together,
  vercel,
  vertex,
  voyage,
  xai,
  zai,
};

/** The vendors whose models are in `config/catalog`. */
export const listedVendors: readonly string[] = Object.keys(texts);

const parsed = new Map<string, readonly CatalogLine[]>();

/** The models of a vendor from public price lists; none if the vendor has no list. */
export function listedModels(vendor: string): readonly CatalogLine[] {
  return listedLines(vendor).filter(({ regions }) => regions === undefined);
}

/** The models that a cloud sells at another price in one region. */
export function regionalModels(cloud: string, region: string): readonly CatalogLine[] {
  return listedLines(cloud).filter(({ regions }) => regions?.includes(region));
}

/** A model may have several lines: the usual one, and others for some regions. */
export function listedLines(vendor: string): readonly CatalogLine[] {
  return parsed.getOrInsertComputed(vendor, () => parse(Object.hasOwn(texts, vendor) ? texts[vendor] : ""));
}

function parse(text = ""): readonly CatalogLine[] {
  // The cast holds because a test checks every line against the schema of models.
  return text === "" ? [] : (Bun.JSONL.parse(text) as CatalogLine[]);
}
